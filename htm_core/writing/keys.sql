-- name: current
select node_id, version from keys where tenant = this_tenant() and owner = %(owner)s and key = %(key)s and current

-- name: values
-- What each key has now, if anything, and its last version; each is looked up by itself, whatever the statistics say.
select g.key, c.node_id, coalesce(l.version, 0) as version
from unnest(%(keys)s::text[]) g(key)
left join lateral (
  select k.node_id from keys k
  where k.tenant = this_tenant() and k.owner = %(owner)s and k.key = g.key and k.current offset 0) c on true
left join lateral (
  select k.version from keys k where k.tenant = this_tenant() and k.owner = %(owner)s and k.key = g.key
  order by k.version desc limit 1) l on true

-- name: supersede
update keys set current = false
where tenant = this_tenant() and owner = %(owner)s and key = any(%(keys)s::text[]) and current

-- name: insert
insert into keys (tenant, owner, key, version, node_id, robot, at, current)
select this_tenant(), %(owner)s, g.key, g.version, g.node_id, %(robot)s, g.at, g.current
from unnest(%(keys)s::text[], %(versions)s::int[], %(nodes)s::uuid[], %(ats)s::timestamptz[], %(current)s::boolean[])
     g(key, version, node_id, at, current)

-- name: find
select owner, node_id, version from keys
where tenant = this_tenant() and owner = any(%(owners)s::text[]) and key = %(key)s and current
  -- A value that has expired as this key's is none, also when its words live on elsewhere.
  and coalesce((select bool_or(m.expires_at is null or m.expires_at > memory_time()) from mentions m
                where m.tenant = keys.tenant and m.node_id = keys.node_id and m.key = keys.key and m.forgotten_at is null), true)
order by owner desc limit 1                      -- one's own before what is shared

-- name: find_as_of
select owner, node_id, version from keys
where tenant = this_tenant() and owner = any(%(owners)s::text[]) and key = %(key)s and at <= %(as_of)s
order by owner desc, version desc limit 1

-- name: history
select k.node_id, k.version from keys k
where k.tenant = this_tenant() and k.owner = %(owner)s and k.key = %(key)s
  and exists (select 1 from mentions m where m.tenant = k.tenant and m.node_id = k.node_id and m.forgotten_at is null
              and (m.expires_at is null or m.expires_at > memory_time()))
  -- A value that was forgotten of this key is not shown, also when its words live on elsewhere.
  and coalesce((select bool_or(m.forgotten_at is null and (m.expires_at is null or m.expires_at > memory_time())) from mentions m
                where m.tenant = k.tenant and m.node_id = k.node_id and m.key = k.key), true)
order by k.version

-- name: owner
select owner from keys where tenant = this_tenant() and owner = any(%(owners)s::text[]) and key = %(key)s
order by owner desc limit 1
