-- name: insert
insert into tags (tenant, tag, node_id, explicit)
select this_tenant(), d.tag, d.node_id, bool_or(d.explicit)
from unnest(%(tags)s::text[], %(nodes)s::uuid[], %(explicit)s::bool[]) as d(tag, node_id, explicit)
group by d.tag, d.node_id order by d.tag, d.node_id
on conflict (tenant, tag, node_id) do update set explicit = true where excluded.explicit and not tags.explicit
returning node_id

-- name: hold
-- A node whose tags are to change, by its own owner; it is not erased meanwhile. Its tags' rows are locked in their order, by
-- whoever changes them, and nothing else is: so nobody waits for one who waits for them.
select id from nodes where tenant = this_tenant() and id = %(node)s and owner = %(owner)s for key share

-- name: lock
select 1 from tags where tenant = this_tenant() and node_id = %(node)s order by tag for update

-- name: unmark
update tags set explicit = false where tenant = this_tenant() and node_id = %(node)s and tag = any(%(tags)s::text[]) and explicit

-- name: prune
-- What no tag that was given implies any more.
delete from tags t where t.tenant = this_tenant() and t.node_id = %(node)s and not t.explicit and not exists (
  select 1 from tags e where e.tenant = t.tenant and e.node_id = t.node_id and e.explicit and starts_with(e.tag, t.tag || ':'))

-- name: counts
select t.tag, count(*) as nodes
from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
where t.tenant = this_tenant() and n.live and n.owner = any(%(owners)s::text[])
  and (%(prefix)s::text is null or t.tag = %(prefix)s or starts_with(t.tag, %(prefix)s || ':'))
group by t.tag

-- name: tagged
select count(distinct t.node_id) as nodes
from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
where t.tenant = this_tenant() and n.live and n.owner = any(%(owners)s::text[])

-- name: popular
select t.tag, count(*) as nodes
from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
where t.tenant = this_tenant() and t.explicit and n.live and n.owner = any(%(owners)s::text[])
  and (%(windows)s::tstzmultirange is null or exists (
    select 1 from mentions m where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null
      and m.at <@ %(windows)s::tstzmultirange))
group by t.tag order by count(*) desc, t.tag limit %(limit)s

-- name: related
with here as (
  select n.id, n.owner from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
  where t.tenant = this_tenant() and t.tag = %(tag)s and n.live and n.owner = any(%(owners)s::text[])),
others as (
  select t.tag, count(*) as shared from here h join tags t on t.tenant = this_tenant() and t.node_id = h.id
  where t.explicit and t.tag <> %(tag)s and not starts_with(t.tag, %(tag)s || ':') and not starts_with(%(tag)s, t.tag || ':')
  group by t.tag)
select o.tag, o.shared, o.shared::float8 / ((select count(*) from here) + a.nodes - o.shared) as weight
from others o, lateral (
  select count(*) as nodes from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
  where t.tenant = this_tenant() and t.tag = o.tag and t.explicit and n.live and n.owner = any(%(owners)s::text[])) a
order by weight desc, o.shared desc, o.tag limit %(limit)s

-- name: for_tagging
-- A text that is still live, and the tags that its owner uses most.
select n.content, coalesce((
  select array_agg(k.tag order by k.uses desc, k.tag) from (
    select t.tag, count(*) as uses from tags t join nodes o on o.tenant = t.tenant and o.id = t.node_id
    where t.tenant = n.tenant and t.explicit and o.live and o.owner = n.owner
    group by t.tag order by count(*) desc, t.tag limit %(most)s) k), '{}') as known
from nodes n where n.tenant = this_tenant() and n.id = %(node)s and n.live

-- name: keep
-- Keeps a node from being erased until the transaction ends, and says whether it is there.
select id from nodes where tenant = this_tenant() and id = %(node)s for key share
