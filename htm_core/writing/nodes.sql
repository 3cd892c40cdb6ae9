-- name: set_importance
update node_state s set importance = given.importance
from unnest(%(ids)s::uuid[], %(importances)s::float8[]) as given(id, importance)
where s.tenant = this_tenant() and s.node_id = given.id

-- name: refresh
select refresh_live(%(ids)s::uuid[]), refresh_metadata(%(described)s::uuid[])

-- name: take_space
select ensure_vector_space(%(model)s, %(dimension)s) as space

-- name: lock_nodes_of_passages
-- Before their passages: whoever hides or erases a node has locked it, and then takes its passages in any order.
select 1 from nodes n where n.tenant = this_tenant() and n.id = any(array(
  select p.node_id from passages p where p.tenant = this_tenant() and p.id = any(array(select each_id(%(passages)s::uuid[])))))
order by n.id for share

-- name: insert_vectors
-- A full join is by a hash or by sorting in any case. PostgreSQL has other joins that go through one side again for each row of the
-- other, and takes those where it believes that the tenant has one row. Each passage that is found has its vector, so "case" does no
-- more than leave out the vectors of passages that are gone; with "is not null" this would be no full join any more.
-- `calibrated` is a model whose cosines are measured: its function sees what was stored before it in the same statement.
with stored as (
insert into vectors (tenant, space, passage_id, node_id, owner, embedding, live)
select this_tenant(), (select m.space from models m where m.tenant = this_tenant() and m.name = %(model)s), p.id, p.node_id, p.owner,
       given.embedding, p.live
from unnest_vectors(%(passages)s::uuid[], %(embeddings)b) given
full join (
  select q.id, q.node_id, q.owner, q.live from passages q
  where q.tenant = this_tenant() and q.id = any(array(select each_id(%(passages)s::uuid[])))
  order by q.id for share) p                     -- a writer that hides the node waits, and then hides the vector too
  on p.id = given.id
where case when p.id is null then false else true end
order by p.id                                    -- two writers of the same vectors do not wait for each other in a circle
on conflict (tenant, space, passage_id) do update set embedding = excluded.embedding
returning 1)
select case when %(calibrated)s::text is not null then calibrate_cosines(%(calibrated)s) end from (select count(*) from stored) s

-- name: cosine_scale
select cosine_scale(m.space) as scale from models m where m.tenant = this_tenant() and m.name = %(model)s

-- name: read
select n.id, n.content, n.tokens, n.created_at, n.owner, n.live, s.importance, s.metadata, s.access_count, s.accessed_at,
       coalesce((select array_agg(t.tag order by t.tag) from tags t
                 where t.tenant = n.tenant and t.node_id = n.id and t.explicit), '{}') as tags,
       coalesce((select array_agg(k.key order by k.key) from keys k
                 where k.tenant = n.tenant and k.node_id = n.id and k.current), '{}') as keys,
       (select max(k.version) from keys k where k.tenant = n.tenant and k.node_id = n.id and k.current) as version,
       -- When the last of its mentions expires; null where one of them never does.
       (select nullif(max(coalesce(m.expires_at, 'infinity')), 'infinity') from mentions m
        where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null) as expires_at,
       said.times_said, said.last_said
from nodes n cross join lateral (                 -- by its key, whatever the statistics say
  select t.importance, t.metadata, t.access_count, t.accessed_at from node_state t
  where t.tenant = this_tenant() and t.node_id = n.id offset 0) s
cross join lateral (                              -- with what says the same
  select count(distinct coalesce(m.copy_of, m.id))::integer as times_said, max(m.at) as last_said from mentions m
  where m.tenant = this_tenant() and m.forgotten_at is null and (m.expires_at is null or m.expires_at > memory_time())
    and m.node_id = any(array(
    select n.id union all
    select g.node_id from merges g where g.tenant = this_tenant() and g.into_id = n.id and g.undone_at is null))) said
where n.tenant = this_tenant() and n.id = any(%(ids)s::uuid[]) and n.owner = any(%(owners)s::text[])
  and (%(hidden)s or n.id in (
    select m.node_id from mentions m
    where m.tenant = this_tenant() and m.node_id = any(array(select each_id(%(ids)s::uuid[])))
      and (m.expires_at is null or m.expires_at > memory_time())
      and (m.forgotten_at is null or (%(as_of)s::timestamptz is not null and m.forgotten_by = 'htm:expiry'))
      and (%(as_of)s::timestamptz is null or m.at <= %(as_of)s)))

