-- Groups: who is late, who takes over, and the notification of changes.

-- A member's heart beats four times in a lease; who has missed three beats is late. While the server was away nobody could
-- beat, so after its start everybody has the time anew.
create or replace function htm.seconds_until_late(heartbeat timestamptz, lease double precision) returns double precision language sql volatile
begin atomic
  select extract(epoch from greatest(heartbeat, pg_postmaster_start_time()) - clock_timestamp())::float8 + 0.75 * lease;
end;

-- The same for a member: one that no process holds is late.
create or replace function htm.member_seconds_until_late(member htm.group_members, lease double precision) returns double precision language sql volatile
begin atomic
  select case when member.instance is null then 0 else htm.seconds_until_late(member.heartbeat_at, lease) end;
end;

-- Puts a live passive member in the place of each active one that is late, and names those who are active now.
-- Under the lock of the group's row, so that whoever comes second finds that it is done.
create or replace function htm.elect_active_members(of_group text) returns setof text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare rules htm.groups; lost text; chosen text;
begin
  select * into rules from htm.groups g where g.tenant = htm.this_tenant() and g.name = of_group for update;
  loop
    select m.robot into lost from htm.group_members m
    where m.tenant = rules.tenant and m.group_name = rules.name and m.role = 'active' and htm.member_seconds_until_late(m, rules.lease) <= 0
    order by m.heartbeat_at, m.robot limit 1;
    select m.robot into chosen from htm.group_members m
    where m.tenant = rules.tenant and m.group_name = rules.name and m.role = 'passive' and htm.member_seconds_until_late(m, rules.lease) > 0
    order by m.joined_at, m.robot limit 1;
    exit when lost is null or chosen is null;
    update htm.group_members m set role = case when m.robot = chosen then 'active' else 'passive' end
    where m.tenant = rules.tenant and m.group_name = rules.name and m.robot in (lost, chosen);
    update htm.groups g set term = g.term + 1 where g.tenant = rules.tenant and g.name = rules.name;
    return next chosen;
  end loop;
end $$;

-- Tells of a change at its commit, by an id, on a channel that nobody else knows. A hint: the tables are the truth.
create or replace function htm.notify_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if htm.is_moving() then return null; end if;
  perform pg_notify((select c.name from htm.notification_channel c), coalesce(new.id, old.id)::text);
  return null;
end $$;
