-- name: renew_tag_edges
-- Renews the edges of nodes to those that share their tags, implied ancestors included. The weight of an edge is the Jaccard
-- index of the two sets of tags: shared / (tags of either). A tag that more than `common` nodes have makes no candidates.
-- Each node chooses its `max_edges` closest above `min_weight`; an edge that the other node chose stays, with its new weight.
with own_tags as materialized (                  -- the tags of the given nodes
  select n.id, n.owner, t.tag from nodes n
  cross join lateral (select g.tag from tags g where g.tenant = this_tenant() and g.node_id = n.id offset 0) t
  where n.tenant = this_tenant() and n.id in (select each_id(%(nodes)s::uuid[]))),
rare_tags as (                                   -- those tags that few enough nodes have
  select m.id, m.owner, m.tag from own_tags m
  join (select distinct tag from own_tags offset 0) d on d.tag = m.tag and (select count(*) from (
    select 1 from tags t where t.tenant = this_tenant() and t.tag = d.tag limit %(common)s + 1) x) <= %(common)s),
old_edges as materialized (                      -- the other end of the edges that there are now
  select r.source as id, r.target as other from relations r
  where r.tenant = this_tenant() and r.source in (select each_id(%(nodes)s::uuid[])) and r.origin = 'tags'
  union
  select r.target, r.source from relations r
  where r.tenant = this_tenant() and r.target in (select each_id(%(nodes)s::uuid[])) and r.origin = 'tags'),
candidates as materialized (                     -- nodes of the same owner with a rare tag in common, and the old ones
  select t.id, o.id as other from rare_tags t
  join tags x on x.tenant = this_tenant() and x.tag = t.tag and x.node_id <> t.id
  cross join lateral (                           -- by its id: "offset 0" keeps PostgreSQL from reading all that the owner has
    select n.id from nodes n where n.tenant = this_tenant() and n.id = x.node_id and n.owner = t.owner offset 0) o
  union
  select id, other from old_edges),
candidate_tags as materialized (
  select c.other, t.tag from (select distinct other from candidates) c
  cross join lateral (select g.tag from tags g where g.tenant = this_tenant() and g.node_id = c.other offset 0) t),
shared as (                                      -- how many tags each pair shares
  select m.id, t.other, count(*) as shared from own_tags m join candidate_tags t on t.tag = m.tag group by m.id, t.other),
weighted as (
  select c.id, c.other, s.shared / (a.tags + b.tags - s.shared)::float8 as weight
  from candidates c
  join shared s on s.id = c.id and s.other = c.other
  join (select id, count(*) as tags from own_tags group by id) a on a.id = c.id
  join (select other, count(*) as tags from candidate_tags group by other) b on b.other = c.other),
ranked as (                                      -- the candidates of each node, the closest first
  select w.*, row_number() over (partition by w.id order by w.weight desc, w.other) as rank from weighted w
  where w.weight >= %(min_weight)s),
new_edges as (
  select distinct on (1, 2) least(p.id, p.other) as source, greatest(p.id, p.other) as target, p.weight from ranked p
  where p.rank <= %(max_edges)s or exists (select 1 from old_edges k where k.id = p.id and k.other = p.other)),
deleted as (                                     -- old edges that are no longer close enough
  delete from relations r using old_edges k
  where r.tenant = this_tenant() and r.origin = 'tags' and r.source = least(k.id, k.other) and r.target = greatest(k.id, k.other)
    and not exists (select 1 from new_edges w where w.source = r.source and w.target = r.target))
insert into relations (tenant, source, target, kind, origin, owner, weight)
select this_tenant(), w.source, w.target, 'related', 'tags', n.owner, w.weight
from new_edges w join nodes n on n.tenant = this_tenant() and n.id = w.source
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
select n.content, n.owner, m.robot, m.session, m.role, m.name, m.at, m.source_id
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
