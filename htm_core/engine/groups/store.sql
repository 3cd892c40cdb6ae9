-- name: create
insert into groups (tenant, name, budget, policy, lease)
values (this_tenant(), %(group)s, %(budget)s, %(policy)s, %(lease)s) on conflict (tenant, name) do nothing

-- name: lock
select id, name, budget, policy, lease, term from groups where tenant = this_tenant() and name = %(group)s for update

-- name: read
select id, name, budget, policy, lease, term from groups where tenant = this_tenant() and name = %(group)s

-- name: list_names
select name from groups where tenant = this_tenant() order by name

-- name: change_rules
update groups set budget = %(budget)s, policy = %(policy)s, lease = %(lease)s where tenant = this_tenant() and name = %(group)s

-- name: next_term
update groups set term = term + 1 where tenant = this_tenant() and name = %(group)s

-- name: members
select m.robot, m.role, member_seconds_until_late(m, g.lease) > 0 as live, m.joined_at, m.heartbeat_at, m.instance
from group_members m join groups g on g.tenant = m.tenant and g.name = m.group_name
where m.tenant = this_tenant() and m.group_name = %(group)s
order by m.joined_at, m.robot

-- name: join
-- A robot that joins again from the same process keeps its role; from another process it takes the membership over.
insert into group_members as m (tenant, group_name, robot, role, instance)
values (this_tenant(), %(group)s, %(robot)s, %(role)s, %(instance)s)
on conflict (tenant, group_name, robot) do update
set role = case when m.instance = excluded.instance then m.role else excluded.role end,
    instance = excluded.instance, heartbeat_at = clock_timestamp()
returning m.role

-- name: leave
delete from group_members where tenant = this_tenant() and group_name = %(group)s and robot = %(robot)s

-- name: set_role
update group_members set role = %(role)s where tenant = this_tenant() and group_name = %(group)s and robot = %(robot)s

-- name: heartbeat
-- Never waits for a lock while it holds another: whoever changes roles locks members in an order of its own. A member that is being
-- changed at this moment gets the next beat; only who misses three is late.
update group_members m set heartbeat_at = clock_timestamp()
from (select b.group_name, b.robot from group_members b where b.tenant = this_tenant() and b.instance = %(instance)s
      for update skip locked) beating
where m.tenant = this_tenant() and m.group_name = beating.group_name and m.robot = beating.robot

-- name: memberships
-- The memberships of a process, and in how many seconds another active member of each group would be late.
select m.group_name as group, m.robot, m.role, g.id, g.lease, g.term,
       (select min(member_seconds_until_late(a, g.lease)) from group_members a
        where a.tenant = m.tenant and a.group_name = m.group_name and a.role = 'active' and a.robot <> m.robot) as due
from group_members m join groups g on g.tenant = m.tenant and g.name = m.group_name
where m.tenant = this_tenant() and m.instance = %(instance)s
order by m.group_name, m.robot

-- name: elect
select robot from elect_active_members(%(group)s) as robot

-- name: count_items
select count(*) as items, coalesce(sum(n.tokens), 0)::bigint as tokens
from working_sets s
join working_items i on i.tenant = s.tenant and i.set_id = s.id and i.evicted_at is null
join nodes n on n.tenant = i.tenant and n.id = i.node_id and n.live
where s.tenant = this_tenant() and s.owner = %(owner)s and s.shared and s.holder = %(group)s
  and (%(session)s::text is null or s.session = %(session)s)

-- name: channel
select name from notification_channel

-- name: name_channel
select pg_catalog.set_config('htm.channel', %(channel)s, false), pg_catalog.set_config('application_name', 'htm-listener', false)

-- name: listen
do $$ begin execute pg_catalog.format('listen %I', pg_catalog.current_setting('htm.channel')); end $$
