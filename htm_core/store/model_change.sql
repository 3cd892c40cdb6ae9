-- name: known_tenant
select exists (select 1 from tenants where tenant = this_tenant()) as known

-- name: active
select name from models where tenant = this_tenant() and active

-- name: begin
insert into models (tenant, name, active) values (this_tenant(), %(model)s, false) on conflict do nothing

-- name: underway
select m.name from models m where m.tenant = this_tenant() and m.name = %(model)s for share

-- name: missing
select p.id, coalesce(p.body, substr(n.content, p.starts + 1, p.stops - p.starts)) as body
from passages p join nodes n on n.tenant = p.tenant and n.id = p.node_id
where p.tenant = this_tenant() and (%(after)s::uuid is null or p.id > %(after)s::uuid)
  and not exists (select 1 from vectors v join models m on m.tenant = v.tenant and m.space = v.space
                  where v.tenant = p.tenant and v.passage_id = p.id and m.name = %(model)s)
order by p.id limit %(limit)s

-- name: count
select (select count(*) from passages where tenant = this_tenant()) as passages,
       (select count(*) from vectors v join models m on m.tenant = v.tenant and m.space = v.space
        where v.tenant = this_tenant() and m.name = %(model)s) as vectors

-- name: quiet
-- Whoever says something new writes nodes: so nobody new begins, and those who are at it are waited for, a moment.
select set_config('lock_timeout', %(patience)s, true)

-- name: lock
lock table nodes in exclusive mode

-- name: owe
insert into jobs (tenant, kind, model, node_id)
select distinct this_tenant(), 'embed', %(model)s, p.node_id from passages p where p.tenant = this_tenant() and p.id = any(%(passages)s::uuid[])
on conflict do nothing

-- name: drop_jobs
delete from jobs where tenant = this_tenant() and kind = 'embed' and model <> %(model)s

-- name: strike
-- Work that is done: the embed jobs of nodes all of whose passages have their vector.
delete from jobs j where j.tenant = this_tenant() and j.kind = 'embed' and j.model = %(model)s and not exists (
  select 1 from passages p where p.tenant = j.tenant and p.node_id = j.node_id and not exists (
    select 1 from vectors v join models m on m.tenant = v.tenant and m.space = v.space
    where v.tenant = p.tenant and v.passage_id = p.id and m.name = %(model)s))

-- name: retire
update models set active = false where tenant = this_tenant() and active and name <> %(model)s

-- name: activate
update models set active = true where tenant = this_tenant() and name = %(model)s

-- name: drop_vectors
delete from vectors v using (
  select o.space, o.passage_id from vectors o
  where o.tenant = this_tenant() and o.space is distinct from (
    select m.space from models m where m.tenant = this_tenant() and m.name = %(model)s)
  order by o.space, o.passage_id limit %(limit)s) d
where v.tenant = this_tenant() and v.space = d.space and v.passage_id = d.passage_id

-- name: drop_models
delete from models where tenant = this_tenant() and not active and name <> %(model)s

-- name: unused
-- Memory indexes that nobody's vectors need any more; read as the owner, who sees every tenant's.
select s.id from vector_spaces s
where s.indexed and not exists (select 1 from models m where m.space = s.id) and not exists (select 1 from vectors v where v.space = s.id)

-- name: unmark
update vector_spaces set indexed = false where id = %(space)s
