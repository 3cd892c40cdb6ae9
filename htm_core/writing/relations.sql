-- name: renew_tag_edges
-- Renews the edges of nodes to those that share their tags, implied ancestors included. The weight of an edge is the Jaccard
-- index of the two sets of tags: shared / (tags of either). A tag that more than `common` nodes have makes no candidates.
-- Each node chooses its `max_edges` closest above `min_weight`; an edge that the other node chose stays, with its new weight.
-- Nodes with the same tags have the same candidates, so these are weighed once for each set of tags. Nothing here joins one list
-- with another: without statistics PostgreSQL takes such lists for short, and compares each row of the one with each of the other.
with own as materialized (                       -- the given nodes with their tags; none of those that have lost theirs
  select given.id, n.owner, array(
    select g.tag from tags g where g.tenant = this_tenant() and g.node_id = given.id order by g.tag) as tags
  from each_id(%(nodes)s::uuid[]) given(id)
  cross join lateral (select m.owner from nodes m where m.tenant = this_tenant() and m.id = given.id offset 0) n),
rare as materialized (                           -- those of the tags that few enough nodes have, each counted once
  select array(
    select d.tag from (select distinct unnest(o.tags) as tag from own o offset 0) d
    where (select count(*) from (
      select 1 from tags t where t.tenant = this_tenant() and t.tag = d.tag limit %(common)s + 1) x) <= %(common)s) as tags),
tag_sets as materialized (
  select o.owner, o.tags, array_agg(o.id) as ids from own o group by o.owner, o.tags),
closest as (                                     -- of each set of tags: one more than a node chooses, since it finds itself too
  select s.owner, s.ids, c.other, c.weight from tag_sets s
  cross join lateral (
    select f.node_id as other, w.shared / (cardinality(s.tags) + w.tags - w.shared)::float8 as weight
    from (select distinct x.node_id from unnest(s.tags) own_tag(tag)
          cross join lateral (
            select t.node_id from tags t where t.tenant = this_tenant() and t.tag = own_tag.tag offset 0) x
          where own_tag.tag = any((select r.tags from rare r)::text[]) offset 0) f
    cross join lateral (
      select from nodes n where n.tenant = this_tenant() and n.id = f.node_id and n.owner = s.owner offset 0) o
    cross join lateral (
      select count(*) as tags, count(*) filter (where g.tag = any(s.tags)) as shared
      from tags g where g.tenant = this_tenant() and g.node_id = f.node_id) w
    order by weight desc, other limit %(max_edges)s + 1) c),
old_edges as (                                   -- the other end of the edges that there are now, with their weight of today
  select o.id, o.owner, e.other, coalesce(w.shared / nullif(cardinality(o.tags) + w.tags - w.shared, 0)::float8, 0) as weight
  from own o
  cross join lateral (
    select r.target as other from relations r where r.tenant = this_tenant() and r.source = o.id and r.origin = 'tags'
    union
    select r.source from relations r where r.tenant = this_tenant() and r.target = o.id and r.origin = 'tags') e
  cross join lateral (
    select count(*) as tags, count(*) filter (where g.tag = any(o.tags)) as shared
    from tags g where g.tenant = this_tenant() and g.node_id = e.other) w),
pairs as (
  select p.id, p.owner, p.other, max(p.weight) as weight, bool_or(p.old) as old from (
    select i.id, c.owner, c.other, c.weight, false as old from closest c cross join unnest(c.ids) i(id) where i.id <> c.other
    union all
    select id, owner, other, weight, true from old_edges) p
  group by p.id, p.owner, p.other),
ranked as materialized (                         -- the closest of each node first
  select p.*, row_number() over (partition by p.id order by p.weight desc, p.other) as rank from pairs p),
deleted as (                                     -- old edges that are no longer close enough
  delete from relations r using ranked k
  where k.old and k.weight < %(min_weight)s and r.tenant = this_tenant() and r.origin = 'tags'
    and r.source = least(k.id, k.other) and r.target = greatest(k.id, k.other))
insert into relations (tenant, source, target, kind, origin, owner, weight)
select distinct on (least(k.id, k.other), greatest(k.id, k.other))
       this_tenant(), least(k.id, k.other), greatest(k.id, k.other), 'related', 'tags', k.owner, k.weight
