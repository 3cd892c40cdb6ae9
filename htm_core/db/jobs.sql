-- name: enqueue_embedding
insert into jobs (tenant, kind, model, node_id, owner, bulk)
-- For the model that the tenant has now: a change of models may have ended the caller's meanwhile.
select this_tenant(), 'embed',
       coalesce((select m.name from models m where m.tenant = this_tenant() and m.active), %(model)s), n.id, n.owner, given.bulk
from unnest(%(nodes)s::uuid[], %(bulk)s::boolean[]) as given(id, bulk)
cross join lateral (select o.id, o.owner from nodes o where o.tenant = this_tenant() and o.id = given.id offset 0) n
on conflict do nothing

-- name: enqueue
insert into jobs (tenant, kind, model, node_id, owner, bulk)
select this_tenant(), %(kind)s, %(model)s, n.id, n.owner, %(bulk)s
from nodes n where n.tenant = this_tenant() and n.id = any(array(select each_id(%(nodes)s::uuid[]))) order by n.id
on conflict (tenant, node_id, kind, model)
-- A worker that has claimed the job may have read the node before this change: the job gets a new id and is done again.
do update set claimed_until = null, run_at = now(), parked_at = null, attempts = 0, error = null, id = gen_random_uuid()
where jobs.claimed_until is not null or jobs.parked_at is not null

-- name: enqueue_supersede
-- A job for each node that a user, or nobody in particular, has said. The judges of the others need not wait for one.
with given as materialized (
  select n.id, n.owner, exists (
    select from mentions m where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null and coalesce(m.role, 'user') = 'user')
    as is_compared
  from nodes n where n.tenant = this_tenant() and n.id = any(array(select each_id(%(nodes)s::uuid[]))) order by n.id),
judged as (
  update jobs set run_at = now(), error = null
  where tenant = this_tenant() and node_id = any(array(select g.id from given g where not g.is_compared)) and kind = 'judge'
    and claimed_until is null and parked_at is null)
insert into jobs (tenant, kind, node_id, owner)
select this_tenant(), 'supersede', g.id, g.owner from given g where g.is_compared order by g.id
on conflict (tenant, node_id, kind, model)
do update set claimed_until = null, run_at = now(), parked_at = null, attempts = 0, error = null, id = gen_random_uuid()
where jobs.claimed_until is not null or jobs.parked_at is not null

-- name: enqueue_count
insert into jobs (tenant, kind) values (this_tenant(), 'count')
on conflict (tenant, node_id, kind, model)
do update set parked_at = null, run_at = now(), attempts = 0 where jobs.parked_at is not null

-- name: enqueue_due_counts
select queue_lexeme_counts() as queued

-- name: move_to_active_model
-- Jobs for a model that the tenant no longer has become jobs for the model that it has.
with orphaned as (
  delete from jobs j where j.tenant = this_tenant() and j.id = any(array(select each_id(%(ids)s::uuid[]))) and j.kind = 'embed'
    and not exists (select 1 from models m where m.tenant = j.tenant and m.name = j.model)
  returning j.node_id, j.owner, j.bulk),
     moved as (
  insert into jobs (tenant, kind, model, node_id, owner, bulk)
  select m.tenant, 'embed', m.name, d.node_id, d.owner, d.bulk from orphaned d join models m on m.tenant = this_tenant() and m.active
  on conflict do nothing)
select count(*) as moved from orphaned

-- name: claim
select * from claim_jobs(%(kind)s, %(model)s, %(limit)s, %(lease)s, %(classes)s::boolean[], %(after_tenants)s::text[],
                         %(after_owners)s::jsonb, %(only)s::text[], %(besides)s::text[])

-- name: claim_lanes
select * from claim_lanes(%(lanes)s, %(lease)s, %(failures)s)

-- name: claim_unless_open
select * from claim_jobs_of(
  %(kind)s, %(model)s, %(tenants)s::text[], %(nodes)s::uuid[],
  case when exists (select from model_status s where s.model = %(status)s and s.failures >= %(failures)s) then 0 else %(limit)s end, %(lease)s)

-- name: claim_nodes
select * from claim_jobs_of(%(kind)s, %(model)s, %(tenants)s::text[], %(nodes)s::uuid[], %(limit)s, %(lease)s)

-- name: renew
update jobs set claimed_until = now() + make_interval(secs => %(lease)s)
where tenant = this_tenant() and id = any(array(select each_id(%(ids)s::uuid[]))) and parked_at is null

-- name: release
update jobs set claimed_until = null where tenant = this_tenant() and id = any(array(select each_id(%(ids)s::uuid[])))

-- name: next_due
select seconds_until_due(%(kinds)s::text[], %(models)s::text[], %(tenants)s::text[],
                         %(besides_kinds)s::text[], %(besides_models)s::text[], %(besides_tenants)s::text[]) as seconds

-- name: with_due
-- Of lanes of all tenants (null), and of tenants with clients of their own, those that have due jobs, as (kind, model, tenant).
select given.kind, given.model, given.tenant
from unnest(%(kinds)s::text[], %(models)s::text[], %(tenants)s::text[]) as given(kind, model, tenant)
where case when given.tenant is null
  then due_tenants(given.kind, given.model, false, '', 1, null, '{}') <> '{}'
    or due_tenants(given.kind, given.model, true, '', 1, null, '{}') <> '{}'
  else due_owners(given.kind, given.model, false, given.tenant, null, 1) <> '{}'
    or due_owners(given.kind, given.model, true, given.tenant, null, 1) <> '{}'
