-- Jobs know whose they are and whether somebody waits for them, so that workers can take turns.
-- oldest client: 9

alter table jobs add column owner text not null default '';       -- the owner of its node
alter table jobs add column bulk boolean not null default false;  -- of an import or a long text: after what was just said
update jobs j set owner = n.owner from nodes n where n.tenant = j.tenant and n.id = j.node_id and n.owner <> '';

-- From one tenant to the next, from one owner to the next, and then the newest: each step is one look-up.
drop index jobs_due;
create index jobs_by_turn on jobs (kind, model, bulk, tenant, owner, run_at desc) where parked_at is null;
