-- name: keys
-- An owner's keys that begin so, each with how its present value begins.
select k.key as value, left(n.content, 200) as about
from keys k join nodes n on n.tenant = k.tenant and n.id = k.node_id
where k.tenant = this_tenant() and k.owner = any(%(owners)s::text[]) and k.current and n.live and starts_with(k.key, %(begins)s)
order by k.key limit %(limit)s

-- name: robots
-- The robots whose names begin so; those that were active last come first.
select r.name as value, '' as about from robots r
where r.tenant = this_tenant() and starts_with(r.name, %(begins)s)
order by r.active_at desc, r.name limit %(limit)s