end

-- name: make_due
-- Jobs that wait because their model was unavailable are due now. Jobs that failed for a reason of their own go on waiting.
update jobs set run_at = now()
where model = %(model)s and parked_at is null and attempts = 0 and run_at > now()
  and (%(only)s::text[] is null or tenant = any(%(only)s::text[])) and tenant <> all(%(besides)s::text[])

-- name: missing_texts
-- The first passage of each node, then the second of each, and so on: a long text does not keep the short ones waiting.
-- `missing` is how many passages of the node have no vector. Each passage is looked up by its node and each vector by its passage alone, and
-- its space compared afterwards: "offset 0" keeps PostgreSQL from another way, which without statistics would read the whole tenant.
select x.id, x.node_id, x.turn, x.missing,
       coalesce(x.body, (select substr(n.content, x.starts + 1, x.stops - x.starts) from nodes n
                         where n.tenant = this_tenant() and n.id = x.node_id)) as body
from (
  select p.id, given.id as node_id, p.body, p.starts, p.stops, given.place, count(*) over (partition by given.id) as missing,
         row_number() over (partition by given.id order by p.ordinal) as turn
  from each_id(%(nodes)s::uuid[]) with ordinality given(id, place)
  cross join lateral (
    select q.id, q.body, q.starts, q.stops, q.ordinal from passages q where q.tenant = this_tenant() and q.node_id = given.id
    offset 0) p
  left join lateral (
    select true as there from (
      select v.space from vectors v where v.tenant = this_tenant() and v.passage_id = p.id offset 0) w
    where w.space = (select m.space from models m where m.tenant = this_tenant() and m.name = %(model)s)
    limit 1) made on true
  where made.there is null
  order by turn, given.place limit %(limit)s) x
order by x.turn, x.place

-- name: finish_embedding
delete from jobs where tenant = this_tenant() and kind = 'embed' and model = %(model)s and node_id = any(array(select each_id(%(nodes)s::uuid[])))

-- name: finish
delete from jobs where tenant = this_tenant() and id = any(array(select each_id(%(ids)s::uuid[]))) returning id

-- name: postpone
update jobs set claimed_until = null, attempts = attempts + %(tried)s, error = %(error)s,
       run_at = now() + make_interval(secs => %(seconds)s * (0.5 + random()))
where tenant = this_tenant() and id = any(array(select each_id(%(ids)s::uuid[])))

-- name: park
update jobs set claimed_until = null, parked_at = now(), attempts = attempts + 1, error = %(error)s
where tenant = this_tenant() and id = any(array(select each_id(%(ids)s::uuid[])))

-- name: retry_parked
update jobs j set parked_at = null, run_at = now(), attempts = 0, error = null
where j.tenant = this_tenant() and j.parked_at is not null
  and (%(ids)s::uuid[] is null or j.id = any(%(ids)s::uuid[])) and (%(kind)s::text is null or j.kind = %(kind)s)
  and (j.node_id is null or exists (
    select 1 from nodes n where n.tenant = j.tenant and n.id = j.node_id and n.owner = any(%(owners)s::text[])))

-- name: list
select j.id, j.kind, j.model, j.node_id, j.attempts, j.run_at, j.error, j.created_at,
       case when j.parked_at is not null then 'parked' when j.claimed_until > now() then 'claimed' else 'waiting' end as state
from jobs j left join nodes n on n.tenant = j.tenant and n.id = j.node_id
where j.tenant = this_tenant() and (j.node_id is null or n.owner = any(%(owners)s::text[]))
  and (%(kind)s::text is null or j.kind = %(kind)s) and (%(node)s::uuid is null or j.node_id = %(node)s)
  and (%(parked)s::boolean is null or (j.parked_at is not null) = %(parked)s)
order by j.parked_at desc nulls last, j.created_at, j.id limit %(limit)s

-- name: count_pending
select count(*) filter (where j.parked_at is null) as pending, count(*) filter (where j.parked_at is not null) as parked,
       extract(epoch from now() - min(j.created_at) filter (where j.parked_at is null))::float8 as oldest
from jobs j join nodes n on n.tenant = j.tenant and n.id = j.node_id
where j.tenant = this_tenant() and n.owner = any(%(owners)s::text[])

-- name: backlog
-- Of all tenants, for a worker: what there is in each lane, of what somebody may wait for and of bulk work.
select kind, model, bulk, pending, parked, oldest, more from job_backlog(%(most)s)

-- name: make_all_due
-- Only those that wait for a later time, so that the others keep their order: the newest first.
update jobs set run_at = least(run_at, now()), error = null
where tenant = this_tenant() and parked_at is null and claimed_until is null and (run_at > now() or error is not null)

-- name: waiting_lanes
select j.kind, j.model, count(*) as jobs from jobs j
where j.tenant = this_tenant() and j.parked_at is null group by j.kind, j.model order by j.kind, j.model

-- name: are_waiting
select exists (
         select from jobs j
         where j.tenant = this_tenant() and j.parked_at is null and j.error is null
           and (j.claimed_until > now()
                or (j.kind, j.model) in (select * from unnest(%(kinds)s::text[], %(models)s::text[])))) as untried,
       exists (select from jobs j where j.tenant = this_tenant() and j.parked_at is null) as there
