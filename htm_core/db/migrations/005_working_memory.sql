-- Working memory: which nodes a robot, or a group of robots, holds in a session. A row that was evicted stays as the receipt.
--
-- Every transaction that changes what a set holds makes its version one more, and stamps it on the rows it changes. The
-- lock on the set's row is kept until the commit, so versions commit in their order: a reader who has seen version n lacks
-- exactly the rows with a higher one.

create table working_sets (
  tenant  text not null,
  id      uuid not null default gen_random_uuid(),
  owner   text not null,
  shared  boolean not null,                     -- the holder is a group, else a robot
  holder  text not null,
  session text not null,
  version bigint not null default 1,
  pruned  bigint not null default 0,            -- the version at which rows were last deleted instead of marked
  primary key (tenant, id),
  unique (tenant, owner, shared, holder, session)
) with (fillfactor = 50);
call add_tenant_policy('working_sets');

create table working_items (
  tenant       text not null,
  set_id       uuid not null,
  node_id      uuid not null,
  version      bigint not null,
  added_at     timestamptz not null,
  accessed_at  timestamptz not null,
  access_count bigint not null default 0,
  evicted_at   timestamptz,                     -- null: it is held
  policy       text,                            -- null in a row that is not held: it was let go without a receipt
  score        double precision,
  primary key (tenant, set_id, node_id),
  foreign key (tenant, set_id) references working_sets (tenant, id) on delete cascade,
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
) with (fillfactor = 70);
call add_tenant_policy('working_items');
create index working_items_held on working_items (tenant, set_id) where evicted_at is null;
create index working_items_by_version on working_items (tenant, set_id, version);
create index working_items_by_node on working_items (tenant, node_id);

-- A group: robots that share one working set. When an active robot is gone, a passive one takes over.
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
call add_tenant_policy('groups');

create table group_members (
  tenant       text not null,
  group_name   text not null,
  robot        text not null,
  role         text not null check (role in ('active', 'passive')),
  instance     uuid,                            -- the process that runs the robot; null: none yet, since a backup was read
  joined_at    timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp(),
  primary key (tenant, group_name, robot),
  foreign key (tenant, group_name) references groups (tenant, name) on delete cascade
) with (fillfactor = 70);
call add_tenant_policy('group_members');
create index group_members_by_instance on group_members (tenant, instance);
