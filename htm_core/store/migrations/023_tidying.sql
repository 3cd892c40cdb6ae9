-- Tidying: what a memory says of its user, which memories say the same, and what sessions were about. docs/why/tidying.md says why.
-- oldest client: 18
--
-- None of it changes a node or a mention. What is here is made of them, can be made again, and goes with them.

-- How far each session was read, by the numbers of its mentions: what is tidied next has a higher one.
create table tidied_sessions (
  tenant      text not null,
  owner       text not null,
  session     text not null,
  profile_seq bigint not null default 0,         -- read for the profile
  profile_rules integer not null default 0,      -- by these rules: others read it again
  merge_seq   bigint not null default 0,         -- compared with what says the same
  merge_rules integer not null default 0,
  summary_seq bigint not null default 0,         -- summarised, or too short for it
  primary key (tenant, owner, session),
  foreign key (tenant, owner, session) references sessions (tenant, owner, session) on delete cascade
) with (fillfactor = 70);
call add_tenant_policy('tidied_sessions');

-- What single mentions say of their user. The profile is the newest fact of each key.
create table profile_facts (
  tenant     text not null,
  mention_id uuid not null,
  key        text not null,                      -- profile:SECTION:SLOT
  retracts   boolean not null,                   -- ends what the key held
  owner      text not null,
  section    text not null,
  slot       text not null,
  value      text not null,
  line       text not null,
  due        date,
  words      text[] not null default '{}',
  model      text not null default '',           -- a chat model that found it; '' is the rules
  primary key (tenant, mention_id, key, retracts),
  foreign key (tenant, mention_id) references mentions (tenant, id) on delete cascade
);
call add_tenant_policy('profile_facts');
create index profile_facts_by_owner on profile_facts (tenant, owner);

-- The canonical form of nodes, by its hash: nodes of an owner with the same one say the same.
create table canonical_forms (
  tenant  text not null,
  owner   text not null,
  digest  bytea not null,
  node_id uuid not null,
  primary key (tenant, owner, digest, node_id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
);
call add_tenant_policy('canonical_forms');
create index canonical_forms_by_node on canonical_forms (tenant, node_id);

-- A node that is represented by another one in recall. Both stay as they are, so deleting the row undoes it; `undone_at` keeps it undone.
create table merges (
  tenant    text not null,
  node_id   uuid not null,
  into_id   uuid not null,
  owner     text not null,
  robot     text not null,
  merged_at timestamptz not null default now(),
  undone_at timestamptz,
  primary key (tenant, node_id),
  check (node_id <> into_id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade,
  foreign key (tenant, into_id) references nodes (tenant, id) on delete cascade
);
call add_tenant_policy('merges');
create index merges_by_target on merges (tenant, into_id);
create index merges_by_owner on merges (tenant, owner, merged_at);

-- What a session was about, made of its mentions up to `last_seq`. Triggers delete it when one of them is forgotten or erased.
create table summaries (
  tenant   text not null,
  owner    text not null,
  session  text not null,
  lines    text[] not null,
  sources  uuid[] not null,                      -- mentions, in the order of the lines or of the session
  messages integer not null,
  last_seq bigint not null,
  first_at timestamptz not null,
  last_at  timestamptz not null,
  made_at  timestamptz not null,
  model    text not null default '',             -- a chat model; '' is messages that were chosen
  primary key (tenant, owner, session),
  foreign key (tenant, owner, session) references sessions (tenant, owner, session) on delete cascade
);
call add_tenant_policy('summaries');