-- name: exists
select exists (
  select 1 from nodes where tenant = this_tenant() and id = %(id)s and owner = any(%(owners)s::text[])) as there

-- name: list_ids
select l.id from unnest(%(owners)s::text[]) as o(owner), lateral (   -- each owner's newest by the index, then merged
  select n.id, n.created_at from nodes n
  where n.tenant = this_tenant() and n.live and n.owner = o.owner
    and exists (
      select from mentions e where e.tenant = n.tenant and e.node_id = n.id and e.forgotten_at is null
        and (e.expires_at is null or e.expires_at > memory_time()) offset 0)
    and (%(tags)s::text[] is null or (
      select count(*) from tags t where t.tenant = n.tenant and t.node_id = n.id and t.tag = any(%(tags)s::text[])
    ) = cardinality(%(tags)s::text[]))
    and (coalesce(%(metadata)s::jsonb, %(equal)s::jsonb) is null or exists (
      select 1 from mentions m where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null
        and (%(equal)s::jsonb is null or m.metadata @> %(equal)s::jsonb)
        and (%(metadata)s::jsonb is null or matches(m.metadata, %(metadata)s::jsonb))))
    and (%(after)s::uuid is null or (n.created_at, n.id) < (
      select a.created_at, a.id from nodes a where a.tenant = n.tenant and a.id = %(after)s::uuid))
  order by n.created_at desc, n.id desc limit %(limit)s) l
order by l.created_at desc, l.id desc
limit %(limit)s

-- name: add_accesses
update node_state s set access_count = s.access_count + d.times, accessed_at = greatest(s.accessed_at, d.at)
from (select * from unnest(%(ids)s::uuid[], %(times)s::bigint[], %(ats)s::timestamptz[]) as u(id, times, at) order by u.id) d
where s.tenant = this_tenant() and s.node_id = d.id

-- name: live
select id from nodes where tenant = this_tenant() and live and id = any(%(ids)s::uuid[])

-- name: owners
select id, owner from nodes where tenant = this_tenant() and id = any(%(ids)s::uuid[])

-- name: containing
select id from nodes
where tenant = this_tenant() and live and owner = any(%(owners)s::text[])
  and strpos(lower(regexp_replace(content, '\s+', ' ', 'g')), lower(%(text)s)) > 0

-- name: map_stamp
-- What a map of the newest nodes shows, as one digest: another one where a node came or went, or got its vector.
with newest as materialized (
  select l.id, l.created_at from unnest(%(owners)s::text[]) as o(owner), lateral (
    select n.id, n.created_at from nodes n
    where n.tenant = this_tenant() and n.live and n.owner = o.owner
      and exists (
        select from mentions e where e.tenant = n.tenant and e.node_id = n.id and e.forgotten_at is null
          and (e.expires_at is null or e.expires_at > memory_time()) offset 0)
      and (%(tags)s::text[] is null or (
        select count(*) from tags t where t.tenant = n.tenant and t.node_id = n.id and t.tag = any(%(tags)s::text[])
      ) = cardinality(%(tags)s::text[]))
    order by n.created_at desc, n.id desc limit %(limit)s) l
  order by l.created_at desc, l.id desc limit %(limit)s),
space as materialized (select m.space from models m where m.tenant = this_tenant() and m.active),
placed as (
  select w.id, w.created_at from newest w cross join lateral (
    select v.node_id from vectors v
    where v.tenant = this_tenant() and v.node_id = w.id and v.live and v.space = (select s.space from space s) limit 1) v)
select (select count(*) from newest) as nodes, coalesce(array_agg(p.id order by p.created_at desc, p.id desc), '{}') as placed,
       md5(concat((select s.space from space s), (select count(*) from newest),
                  string_agg(uuid_send(p.id), '' order by p.created_at desc, p.id desc)::text)) as stamp
from placed p

-- name: map_points
select n.id, n.created_at, left(n.content, %(characters)s) as content, v.embedding
from nodes n cross join lateral (
  select b.embedding from vectors b
  where b.tenant = this_tenant() and b.node_id = n.id and b.live
    and b.space = (select m.space from models m where m.tenant = this_tenant() and m.active)
  order by b.passage_id limit 1) v
where n.tenant = this_tenant() and n.live and n.id = any(%(ids)s::uuid[])
order by n.created_at, n.id
