-- name: add
insert into tags (tenant, tag, node_id, explicit)
select this_tenant(), given.tag, given.node_id, bool_or(given.explicit)
from unnest(%(tags)s::text[], %(nodes)s::uuid[], %(explicit)s::bool[]) as given(tag, node_id, explicit)
group by given.tag, given.node_id order by given.tag, given.node_id
on conflict (tenant, tag, node_id) do update set explicit = true where excluded.explicit and not tags.explicit
returning node_id

-- name: lock_node
-- Locks a node of this owner against being erased while its tags change. Writers of tags lock the rows of the tags in their
-- order and nothing else, so that no two wait for each other.
select id from nodes where tenant = this_tenant() and id = %(node)s and owner = %(owner)s for key share

-- name: lock_tags
select 1 from tags where tenant = this_tenant() and node_id = %(node)s order by tag for update

-- name: unmark_explicit
update tags set explicit = false where tenant = this_tenant() and node_id = %(node)s and tag = any(%(tags)s::text[]) and explicit

-- name: delete_implied
-- Deletes ancestors that no explicit tag implies any more.
delete from tags where tenant = this_tenant() and node_id = %(node)s and tag = any(%(tags)s::text[]) and not explicit

-- name: tags_of_node
select tag, explicit from tags where tenant = this_tenant() and node_id = %(node)s

-- name: count_explicit
-- How many given tags nodes have; those without any are left out.
select node_id, count(*) as tags from tags
where tenant = this_tenant() and node_id = any(%(nodes)s::uuid[]) and explicit group by node_id

-- name: counts
select t.tag, count(*) as nodes
from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
where t.tenant = this_tenant() and n.live and n.owner = any(%(owners)s::text[])
  and (%(prefix)s::text is null or t.tag = %(prefix)s or starts_with(t.tag, %(prefix)s || ':'))
group by t.tag

-- name: count_tagged
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
with tagged as (                                 -- the live nodes with the tag
  select n.id, n.owner from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
  where t.tenant = this_tenant() and t.tag = %(tag)s and n.live and n.owner = any(%(owners)s::text[])),
others as (                                      -- tags on those nodes that are neither its ancestors nor below it
  select t.tag, count(*) as shared from tagged h join tags t on t.tenant = this_tenant() and t.node_id = h.id
  where t.explicit and t.tag <> %(tag)s and not starts_with(t.tag, %(tag)s || ':') and not starts_with(%(tag)s, t.tag || ':')
  group by t.tag)
select o.tag, o.shared, o.shared::float8 / ((select count(*) from tagged) + a.nodes - o.shared) as weight
from others o, lateral (
  select count(*) as nodes from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
  where t.tenant = this_tenant() and t.tag = o.tag and t.explicit and n.live and n.owner = any(%(owners)s::text[])) a
order by weight desc, o.shared desc, o.tag limit %(limit)s

-- name: for_tagging
-- The text of a live node, and the tags that its owner uses most.
select n.content, coalesce((
  select array_agg(k.tag order by k.uses desc, k.tag) from (
    select t.tag, count(*) as uses from tags t join nodes o on o.tenant = t.tenant and o.id = t.node_id
    where t.tenant = n.tenant and t.explicit and o.live and o.owner = n.owner
    group by t.tag order by count(*) desc, t.tag limit %(limit)s) k), '{}') as known
from nodes n where n.tenant = this_tenant() and n.id = %(node)s and n.live

-- name: lock_existing
-- Locks a node against being erased until the transaction ends.
select id from nodes where tenant = this_tenant() and id = %(node)s for key share
