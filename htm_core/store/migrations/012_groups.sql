-- Groups: robots that share one working set, one of whom takes over when an active one is gone.

create table groups (
  tenant     text not null,
  name       text not null,
  id         uuid not null default gen_random_uuid(),
  budget     integer not null,                  -- tokens of its working memory
  policy     text not null,
  lease      double precision not null,         -- seconds within which a lost active robot has a successor
  term       bigint not null default 0,         -- one more with each change of who is active
  created_at timestamptz not null default now(),
  primary key (tenant, name)
);
call guard('groups');

create table members (
  tenant       text not null,
  group_name   text not null,
  robot        text not null,
  role         text not null check (role in ('active', 'passive')),
  instance     uuid,                            -- of the process that speaks for the robot; null: none has since it was read back
  joined_at    timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp(),
  primary key (tenant, group_name, robot),
  foreign key (tenant, group_name) references groups (tenant, name) on delete cascade
) with (fillfactor = 70);
call guard('members');
create index members_by_instance on members (tenant, instance);

-- A member's heart beats four times in a lease; who has missed three beats is late. While the server was away nobody could
-- beat, so after its start everybody has the time anew.
create function late_in(heartbeat timestamptz, lease double precision) returns double precision language sql volatile as $$
  select extract(epoch from greatest(heartbeat, pg_postmaster_start_time()) - clock_timestamp())::float8 + 0.75 * lease
$$;

-- The same of a member: one for whom no process speaks is late.
create function member_late_in(member members, lease double precision) returns double precision language sql volatile as $$
  select case when member.instance is null then 0 else late_in(member.heartbeat_at, lease) end
$$;

-- Puts a live passive member in the place of each active one that is late, and names those who are active now.
-- Under the lock of the group's row, so that whoever comes second finds that it is done.
create function elect(of_group text) returns setof text language plpgsql as $$
declare rules groups; lost text; chosen text;
begin
  select * into rules from groups g where g.tenant = this_tenant() and g.name = of_group for update;
  loop
    select m.robot into lost from members m
    where m.tenant = rules.tenant and m.group_name = rules.name and m.role = 'active' and member_late_in(m, rules.lease) <= 0
    order by m.heartbeat_at, m.robot limit 1;
    select m.robot into chosen from members m
    where m.tenant = rules.tenant and m.group_name = rules.name and m.role = 'passive' and member_late_in(m, rules.lease) > 0
    order by m.joined_at, m.robot limit 1;
    exit when lost is null or chosen is null;
    update members m set role = case when m.robot = chosen then 'active' else 'passive' end
    where m.tenant = rules.tenant and m.group_name = rules.name and m.robot in (lost, chosen);
    update groups g set term = g.term + 1 where g.tenant = rules.tenant and g.name = rules.name;
    return next chosen;
  end loop;
end $$;

-- Tells of a change at its commit, by an id that says nothing to anyone else. A hint: the tables are the truth.
create function tell() returns trigger language plpgsql as $$
begin
  perform pg_notify('htm_' || tg_table_schema, coalesce(new.id, old.id)::text);
  return null;
end $$;
create trigger told after insert or update on working_sets for each row when (new.shared) execute function tell();
create trigger told_of_the_end after delete on working_sets for each row when (old.shared) execute function tell();
create trigger told after update of term on groups for each row execute function tell();
