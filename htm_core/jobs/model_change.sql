-- name: tenant_exists
select exists (select 1 from tenants where tenant = this_tenant()) as known

-- name: begin
insert into models (tenant, name, active) values (this_tenant(), %(model)s, false) on conflict do nothing

-- name: lock_model
select m.name from models m where m.tenant = this_tenant() and m.name = %(model)s for share

-- name: missing_texts
select p.id, coalesce(p.body, substr(n.content, p.starts + 1, p.stops - p.starts)) as body
from passages p join nodes n on n.tenant = p.tenant and n.id = p.node_id
where p.tenant = this_tenant() and (%(after)s::uuid is null or p.id > %(after)s::uuid)
  and not exists (select 1 from vectors v join models m on m.tenant = v.tenant and m.space = v.space
                  where v.tenant = p.tenant and v.passage_id = p.id and m.name = %(model)s)
order by p.id limit %(limit)s

-- name: fill_progress
select (select count(*) from passages where tenant = this_tenant()) as passages,
       (select count(*) from vectors v join models m on m.tenant = v.tenant and m.space = v.space
        where v.tenant = this_tenant() and m.name = %(model)s) as vectors

-- name: set_lock_timeout
-- Every writer of a memory writes nodes. The lock keeps new writers out and waits a short time for those that have begun.
select set_config('lock_timeout', %(patience)s, true)

-- name: lock_nodes
lock table nodes in exclusive mode

-- name: enqueue_embedding
insert into jobs (tenant, kind, model, node_id, owner, bulk)
select distinct this_tenant(), 'embed', %(model)s, p.node_id, p.owner, true from passages p where p.tenant = this_tenant() and p.id = any(%(passages)s::uuid[])
on conflict do nothing

-- name: drop_other_jobs
delete from jobs where tenant = this_tenant() and kind = 'embed' and model <> %(model)s

-- name: drop_finished_jobs
-- Deletes the embed jobs of nodes whose passages all have a vector by now.
delete from jobs j where j.tenant = this_tenant() and j.kind = 'embed' and j.model = %(model)s and not exists (
  select 1 from passages p where p.tenant = j.tenant and p.node_id = j.node_id and not exists (
    select 1 from vectors v join models m on m.tenant = v.tenant and m.space = v.space
    where v.tenant = p.tenant and v.passage_id = p.id and m.name = %(model)s))

-- name: deactivate_others
update models set active = false where tenant = this_tenant() and active and name <> %(model)s

-- name: activate
update models set active = true where tenant = this_tenant() and name = %(model)s

-- name: drop_vectors
delete from vectors v using (
  select o.space, o.passage_id from vectors o
  where o.tenant = this_tenant() and o.space is distinct from (
    select m.space from models m where m.tenant = this_tenant() and m.name = %(model)s)
  order by o.space, o.passage_id limit %(limit)s) other
where v.tenant = this_tenant() and v.space = other.space and v.passage_id = other.passage_id

-- name: drop_models
delete from models where tenant = this_tenant() and not active and name <> %(model)s

-- name: unused_indexes
-- Indexes of memories that no tenant's vectors need any more. Read as the owner, who sees all tenants.
select s.id, s.quantized from vector_spaces s
where s.indexed and not exists (select 1 from models m where m.space = s.id) and not exists (select 1 from vectors v where v.space = s.id)

-- name: unmark_index
update vector_spaces set indexed = false where id = %(space)s
