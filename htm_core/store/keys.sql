-- name: current
select node_id, version from keys where tenant = this_tenant() and owner = %(owner)s and key = %(key)s and current

-- name: supersede
update keys set current = false where tenant = this_tenant() and owner = %(owner)s and key = %(key)s and current

-- name: insert
insert into keys (tenant, owner, key, version, node_id, robot, at, current)
select this_tenant(), %(owner)s, %(key)s, 1 + coalesce(max(version), 0), %(node)s, %(robot)s, %(at)s, true
from keys where tenant = this_tenant() and owner = %(owner)s and key = %(key)s
returning version

-- name: find
select owner, node_id, version from keys
where tenant = this_tenant() and owner = any(%(owners)s::text[]) and key = %(key)s and current
order by owner desc limit 1                      -- one's own before what is shared

-- name: history
select k.node_id, k.version from keys k
where k.tenant = this_tenant() and k.owner = %(owner)s and k.key = %(key)s
  and exists (select 1 from mentions m where m.tenant = k.tenant and m.node_id = k.node_id and m.forgotten_at is null)
  -- A value that was forgotten of this key is not shown, also when its words live on elsewhere.
  and coalesce((select bool_or(m.forgotten_at is null) from mentions m
                where m.tenant = k.tenant and m.node_id = k.node_id and m.key = k.key), true)
order by k.version

-- name: owner
select owner from keys where tenant = this_tenant() and owner = any(%(owners)s::text[]) and key = %(key)s
order by owner desc limit 1
