-- The memory palace: where a mention is kept and until when, what was decided about it, and what was consulted.
--
-- A place belongs to a mention, not to a node: what is said twice lies in two places, and each expires by itself. The notes of
-- a session have an owner of their own, so that nothing but the palace of that session sees them.

create table places (
  tenant      text not null,
  mention_id  uuid not null,
  owner       text not null,
  session     text not null,
  kind        text not null check (kind in ('identity', 'filed', 'note', 'artifact', 'procedure')),
  room        text not null default '',
  drawer      text not null default '',
  filed_at    timestamptz not null,
  expires_at  timestamptz,                      -- null: never
  promoted_at timestamptz,                      -- a note that was promoted: it is surfaced no more
  uri         text,                             -- of an artifact
  facts       jsonb not null default '{}',      -- a procedure's steps and triggers, an artifact's name
  primary key (tenant, mention_id),
  check ((kind = 'filed') = (room <> '' and drawer <> '')),
  check ((kind = 'note') = (expires_at is not null)),
  foreign key (tenant, mention_id) references mentions (tenant, id) on delete cascade
);
call add_tenant_policy('places');
create index places_by_room on places (tenant, owner, kind, room, drawer, filed_at desc);
create index places_by_time on places (tenant, owner, kind, filed_at desc);
create index places_by_expiry on places (tenant, expires_at) where expires_at is not null;

-- What became of each attempt to promote a note; rows are never changed.
create table decisions (
  tenant     text not null,
  id         uuid not null,
  owner      text not null,
  robot      text not null,
  session    text not null,
  at         timestamptz not null,
  note_id    uuid not null,                     -- the note's mention
  mention_id uuid,                              -- the mention that was filed
  room       text not null,
  drawer     text not null,
  reason     text not null,
  summary    text not null,
  outcome    text not null check (outcome in ('promoted', 'duplicate', 'conflict', 'undone')),
  against    jsonb not null default '[]',       -- the mentions it repeats or contradicts, and why
  undoes     uuid,                              -- the decision that this one takes back
  primary key (tenant, id),
  foreign key (tenant, note_id) references mentions (tenant, id) on delete cascade,
  foreign key (tenant, mention_id) references mentions (tenant, id) on delete cascade
);
call add_tenant_policy('decisions');
create index decisions_by_time on decisions (tenant, owner, at desc);
create index decisions_by_note on decisions (tenant, note_id);
create index decisions_by_mention on decisions (tenant, mention_id) where mention_id is not null;
create unique index decisions_undone_once on decisions (tenant, undoes) where undoes is not null;

-- Questions to the palace: which layers answered, and why the search stopped. It holds no words of answers, only where they are.
create table consultations (
  tenant  text not null,
  id      uuid not null,
  owner   text not null,
  robot   text not null,
  session text not null,
  at      timestamptz not null,
  prompt  text not null,
  recall  boolean not null,                     -- whether the prompt needs something remembered
  rule    text not null,
  verdict text not null check (verdict in ('grounded', 'miss', 'failed', 'free')),
  layers  jsonb not null,
  primary key (tenant, id)
);
call add_tenant_policy('consultations');
create index consultations_by_time on consultations (tenant, owner, at desc);

-- When robots last woke up, so that the next wake-up can say what is new.
create table wakings (
  tenant text not null,
  owner  text not null,
  robot  text not null,
  at     timestamptz not null,
  primary key (tenant, owner, robot)
);
call add_tenant_policy('wakings');
