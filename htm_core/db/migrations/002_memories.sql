-- A node is what, a mention is who, when and where.
--
-- A node's id is made of the SHA-256 of its owner and its exact text, so the same words of one owner are the same node
-- by primary key, without a look-up and without a second index.

create table nodes (
  tenant     text not null,
  id         uuid not null,
  owner      text not null,
  content    text not null,
  tokens     integer not null,
  created_at timestamptz not null,
  live       boolean not null default true,     -- has a mention that is neither forgotten nor superseded
  xid        xid8 not null default pg_current_xact_id(),
  primary key (tenant, id)
);
call add_tenant_policy('nodes');
create index nodes_by_time on nodes (tenant, owner, created_at desc, id desc);

-- What changes often, away from what is wide.
create table node_state (
  tenant       text not null,
  node_id      uuid not null,
  importance   double precision not null,
  metadata     jsonb not null default '{}',     -- the mentions' metadata merged, latest wins
  access_count bigint not null default 0,
  accessed_at  timestamptz not null,
  primary key (tenant, node_id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
) with (fillfactor = 70);
call add_tenant_policy('node_state');

create table mentions (
  tenant        text not null,
  id            uuid not null,
  node_id       uuid,                           -- null: nothing to search in it
  owner         text not null,
  robot         text not null,
  session       text not null,
  seq           bigint not null,
  external_id   text,                           -- the caller's id, unique in its session
  role          text,
  name          text,
  at            timestamptz not null,
  key           text,                           -- the key under which it was said
  content       text,                           -- only without a node
  metadata      jsonb not null default '{}',
  payload       bytea,                          -- exact bytes of a framework's message
  log_position  bigint,                         -- its place in the session's log; null: not in it
  archived      boolean not null default false, -- a log can be read as a queue: this has left the queue, not the log
  source_id     uuid,                           -- of a fact: the node that a model took it from; triggers.sql follows it
  forgotten_at  timestamptz,
  forgotten_by  text,
  withdrawn     boolean not null default false, -- forgotten for one robot only
  purged        boolean not null default false, -- an empty tombstone that keeps the sequence
  xid           xid8 not null default pg_current_xact_id(),
  primary key (tenant, id),
  unique (tenant, owner, session, seq),
  foreign key (tenant, node_id) references nodes (tenant, id)
);
call add_tenant_policy('mentions');
create unique index mentions_by_external_id on mentions (tenant, owner, session, external_id) where external_id is not null;
create index mentions_by_node on mentions (tenant, node_id, at desc) where node_id is not null;
create index mentions_by_time on mentions (tenant, at, session, seq);
create index mentions_by_robot on mentions (tenant, robot, at);
create index mentions_by_log on mentions (tenant, owner, session, log_position) where log_position is not null;
create index mentions_by_metadata on mentions using gin (metadata jsonb_path_ops) with (fastupdate = off);
create index mentions_forgotten on mentions (tenant, forgotten_at) where forgotten_at is not null and not purged;
create index mentions_by_source on mentions (tenant, source_id) where source_id is not null;
-- Which forms of a name a speaker has, as a whole or as the first part of it.
create index mentions_by_name on mentions (tenant, name collate "C") where name is not null;

create table tags (
  tenant   text not null,
  tag      text not null,
  node_id  uuid not null,
  explicit boolean not null,                    -- given by someone, or an ancestor of such a one
  primary key (tenant, tag, node_id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
);
call add_tenant_policy('tags');
create index tags_by_node on tags (tenant, node_id);

create table keys (
  tenant  text not null,
  owner   text not null,
  key     text not null,
  version integer not null,
  node_id uuid not null,
  robot   text not null,
  at      timestamptz not null,
  current boolean not null,
  primary key (tenant, owner, key, version),
  foreign key (tenant, node_id) references nodes (tenant, id)
);
call add_tenant_policy('keys');
create unique index keys_current on keys (tenant, owner, key) where current;
create index keys_by_node on keys (tenant, node_id);

-- Edges between nodes: from shared tags, from facts and what they were taken from, and from who links them.
create table relations (
  tenant     text not null,
  source     uuid not null,
  target     uuid not null,
  kind       text not null check (kind in ('related', 'supports', 'contradicts', 'derived')),
  origin     text not null check (origin in ('tags', 'proposition', 'link')),
  owner      text not null,                     -- the user who has this edge; its nodes belong to this user or to everyone
  weight     double precision not null check (weight > 0 and weight <= 1),
  created_at timestamptz not null default now(),
  primary key (tenant, source, target, kind, origin, owner),
  check (source <> target),
  foreign key (tenant, source) references nodes (tenant, id) on delete cascade,
  foreign key (tenant, target) references nodes (tenant, id) on delete cascade
);
call add_tenant_policy('relations');
create index relations_by_target on relations (tenant, target);
