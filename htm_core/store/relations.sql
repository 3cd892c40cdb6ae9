-- name: turn
-- One at a time in a tenant: two that relate the same nodes would each miss what the other has just read.
select pg_advisory_xact_lock(hashtextextended('htm relate ' || this_tenant(), 0))

-- name: relate
-- Edges of nodes to those that share their tags, ancestors included: shared / (tags of either). A tag that more than `common`
-- nodes have brings nobody together by itself. Of those above `lowest` each node has its `most` closest; what others chose it
-- for stays, with its new weight.
with mine as materialized (
  select n.id, n.owner, t.tag from nodes n join tags t on t.tenant = n.tenant and t.node_id = n.id
  where n.tenant = this_tenant() and n.id = any(%(nodes)s::uuid[])),
telling as (
  select m.id, m.owner, m.tag from mine m
  where (select count(*) from (
    select 1 from tags t where t.tenant = this_tenant() and t.tag = m.tag limit %(common)s + 1) x) <= %(common)s),
known as materialized (
  select r.source as id, r.target as other from relations r
  where r.tenant = this_tenant() and r.source = any(%(nodes)s::uuid[]) and r.origin = 'tags'
  union
  select r.target, r.source from relations r
  where r.tenant = this_tenant() and r.target = any(%(nodes)s::uuid[]) and r.origin = 'tags'),
candidates as materialized (
  select t.id, o.id as other from telling t
  join tags x on x.tenant = this_tenant() and x.tag = t.tag and x.node_id <> t.id
  join nodes o on o.tenant = this_tenant() and o.id = x.node_id and o.owner = t.owner
  union
  select id, other from known),
theirs as materialized (
  select t.node_id as other, t.tag from (select distinct other from candidates) c
  join tags t on t.tenant = this_tenant() and t.node_id = c.other),
shared as (
  select m.id, t.other, count(*) as shared from mine m join theirs t on t.tag = m.tag group by m.id, t.other),
weighed as (
  select c.id, c.other, s.shared / (a.tags + b.tags - s.shared)::float8 as weight
  from candidates c
  join shared s on s.id = c.id and s.other = c.other
  join (select id, count(*) as tags from mine group by id) a on a.id = c.id
  join (select other, count(*) as tags from theirs group by other) b on b.other = c.other),
placed as (
  select w.*, row_number() over (partition by w.id order by w.weight desc, w.other) as place from weighed w
  where w.weight >= %(lowest)s),
wanted as (
  select distinct on (1, 2) least(p.id, p.other) as source, greatest(p.id, p.other) as target, p.weight from placed p
  where p.place <= %(most)s or exists (select 1 from known k where k.id = p.id and k.other = p.other)),
gone as (
  delete from relations r using known k
  where r.tenant = this_tenant() and r.origin = 'tags' and r.source = least(k.id, k.other) and r.target = greatest(k.id, k.other)
    and not exists (select 1 from wanted w where w.source = r.source and w.target = r.target))
insert into relations (tenant, source, target, kind, origin, owner, weight)
select this_tenant(), w.source, w.target, 'related', 'tags', n.owner, w.weight
from wanted w join nodes n on n.tenant = this_tenant() and n.id = w.source
order by w.source, w.target
on conflict (tenant, source, target, kind, origin, owner) do update set weight = excluded.weight
where relations.weight <> excluded.weight

-- name: link
insert into relations (tenant, source, target, kind, origin, owner, weight)
values (this_tenant(), %(source)s, %(target)s, %(kind)s, 'link', %(owner)s, %(weight)s)
on conflict (tenant, source, target, kind, origin, owner) do update set weight = excluded.weight

-- name: unlink
delete from relations
where tenant = this_tenant() and source = %(source)s and target = %(target)s and kind = %(kind)s and origin = 'link'
  and owner = %(owner)s

-- name: related
-- The strongest path to each node within the hops, along edges in either direction. Weights are at most 1, so a walk that
-- comes back to where it was is never stronger: of each node, at each distance, only the strongest walk need go on.
with recursive walk as (
  select %(node)s::uuid as node, 1::float8 as weight, 0 as hops, array[%(node)s::uuid] as seen, '[]'::jsonb as path
  union all
  select x.node, x.weight, x.hops, x.seen, x.path from (
    select s.*, row_number() over (order by s.weight desc, s.node) as place from (
      select distinct on (e.node) e.node, w.weight * e.weight as weight, w.hops + 1 as hops, w.seen || e.node as seen,
             w.path || jsonb_build_object('source', e.source, 'target', e.target, 'kind', e.kind, 'origin', e.origin,
                                          'weight', e.weight) as path
      from walk w
      join lateral (
        select r.target as node, r.source, r.target, r.kind, r.origin, r.weight from relations r
        where r.tenant = this_tenant() and r.source = w.node and r.owner = any(%(owners)s::text[]) and r.kind = any(%(kinds)s::text[])
        union all
        select r.source, r.source, r.target, r.kind, r.origin, r.weight from relations r
        where r.tenant = this_tenant() and r.target = w.node and r.owner = any(%(owners)s::text[]) and r.kind = any(%(kinds)s::text[])
      ) e on true
      join nodes n on n.tenant = this_tenant() and n.id = e.node and n.live and n.owner = any(%(owners)s::text[])
      where w.hops < %(hops)s and not e.node = any(w.seen)
      order by e.node, w.weight * e.weight desc, e.kind, e.origin, e.source, e.target) s) x
  where x.place <= %(width)s)
select f.node, f.weight, f.path from (
  select distinct on (w.node) w.node, w.weight, w.hops, w.path from walk w where w.hops > 0
  order by w.node, w.weight desc, w.hops) f
where f.weight >= %(lowest)s order by f.weight desc, f.hops, f.node limit %(limit)s

-- name: source
-- What facts are taken from: a live node's text, and who said it first, when and where.
select n.content, n.owner, m.robot, m.session, m.name, m.at, m.source_id
from nodes n, lateral (
  select * from mentions m where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null order by m.at, m.id limit 1) m
where n.tenant = this_tenant() and n.id = %(node)s and n.live

-- name: hold_source
-- Whoever hides or erases the source waits until its facts are there to be hidden with it.
select live from nodes where tenant = this_tenant() and id = %(node)s for share

-- name: derive
with told as (
  update mentions m set source_id = %(source)s where m.tenant = this_tenant() and m.id = any(%(mentions)s::uuid[]) returning m.node_id)
insert into relations (tenant, source, target, kind, origin, owner, weight)
select distinct this_tenant(), t.node_id, %(source)s::uuid, 'derived', 'proposition', %(owner)s, 1 from told t
where t.node_id <> %(source)s::uuid
on conflict do nothing

-- name: drop_of_owner
delete from relations where tenant = this_tenant() and owner = %(owner)s
