-- name: active
update robots r set active_at = greatest(r.active_at, d.at)
from (select * from unnest(%(names)s::text[], %(ats)s::timestamptz[]) as u(name, at) order by u.name) d
where r.tenant = this_tenant() and r.name = d.name

-- name: list
-- Every robot of the tenant, with counts of what these owners see.
select r.name, r.created_at, r.active_at, coalesce(m.mentions, 0) as mentions, coalesce(m.nodes, 0) as nodes,
       coalesce(m.sessions, 0) as sessions, m.first_at, m.last_at, coalesce(w.items, 0) as working_items,
       coalesce(w.tokens, 0)::bigint as working_tokens,
       coalesce((select array_agg(g.group_name order by g.group_name) from members g
                 where g.tenant = r.tenant and g.robot = r.name), '{}') as groups
from robots r
left join (select robot, count(*) as mentions, count(distinct node_id) as nodes, min(at) as first_at, max(at) as last_at,
                  count(distinct (owner, session)) filter (where session <> '') as sessions
           from mentions
           where tenant = this_tenant() and owner = any(%(owners)s::text[]) and forgotten_at is null
           group by robot) m on m.robot = r.name
left join (select s.holder, count(*) as items, sum(n.tokens) as tokens
           from working_sets s
           join working_items i on i.tenant = s.tenant and i.set_id = s.id and i.evicted_at is null
           join nodes n on n.tenant = i.tenant and n.id = i.node_id and n.live
           where s.tenant = this_tenant() and s.owner = any(%(owners)s::text[]) and not s.shared
           group by s.holder) w on w.holder = r.name
where r.tenant = this_tenant()
order by r.name