from ranked k where k.weight >= %(min_weight)s and (k.old or k.rank <= %(max_edges)s)
order by least(k.id, k.other), greatest(k.id, k.other)
on conflict (tenant, source, target, kind, origin, owner) do update set weight = excluded.weight
where relations.weight <> excluded.weight

-- name: link
insert into relations (tenant, source, target, kind, origin, owner, weight)
values (this_tenant(), %(source)s, %(target)s, %(kind)s, 'link', %(owner)s, %(weight)s)
on conflict (tenant, source, target, kind, origin, owner) do update set weight = excluded.weight

-- name: link_new
-- Explicit edges between pairs of nodes, as far as both are there; one that is there already keeps its weight.
insert into relations (tenant, source, target, kind, origin, owner, weight)
select this_tenant(), p.source, p.target, %(kind)s, 'link', %(owner)s, 1
from unnest(%(sources)s::uuid[], %(targets)s::uuid[]) p(source, target)
where exists (select from nodes n where n.tenant = this_tenant() and n.id = p.source)
  and exists (select from nodes n where n.tenant = this_tenant() and n.id = p.target)
order by p.source, p.target
on conflict (tenant, source, target, kind, origin, owner) do nothing

-- name: unlink
delete from relations
where tenant = this_tenant() and source = %(source)s and target = %(target)s and kind = %(kind)s and origin = 'link'
  and owner = %(owner)s

-- name: walk
-- The strongest path to each node within so many hops, along edges in either direction; a path weighs the product of its edges.
-- Weights are at most 1, so a path that returns to a node is never stronger: at each distance only the strongest path to each
-- node goes on, and of those nodes the `width` strongest.
with recursive walk as (                         -- node, weight and edges of each path; `seen` are the nodes on it
  select %(node)s::uuid as node, 1::float8 as weight, 0 as hops, array[%(node)s::uuid] as seen, '[]'::jsonb as path
  union all
  select ranked.node, ranked.weight, ranked.hops, ranked.seen, ranked.path from (
    select step.*, row_number() over (order by step.weight desc, step.node) as rank from (
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
      cross join lateral (                       -- by its id: "offset 0" keeps PostgreSQL from reading all that the owners have
        select from nodes o where o.tenant = this_tenant() and o.id = e.node and o.live and o.owner = any(%(owners)s::text[])
        offset 0) n
      where w.hops < %(hops)s and not e.node = any(w.seen)
      order by e.node, w.weight * e.weight desc, e.kind, e.origin, e.source, e.target) step) ranked
  where ranked.rank <= %(width)s)
select best.node, best.weight, best.path from (
  select distinct on (w.node) w.node, w.weight, w.hops, w.path from walk w where w.hops > 0
  order by w.node, w.weight desc, w.hops) best
where best.weight >= %(min_weight)s order by best.weight desc, best.hops, best.node limit %(limit)s

-- name: source
-- The text of a live node from which facts are extracted, and who said it first, when and where.
select n.content, n.owner, m.robot, m.session, m.role, m.name, m.at, m.source_id, m.source, m.trust,
       -- Kept as long as the longest of its mentions.
       (select nullif(max(coalesce(k.expires_at, 'infinity')), 'infinity') from mentions k
        where k.tenant = n.tenant and k.node_id = n.id and k.forgotten_at is null) as expires_at
from nodes n, lateral (
  select * from mentions m where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null order by m.at, m.id limit 1) m
where n.tenant = this_tenant() and n.id = %(node)s and n.live

-- name: lock_source
-- A writer that hides or erases the source waits until its facts are written, so that they are hidden with it.
select live from nodes where tenant = this_tenant() and id = %(node)s for share

-- name: add_derived
with facts as (
  update mentions m set source_id = %(source)s where m.tenant = this_tenant() and m.id = any(%(mentions)s::uuid[]) returning m.node_id)
insert into relations (tenant, source, target, kind, origin, owner, weight)
select distinct this_tenant(), t.node_id, %(source)s::uuid, 'derived', 'proposition', %(owner)s, 1 from facts t
where t.node_id <> %(source)s::uuid
on conflict do nothing

-- name: drop_of_owner
delete from relations where tenant = this_tenant() and owner = %(owner)s
