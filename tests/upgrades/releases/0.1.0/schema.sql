-- htm-memory: run with psql as a superuser, in the database that is to hold the memories.

begin;

set local htm.schema = 'htm';

create extension if not exists vector;

do $$
declare wanted text;
begin
  foreach wanted in array array['htm_owner', 'htm_app', 'htm_worker'] loop
    begin
      if not exists (select from pg_roles where rolname = wanted) then
        execute format('create role %I nologin', wanted);
      end if;
    exception when duplicate_object or unique_violation then null;  -- another database of this cluster was as quick
    end;
    if not pg_has_role(current_user, wanted, 'member') then
      execute format('grant %I to %I', wanted, current_user);
    end if;
  end loop;
end $$;

do $$
begin
  execute format('create schema if not exists %I authorization htm_owner', current_setting('htm.schema'));
  execute format('grant usage on schema %I to htm_app, htm_worker', current_setting('htm.schema'));
end $$;

select set_config('search_path', format('"%s", "%s", pg_temp', current_setting('htm.schema'), n.nspname), true)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector';

select '[1]'::vector;

set local role htm_owner;

create table if not exists migrations (
  version integer primary key, name text not null, digest text not null, applied_at timestamptz not null default now(),
  oldest_client integer not null                -- processes of this schema version and newer may go on beside it
);
create table if not exists function_files (
  name text primary key, digest text not null, release text not null, applied_at timestamptz not null default now()
);
grant select on migrations, function_files to htm_app, htm_worker;

-- migration 001 tenants
-- Tenants, and the policy that keeps them apart.
--
-- Every migration runs as htm_owner, with search_path = the product's schema, then the schema of the extension vector.
-- Functions, views and triggers are in ../functions; here is only what tables and policies need to exist.
--
-- Every transaction of a verb runs as htm_app with the setting htm.tenant. A missing setting is an error, never "all".

create function this_tenant() returns text language plpgsql stable parallel safe as $$
declare name text := pg_catalog.current_setting('htm.tenant', true);
begin
  if name is null or name = '' then
    raise exception 'no tenant is set in this transaction'
      using errcode = 'insufficient_privilege', hint = 'select set_config(''htm.tenant'', ''NAME'', true) first';
  end if;
  return name;
end $$;

-- Lets tenants see and write only their own rows of a table. The owner is not bound by it, and serves no verbs.
create procedure add_tenant_policy(protected regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', protected);
  execute format('create policy tenant_isolation on %s to htm_app, htm_worker '
                 'using (tenant = (select this_tenant())) with check (tenant = (select this_tenant()))', protected);
  execute format('grant select, insert, update, delete on %s to htm_app, htm_worker', protected);
end $$;
revoke execute on procedure add_tenant_policy(regclass) from public;

create table tenants (
  tenant     text primary key,
  created_at timestamptz not null default now()
);
call add_tenant_policy('tenants');

create table robots (
  tenant     text not null,
  name       text not null,
  created_at timestamptz not null default now(),
  active_at  timestamptz not null default now(),
  primary key (tenant, name)
);
call add_tenant_policy('robots');

-- A session's row hands out its sequence numbers. They are taken in the transaction that uses them, so there are no gaps.
create table sessions (
  tenant     text not null,
  owner      text not null,                     -- the user; '' is what everyone in the tenant shares
  session    text not null,                     -- '' is "no session named"
  last_seq   bigint not null default 0,
  created_at timestamptz not null default now(),
  primary key (tenant, owner, session)
) with (fillfactor = 50);
call add_tenant_policy('sessions');


insert into migrations (version, name, digest, oldest_client)
values (1, 'tenants', '531a52491bd5e8289b2f121bcb576339b98a29f71871026f40de340a861380bc', 1);

-- migration 002 memories
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


insert into migrations (version, name, digest, oldest_client)
values (2, 'memories', '6b910567299e18afb713749c0752035c13f4a9270c199e585372ead87e6f56a8', 2);

-- migration 003 passages
-- What is searched: passages with their words, and vectors that carry their model.

-- How a tenant's words are cut and weighed.
create table lexicon (
  tenant         text primary key,
  prefix         text not null,                 -- stands before every lexeme, so that GIN serves small tenants
  config         regconfig not null,
  k1             real not null default 0.9,
  b              real not null default 0.4,
  average_length real not null default 12,      -- of a passage, in lexeme occurrences
  documents      bigint not null default 0,     -- passages when last counted
  version        integer not null default 1
);
call add_tenant_policy('lexicon');

-- Passages in which a lexeme occurs, per tenant, as last counted. Rare lexemes are counted by the query that has them.
create table lexeme_counts (
  tenant    text not null,
  lexeme    text not null,
  documents bigint not null,
  primary key (tenant, lexeme)
);
call add_tenant_policy('lexeme_counts');

create table passages (
  tenant     text not null,
  id         uuid not null,
  node_id    uuid not null,
  mention_id uuid,                              -- null: (a part of) the content itself
  ordinal    integer not null,
  owner      text not null,
  live       boolean not null default true,     -- its node's; in no index, so that forgetting is a HOT update
  starts     integer not null,                  -- offsets into the content, in characters
  stops      integer not null,
  body       text,                              -- null: exactly that part of the content
  length     integer not null,                  -- lexeme occurrences
  lexemes    tsvector not null,
  weights    sparsevec(268435456) not null,     -- BM25 term weights by hashed lexeme
  version    integer not null,                  -- of the lexicon that weighed it
  primary key (tenant, id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
) with (fillfactor = 90);
call add_tenant_policy('passages');
create index passages_by_node on passages (tenant, node_id);
create index passages_by_owner on passages (tenant, owner);
-- Without a list of pending entries, which every search would have to read through.
create index passages_by_lexeme on passages using gin (lexemes) with (fastupdate = off);

-- One vector space per model name and dimension, for all tenants.
create table vector_spaces (
  id                integer generated always as identity primary key,
  name              text not null,
  dimension         integer not null check (dimension between 1 and 16000),
  indexed           boolean not null default false,   -- whether the vectors of memories have their HNSW index
  documents_indexed boolean not null default false,   -- and whether those of documents have theirs
  unique (name, dimension)
);
grant select on vector_spaces to htm_app, htm_worker;

-- Which model a tenant's memories are embedded with; a second may be filled beside the first.
create table models (
  tenant text not null,
  name   text not null,
  space  integer references vector_spaces (id),        -- null until its first vector says the dimension
  active boolean not null,
  primary key (tenant, name)
);
call add_tenant_policy('models');
create unique index models_active on models (tenant) where active;

create table vectors (
  tenant     text not null,
  space      integer not null references vector_spaces (id),
  passage_id uuid not null,
  node_id    uuid not null,
  owner      text not null,
  live       boolean not null default true,
  embedding  halfvec not null,
  primary key (tenant, space, passage_id),
  foreign key (tenant, passage_id) references passages (tenant, id) on delete cascade
) with (fillfactor = 90, toast_tuple_target = 8160);
alter table vectors alter column embedding set storage main;   -- in the row as far as a page goes, beyond that out of line
call add_tenant_policy('vectors');
create index vectors_by_node on vectors (tenant, node_id);
create index vectors_by_owner on vectors (tenant, space, owner);
create index vectors_by_passage on vectors (tenant, passage_id);


insert into migrations (version, name, digest, oldest_client)
values (3, 'passages', 'bf5087d8544fa0e519cbd505f916be6261cf65c664d5930dc9975bc11f647ca8', 3);

-- migration 004 search_types
-- The composite types that the search functions take and pass on.
--
-- PostgreSQL cannot replace a type, and statements of older processes build rows of it. So a type is never changed: what needs
-- another column is a new type with a new name.

-- What must hold of a node, and of one and the same of its mentions. Null members are neutral.
create type filters as (
  owners   text[],                              -- null: everybody's
  robots   text[],
  session  text,
  windows  tstzmultirange,
  tags     text[],                              -- each of them, or one below it
  equal    jsonb,                               -- metadata @> equal
  metadata jsonb                                -- a compiled filter, for matches()
);

-- How much each signal counts beside the vector and the words; 0 switches it off.
create type signal_weights as (
  context       float8,
  session       float8,
  speaker       float8,
  time          float8,
  prior         float8,
  corroboration float8,
  tags          float8
);

-- The words of a query as they weigh in a tenant or a collection, the rarest first.
create type weighted_query as (
  lexemes    text[],
  documents  bigint[],                          -- in how many passages each lexeme occurs
  weights    sparsevec,                         -- all lexemes in one vector, by their inverse document frequency
  best_score float8,                            -- more than this no passage can score
  top_terms  sparsevec[]                        -- the heaviest lexemes, each in a vector of its own: they are compared one by one
);

-- How the two searches of recall go about it.
create type search_plan as (
  node_ids   uuid[],                            -- the nodes that pass the filters; null: they are checked one by one, or there are none
  by_node    boolean,                           -- look these nodes up instead of following an index
  exact      boolean,                           -- read all rows of the owners instead of following an index
  filtered   boolean,                           -- there are filters beside the owners
  candidates integer                            -- so many passages with the rarest words are enough
);

-- What the vector search found, nearest first: nodes, each with its nearest passage and how far that is.
create type vector_matches as (nodes uuid[], passages uuid[], distances float8[]);

-- What must hold of a document. Null members are neutral, except `at`: what has expired by then is gone.
create type document_filters as (
  collection     integer,
  uids           uuid[],
  below          text[] collate "C",            -- labels that its namespace begins with
  refs           text[],
  metadata_equal jsonb,                         -- metadata @> this
  metadata       jsonb,                         -- a compiled filter, for matches()
  value_equal    jsonb,
  value          jsonb,
  at             timestamptz
);

-- A document as one of the two searches found it, with its rank there.
create type document_match as (document uuid, rank bigint);


insert into migrations (version, name, digest, oldest_client)
values (4, 'search_types', '2d6872c9f89736582987683b9851d840d30bd5780123e000f8da266121311201', 4);

-- migration 005 working_memory
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


insert into migrations (version, name, digest, oldest_client)
values (5, 'working_memory', 'cb0bd4d3d769146050f0c9dc500eadcb41d15725c4575982dee873c87732d5d2', 5);

-- migration 006 jobs
-- Jobs: work that is pending. A row is written in the transaction of the memory that it is for.

create table jobs (
  tenant        text not null,
  id            uuid not null default gen_random_uuid(),
  kind          text not null,                  -- embed | count | tag | propose | relate
  model         text not null default '',
  node_id       uuid,
  attempts      integer not null default 0,
  run_at        timestamptz not null default now(),
  claimed_until timestamptz,
  parked_at     timestamptz,                    -- given up, with the error in view
  error         text,
  created_at    timestamptz not null default now(),
  primary key (tenant, id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
) with (fillfactor = 70);
alter table jobs enable row level security;
create policy tenant_isolation on jobs to htm_app
  using (tenant = (select this_tenant())) with check (tenant = (select this_tenant()));
-- The worker sees the job rows of every tenant. For the memories that they name it enters one tenant at a time.
create policy worker_sees_jobs on jobs to htm_worker using (true) with check (true);
grant select, insert, update, delete on jobs to htm_app, htm_worker;
create unique index jobs_once on jobs (tenant, kind, model, coalesce(node_id, '00000000-0000-0000-0000-000000000000'));
create index jobs_due on jobs (kind, model, run_at) where parked_at is null;
create index jobs_by_node on jobs (tenant, node_id);

-- Whether and how fast each model may be called, for all workers of the database: its circuit breaker and its rate limit. A row
-- comes with the first failure or the first counted call. It holds nothing of any tenant.
create table model_status (
  model       text primary key,
  failures    integer not null default 0,       -- in a row
  failed_at   timestamptz not null default 'epoch',
  open_until  timestamptz not null default 'epoch',   -- a model that failed often is not called before
  prober      uuid,                             -- the worker that tries whether it is back
  probe_until timestamptz not null default 'epoch',   -- after this the prober counts as dead
  spent_until timestamptz not null default 'epoch'    -- the calls made so far use up the rate until then
) with (fillfactor = 50);
grant select, insert, update on model_status to htm_worker;


insert into migrations (version, name, digest, oldest_client)
values (6, 'jobs', '73e175fa290b549359ddf8e1c9fe98d1fc35a6ab9b9c7443a8186ae61e1d1ca2', 6);

-- migration 007 collections
-- Collections: documents of a vector store, items of a key-value store. Any text as id, never merged, any dimension, out
-- of recall's sight.

create table collections (
  tenant     text not null,
  id         integer not null generated always as identity,
  name       text not null,
  config     regconfig not null,                -- how its words are cut
  space      integer references vector_spaces (id),    -- model and dimension; null until its first vector
  created_at timestamptz not null default now(),
  primary key (tenant, name),
  unique (tenant, id)
);
call add_tenant_policy('collections');

-- A document's uid is made of the SHA-256 of its collection, namespace and id: so ids may be of any length, and a look-up
-- needs the primary key alone.
create table documents (
  tenant     text not null,
  uid        uuid not null,
  collection integer not null,
  namespace  text[] collate "C" not null,       -- labels; C order makes whatever is below a prefix one range
  id         text not null,
  content    text not null,
  value      jsonb not null,
  metadata   jsonb not null,
  payload    bytea,
  reference  text,                              -- the source document that it is a part of
  created_at timestamptz not null,
  place      integer not null,                  -- within what was put at that moment
  updated_at timestamptz not null,
  ttl        interval,                          -- what a refreshing read prolongs it by
  expires_at timestamptz,
  primary key (tenant, uid),
  foreign key (tenant, collection) references collections (tenant, id)
);
call add_tenant_policy('documents');
-- A collection has one tenant, so these need not begin with the tenant. And they must not: the planner, which sees thousands of
-- tenants with one document each, would take such an index to look up a uid.
create index documents_by_order on documents (collection, created_at, place, uid);
create index documents_by_namespace on documents (collection, namespace);
create index documents_by_reference on documents (collection, md5(reference)) where reference is not null;
create index documents_by_metadata on documents using gin (metadata jsonb_path_ops) with (fastupdate = off);
create index documents_by_value on documents using gin (value jsonb_path_ops) with (fastupdate = off);
create index documents_expiring on documents (collection, expires_at) where expires_at is not null;

-- What a document is found by. A row fills its page before anything of it goes out of line: a scan compares vectors where
-- they lie, and a vector that no page can hold is still accepted.
create table document_passages (
  tenant     text not null,
  document   uuid not null,
  ordinal    integer not null,
  collection integer not null,
  space      integer,                           -- null: found by its words alone
  length     integer not null,                  -- lexeme occurrences
  lexemes    tsvector not null,                 -- each behind its collection's id, so that GIN serves small collections
  weights    sparsevec(268435456) not null,     -- BM25 term weights by hashed lexeme
  embedding  halfvec,
  exact      vector,                            -- instead, for toy dimensions
  primary key (tenant, document, ordinal),
  foreign key (tenant, document) references documents (tenant, uid) on delete cascade
) with (toast_tuple_target = 8160);
alter table document_passages alter column embedding set storage main;
alter table document_passages alter column exact set storage main;
call add_tenant_policy('document_passages');
create index document_passages_by_collection on document_passages (collection, document);
create index document_passages_by_lexeme on document_passages using gin (lexemes) with (fastupdate = off);


insert into migrations (version, name, digest, oldest_client)
values (7, 'collections', '06d60626ca1f1a435ca3dc6a62937130c4a400f999c6b93dd1351a686db8c63b', 7);

-- migration 008 files
-- Files that were loaded: what each was when it was last read, and where its chunks lie in it. A chunk is a mention in the
-- session of its file, so that a text which several files have is one node, and is gone when none of them has it.

create table files (
  tenant    text not null,
  owner     text not null,
  path      text not null,
  session   text not null,
  digest    bytea not null,                     -- of its bytes, and of the tags and metadata it was loaded with
  size      bigint not null,                    -- bytes
  front     jsonb not null default '{}',        -- what stands between its --- lines
  loaded_at timestamptz not null,
  primary key (tenant, owner, path)
);
call add_tenant_policy('files');

create table file_chunks (
  tenant     text not null,
  owner      text not null,
  path       text not null,
  ordinal    integer not null,
  mention_id uuid not null,
  starts     integer not null,                  -- text[starts:stops], counted in characters
  stops      integer not null,
  headings   text[] not null,
  primary key (tenant, owner, path, ordinal),
  foreign key (tenant, owner, path) references files (tenant, owner, path) on delete cascade,
  foreign key (tenant, mention_id) references mentions (tenant, id) on delete cascade
);
call add_tenant_policy('file_chunks');
create index file_chunks_by_mention on file_chunks (tenant, mention_id);


insert into migrations (version, name, digest, oldest_client)
values (8, 'files', 'd29d496f811c35ef0e401160433355bcb744e650399cbb8e7e724d61bc1f1936', 8);

-- migration 009 palace
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


insert into migrations (version, name, digest, oldest_client)
values (9, 'palace', '9eb338c4b5fc55d02556532bb04d06e8bf50b8c20a3cd8130568bc2e7c820ca2', 9);

-- functions dropped
-- Functions, views and triggers of earlier versions that no file defines any more, in any order.
--
-- What is removed from a file, or gets other argument types, another return type or other argument names, is dropped here, as
-- `drop function if exists NAME(TYPES);`: "create or replace" would leave the old one beside the new. Dropped is only what
-- no process that may still run calls: see docs/why/upgrades.md. A function whose return type or argument names changed, and
-- which is defined again further on, is dropped and made anew each time.


insert into function_files (name, digest, release) values ('dropped', '66ea258097788e1ec6f91caa0bf4f5de4cd29294a946ae618d44dd9d218f0ae4', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions metadata_filter
-- Metadata filters: one function, self-contained, written as a fragment of a migration.
--
-- `filter` is what htm_core.base.filters.compile_where(...).json gives: {"path": <a strict JSON path>, "values": {...}},
-- or {} (or null) to let everything pass. Any other object lets nothing pass: a filter that was never compiled must
-- not open the door. `metadata` null passes no filter but the empty one.
--
-- One expression, immutable, without settings: PostgreSQL inlines it, and where the filter is a constant (a custom
-- plan) parses the path once per statement and drops the empty filter from the plan altogether. Only operators and
-- functions of pg_catalog are used, by their qualified names, so that no search path changes its meaning.
create or replace function matches(metadata jsonb, filter jsonb) returns boolean
language sql immutable parallel safe
as $$
  select filter is null
      or filter operator(pg_catalog.=) '{}'::pg_catalog.jsonb
      or coalesce(
           pg_catalog.jsonb_path_match(
             metadata,
             (filter operator(pg_catalog.->>) 'path'::pg_catalog.text)::pg_catalog.jsonpath,
             filter operator(pg_catalog.->) 'values'::pg_catalog.text,
             true),
           false)
$$;


insert into function_files (name, digest, release) values ('metadata_filter', 'b4c803c2dcbc967baa75824bd15744704a4966c1717c1ffad8b59ceb4613b37a', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions views
-- Mentions with their words, behind the same wall as the tables.
create or replace view mentions_with_content with (security_invoker = true) as
select m.tenant, m.id, m.node_id, m.owner, m.robot, m.session, m.seq, m.external_id, m.role, m.name, m.at, m.metadata,
       m.payload, m.log_position, m.archived, m.forgotten_at, m.purged, coalesce(n.content, m.content, '') as content
from mentions m left join nodes n on n.tenant = m.tenant and n.id = m.node_id;
grant select on mentions_with_content to htm_app, htm_worker;


insert into function_files (name, digest, release) values ('views', '375fb972af693744689696c9d9a77e8b0132f5a5fb8a1ac297836938898a754f', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions lexemes
-- Texts as lexemes, BM25 weights and text-search queries.

-- The dimension of a lexeme in a sparse vector: 28 bits of its MD5; no dictionary to keep.
create or replace function lexeme_dimension(lexeme text) returns integer language sql immutable strict parallel safe as
$$ select 1 + ('x' || substr(md5(lexeme), 1, 7))::bit(28)::int $$;

create or replace function bm25_weights(words tsvector, length integer, k1 real, b real, average_length real) returns sparsevec
language sql immutable strict parallel safe set search_path from current as $$
  select ('{' || coalesce(string_agg(d || ':' || w, ',' order by d), '') || '}/268435456')::sparsevec
  from (select lexeme_dimension(u.lexeme) d,
               max((k1 + 1) * tf / (tf + k1 * (1 - b + b * length / greatest(average_length, 1))))::real w
        from unnest(words) u, lateral (select coalesce(array_length(u.positions, 1), 1)::float8 as tf) o group by 1) x
$$;

-- The lexemes of a text. What a language calls noise is kept when there is nothing else, so that every text can be found.
-- Where no stemmer is known, the beginnings of words are lexemes, too, so that inflected forms meet.
create or replace function to_lexemes(config regconfig, body text) returns tsvector language plpgsql immutable strict parallel safe as $$
declare words tsvector := to_tsvector(config, body); bare constant text := left(lower(btrim(body)), 200);
begin
  if config = 'pg_catalog.simple'::regconfig then
    words := words || array_to_tsvector(array(
      select distinct left(l, 4) from unnest(tsvector_to_array(words)) l where length(l) > 4 and l !~ '[0-9]'));
  end if;
  if words = ''::tsvector then words := to_tsvector('simple', body); end if;
  if words = ''::tsvector and bare <> '' then words := array_to_tsvector(array[bare]); end if;
  return words;
end $$;

create or replace function with_prefix(words tsvector, prefix text) returns tsvector language sql immutable strict parallel safe as
$$ select coalesce(array_to_tsvector(array_agg(prefix || l)), ''::tsvector) from unnest(tsvector_to_array(words)) l $$;

create or replace function lexeme_count(words tsvector) returns integer language sql immutable strict parallel safe as
$$ select coalesce(sum(coalesce(array_length(positions, 1), 1)), 0)::int from unnest(words) $$;

-- A lexeme as a query writes it.
create or replace function quote_lexeme(lexeme text) returns text language sql immutable parallel safe as
$$ select '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''' $$;

-- A query for any of these lexemes.
create or replace function any_lexeme(lexemes text[]) returns tsquery language sql immutable strict parallel safe as
$$ select string_agg(quote_lexeme(l), '|')::tsquery from unnest(lexemes) l $$;


insert into function_files (name, digest, release) values ('lexemes', '0da109376389d548c9fb59dcd02ff4f027ba3251a1001bbdb18068b304bb7759', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions nodes
-- What is derived of a node from its mentions.

-- A node is live while a mention of it is neither forgotten nor only the old value of a key.
-- Statement by statement, so that each sees what the writers it waited for have committed.
create or replace function refresh_live(ids uuid[]) returns void language plpgsql as $$
declare turned uuid[];
begin
  perform 1 from nodes n where n.tenant = this_tenant() and n.id = any(ids) order by n.id for no key update;
  with wanted as (
    select n.id, n.live as was, exists (
      select 1 from mentions m
      where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null
        and (m.key is null or exists (select 1 from keys k where k.tenant = m.tenant and k.owner = m.owner
                                      and k.key = m.key and k.current and k.node_id = m.node_id))) as live
    from nodes n where n.tenant = this_tenant() and n.id = any(ids)),
  done as (
    update nodes n set live = w.live from wanted w
    where n.tenant = this_tenant() and n.id = w.id and w.live <> w.was returning n.id)
  select array_agg(id) into turned from done;
  if turned is null then return; end if;
  update passages p set live = n.live from nodes n
  where n.tenant = this_tenant() and n.id = any(turned) and p.tenant = n.tenant and p.node_id = n.id;
  update vectors v set live = n.live from nodes n
  where n.tenant = this_tenant() and n.id = any(turned) and v.tenant = n.tenant and v.node_id = n.id;
end $$;

-- Node metadata is that of its mentions merged; the latest wins.
create or replace function refresh_metadata(ids uuid[]) returns void language sql as $$
  update node_state s set metadata = coalesce((
    select jsonb_object_agg(e.key, e.value order by m.at, m.seq) from mentions m, jsonb_each(m.metadata) e
    where m.tenant = s.tenant and m.node_id = s.node_id and m.forgotten_at is null), '{}')
  where s.tenant = this_tenant() and s.node_id = any(ids)
$$;


insert into function_files (name, digest, release) values ('nodes', '8649dc663af7ba508530c6e18505ded31ecaebb34dae0e00b6cbfecff72c46cb', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions models
-- The vector spaces of a tenant's models.

-- The space for a tenant's model, made when its first vector says the dimension; another dimension is refused, and so is a
-- model that the tenant does not have (any more).
create or replace function ensure_vector_space(model text, dims integer) returns integer
language plpgsql security definer set search_path from current as $$
declare taken integer; known integer;
begin
  select m.space, s.dimension into taken, known from models m left join vector_spaces s on s.id = m.space
  where m.tenant = this_tenant() and m.name = model;
  if not found then
    raise exception 'the model % is not one that these memories are embedded with', model using errcode = 'HT001';
  end if;
  if taken is not null then
    if known <> dims then
      raise exception 'the model % has vectors of % dimensions here, got one of %', model, known, dims using errcode = 'HT001';
    end if;
    return taken;
  end if;
  insert into vector_spaces (name, dimension) values (model, dims) on conflict (name, dimension) do nothing;
  select id into taken from vector_spaces where name = model and dimension = dims;
  update models set space = taken where tenant = this_tenant() and name = model and space is null;
  return taken;
end $$;

-- The vector space of the tenant's model; another model than the question's is refused.
create or replace function query_vector_space(model text, meaning halfvec) returns vector_spaces
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare known text; answer vector_spaces;
begin
  select m.name, s.id, s.name, s.dimension, s.indexed into known, answer.id, answer.name, answer.dimension, answer.indexed
  from models m left join vector_spaces s on s.id = m.space where m.tenant = this_tenant() and m.active;
  if known <> model then
    raise exception 'these memories are embedded with %, the question with %', known, model using errcode = 'HT001';
  end if;
  if answer.dimension <> vector_dims(meaning) then
    raise exception 'the stored vectors have % dimensions, the question''s has %', answer.dimension, vector_dims(meaning)
      using errcode = 'HT001';
  end if;
  return answer;
end $$;


insert into function_files (name, digest, release) values ('models', '70626c6c10d23d8d032a261db3da34be5d7c7798478460a59ccb8eaa9987278f', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions filters
-- Which nodes pass the filters of a query.

-- Whether rows of an owner may be seen: of these owners, or of everybody where none are given. The notes of a session belong to
-- that session alone, so that "everybody" does not include them.
create or replace function owner_is_visible(owners text[], owner text) returns boolean language sql immutable parallel safe as
$$ select case when owners is null then not starts_with(owner, 'htm:notes:') else owner = any(owners) end $$;

-- Whether a mention counts for a query: it is not forgotten, and it passes all the filters. Null filters are neutral.
--
-- One expression without settings, so that PostgreSQL inlines it: the plan is that of the conditions written out, and indexes
-- serve them.
create or replace function mention_matches(
  m mentions, owners text[], robots text[], session text, windows tstzmultirange, metadata_equal jsonb, metadata_filter jsonb)
returns boolean language sql stable parallel safe as $$
  select m.forgotten_at is null
     and owner_is_visible(owners, m.owner)
     and (robots is null or m.robot = any(robots))
     and (mention_matches.session is null or m.session = mention_matches.session)
     and (windows is null or m.at <@ windows)
     and (metadata_equal is null or m.metadata @> metadata_equal)
     and (metadata_filter is null or matches(m.metadata, metadata_filter))
$$;

-- Whether there are filters that only mentions can pass.
create or replace function filters_mentions(f filters) returns boolean language sql immutable parallel safe as
$$ select (f).robots is not null or (f).session is not null or (f).windows is not null
          or (f).equal is not null or (f).metadata is not null $$;

-- Whether a node passes: it has all the tags, and one of its mentions passes the rest.
create or replace function node_matches(node uuid, f filters) returns boolean
language plpgsql stable parallel safe set search_path from current as $$
declare me constant text := this_tenant();
begin
  if f.tags is not null and (
    select count(*) from tags t where t.tenant = me and t.node_id = node and t.tag = any(f.tags)
  ) < cardinality(f.tags) then return false; end if;
  return not filters_mentions(f) or exists (
    select 1 from mentions m
    where m.tenant = me and m.node_id = node
      and mention_matches(m, f.owners, f.robots, f.session, f.windows, f.equal, f.metadata));
end $$;

-- The nodes that pass, or null when there are more than `max_nodes`: then the searches check one by one. Whether a node is live,
-- and who owns it, the searches see in their own rows.
create or replace function filtered_nodes(f filters, max_nodes integer) returns uuid[]
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant();
  few constant integer := 1000;
  tagged_nodes uuid[];
  look_in uuid[];                               -- the only nodes whose mentions have to be read; null: all
  found uuid[];
  earliest timestamptz;
  latest timestamptz;
begin
  if f.tags is not null then
    select array_agg(x.node_id) into tagged_nodes from (
      select t.node_id from tags t              -- the other tags are checked here: many nodes may have the first, and none all
      where t.tenant = me and t.tag = f.tags[1] and (cardinality(f.tags) = 1 or cardinality(f.tags) = (
        select count(*) from tags u where u.tenant = me and u.node_id = t.node_id and u.tag = any(f.tags)))
      limit max_nodes + 1) x;
    tagged_nodes := coalesce(tagged_nodes, '{}');
  end if;
  if not filters_mentions(f) then return case when cardinality(tagged_nodes) <= max_nodes then tagged_nodes end; end if;
  if cardinality(tagged_nodes) <= few then look_in := tagged_nodes; end if;
  earliest := coalesce(lower(f.windows), '-infinity'); latest := coalesce(upper(f.windows), 'infinity');
  select array_agg(x.node_id) into found from (
    select m.node_id from mentions m
    where m.tenant = me and m.node_id is not null
      and (look_in is null or m.node_id = any(look_in))
      and mention_matches(m, f.owners, f.robots, f.session, f.windows, f.equal, f.metadata)
      and (f.windows is null or (m.at >= earliest and m.at <= latest))    -- what an index by time can serve
    limit case when look_in is null then max_nodes + 1 end) x;
  if look_in is null and cardinality(found) > max_nodes then return null; end if;
  if f.tags is not null and look_in is null then
    select array_agg(t.node_id) into found from (
      select t.node_id from tags t where t.tenant = me and t.node_id = any(found) and t.tag = any(f.tags)
      group by t.node_id having count(*) = cardinality(f.tags)) t;
  end if;
  return coalesce(found, '{}');
end $$;


insert into function_files (name, digest, release) values ('filters', '45b128fa3c0e0343bb59c1042cacd893e9a4b9237e42deebd061785e733a5dad', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions word_counts
-- Word statistics of a tenant, for the weights of words.

-- Counts a tenant's passages, their mean length and its commoner lexemes, for the weights of words.
create or replace function refresh_lexeme_counts() returns bigint language plpgsql security definer set search_path from current as $$
declare me constant text := this_tenant(); total bigint; mean real; my_prefix text;
begin
  select count(*), avg(length) into total, mean from passages where tenant = me;
  select l.prefix into my_prefix from lexicon l where l.tenant = me;
  delete from lexeme_counts where tenant = me;
  insert into lexeme_counts (tenant, lexeme, documents)
  select me, substr(word, length(my_prefix) + 1), ndoc
  from ts_stat(format('select lexemes from passages where tenant = %L', me)) where ndoc >= 20;
  update lexicon set documents = total, average_length = coalesce(mean, average_length) where tenant = me;
  return total;
end $$;

-- Owes a count to each tenant that has far more passages than when last counted, whoever wrote them. About 200,000 rows
-- are looked at: tenants are drawn at random where all would be more.
create or replace function queue_lexeme_counts() returns bigint language plpgsql security definer set search_path from current as $$
declare owed bigint; tenants constant float8 := (select count(*) from lexicon);
begin
  insert into jobs (tenant, kind)
  select l.tenant, 'count'
  from (select x.tenant, (x.documents * 1.2 + 500)::bigint as enough from lexicon x offset 0) l
  where random() < 200000 / (l.enough * tenants)
    and (select count(*) from (select 1 from passages p where p.tenant = l.tenant limit l.enough + 1) y) > l.enough
  on conflict do nothing;
  get diagnostics owed = row_count;
  return owed;
end $$;


insert into function_files (name, digest, release) values ('word_counts', '045c25bb118ac1ada74287f209551d69596e917ef59be608f999bd707535c45a', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions search
-- The two searches of recall, by vector and by text, and how they go about it.
--
-- Under row-level security PostgreSQL uses neither GIN for @@ nor shows statistics. So the functions that statements call run
-- as the owner (security definer), with a fixed search_path, and take the tenant from the setting, never as an argument.

-- The words of a query as they weigh in this tenant, the rarest first. Null without memories.
create or replace function weigh_query(words text) returns weighted_query
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  few constant integer := 2000;                 -- below so many passages all counts are made now
  rare constant integer := 200;                 -- a lexeme that is not in lexeme_counts is counted up to here
  compared constant integer := 16;              -- so many terms are compared one by one
  lex lexicon; total bigint; answer weighted_query;
begin
  select * into lex from lexicon l where l.tenant = this_tenant();
  if not found then return null; end if;
  total := lex.documents;
  if total < few then
    select greatest(count(*), total) into total from (select 1 from passages p where p.tenant = lex.tenant limit few) x;
  end if;
  with
  -- Each lexeme of the query, and in how many passages it occurs.
  counted as (
    select lexeme, coalesce(
             (select c.documents from lexeme_counts c
              where lex.documents >= few and c.tenant = lex.tenant and c.lexeme = u.lexeme),
             (select count(*) from (
                select 1 from (
                  select p.tenant from passages p where p.lexemes @@ quote_lexeme(lex.prefix || lexeme)::tsquery offset 0) p
                where p.tenant = lex.tenant limit case when lex.documents >= few then rare else few end) x)) as documents
    from unnest(tsvector_to_array(to_lexemes(lex.config, words))) u(lexeme)),
  -- Inverse document frequency as in Lucene: ln(1 + (N - n + 0.5) / (n + 0.5)).
  terms as materialized (
    select c.lexeme, c.documents, lexeme_dimension(c.lexeme) as dimension,
           ln(1 + (greatest(total, c.documents) - c.documents + 0.5::float8) / (c.documents + 0.5::float8)) as idf
    from counted c),
  -- The entries of the sparse vector, the heaviest first.
  entries as (
    select e.dimension || ':' || e.weight as entry, row_number() over (order by e.weight desc, e.dimension) as place
    from (select t.dimension, max(t.idf)::real as weight from terms t group by t.dimension) e),
  vectors as materialized (
    select ('{' || string_agg(e.entry, ',') || '}/268435456')::sparsevec as weights,
           array_agg(('{' || e.entry || '}/268435456')::sparsevec order by e.place) filter (where e.place <= compared) as top_terms
    from entries e)
  select array_agg(lex.prefix || t.lexeme order by t.documents, t.lexeme), array_agg(t.documents order by t.documents, t.lexeme),
         (select v.weights from vectors v), sum(t.idf) * (lex.k1 + 1), (select v.top_terms from vectors v)
    into answer from terms t;
  return answer;
end $$;

-- How the two searches go about it: looking up the nodes that pass the filters, reading all rows of the owners, or following an index.
create or replace function plan_search(f filters, pool integer) returns search_plan
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners;
  few constant integer := 5000;                 -- so many passages are read about as fast as an index is followed
  many constant integer := 20000;               -- so many nodes that pass the filters are gathered before the searches
  plan search_plan; total bigint; messages bigint;
begin
  plan.filtered := f.tags is not null or filters_mentions(f);
  select greatest(l.documents, 1) into total from lexicon l where l.tenant = me;
  if plan.filtered then plan.node_ids := filtered_nodes(f, many); end if;
  -- To look c nodes up costs c. To find them through an index among n, it must be followed for pool * n / c. The cheaper is taken.
  plan.by_node := plan.node_ids is not null and (cardinality(plan.node_ids) <= 1000
                  or cardinality(plan.node_ids)::float8 ^ 2 < pool::float8 * total);
  plan.candidates := greatest(2000, least(8000, 2000 * coalesce(total::float8 / nullif(cardinality(plan.node_ids), 0), 1)))::int;
  plan.exact := not plan.by_node;
  if plan.exact and owners is null then
    plan.exact := total <= 2 * few;
  elsif plan.exact then
    -- Owners with that many messages have more passages than few. Only the passages of others are counted.
    select sum(s.last_seq) into messages from (
      select s.last_seq from sessions s where s.tenant = me and s.owner = any(owners) limit 20) s;
    plan.exact := coalesce(messages, 0) <= 4 * few;
  end if;
  if plan.exact then
    execute 'select count(*) <= $3 from ('
      'select 1 from passages p where p.tenant = $1 and owner_is_visible($2, p.owner) limit $3 + 1) x'
    into plan.exact using me, owners, few;
  end if;
  return plan;
end $$;

-- The nodes whose passages are nearest to the query's vector.
create or replace function vector_search(query_vector halfvec, space vector_spaces, f filters, plan search_plan, pool integer)
returns vector_matches
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners; allowed_nodes constant uuid[] := plan.node_ids;
  check_each constant boolean := plan.filtered and plan.node_ids is null; answer vector_matches;
begin
  if not plan.by_node and not plan.exact and space.indexed then
    -- Only integers of the space's row are formatted: a cast needs a literal dimension, a partial index a literal space.
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(1000, greatest(64, pool * 5 / 3))::text, true);
    execute format(
      'select array_agg(node_id order by distance, node_id), array_agg(passage_id order by distance, node_id), '
      'array_agg(distance order by distance, node_id) from ('
      'select distinct on (node_id) node_id, passage_id, distance from ('
      'select node_id, passage_id, embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) distance from vectors '
      'where space = %2$s and tenant = $2 and live and owner_is_visible($4, owner) '
      'and ($7 is null or (node_id in (select unnest($7))) is true) and (not $6 or node_matches(node_id, $5)) '
      'order by embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) limit $3) near order by node_id, distance) x',
      space.dimension, space.id)
    into answer.nodes, answer.passages, answer.distances using query_vector, me, pool, owners, f, check_each, allowed_nodes;
    if cardinality(answer.nodes) >= pool / 2 then return answer; end if;
    -- Vectors of others, or many passages of one node, were nearer: only the rows of these owners are read, one by one.
  end if;
  select array_agg(x.node_id order by x.distance, x.node_id), array_agg(x.passage_id order by x.distance, x.node_id),
         array_agg(x.distance order by x.distance, x.node_id)
    into answer.nodes, answer.passages, answer.distances from (
    select y.* from (
      select distinct on (v.node_id) v.node_id, v.passage_id, v.embedding <=> query_vector as distance from vectors v
      where v.tenant = me and v.space = space.id and v.live and owner_is_visible(owners, v.owner)
        and (allowed_nodes is null or v.node_id = any(allowed_nodes)) and (not check_each or node_matches(v.node_id, f))
      order by v.node_id, (v.embedding <=> query_vector) + 0) y
    order by y.distance, y.node_id limit pool) x;
  return answer;
end $$;

-- The words that drive the index, as queries to try in turn. The rarest come first, as many as have `candidates` passages
-- together. Where a common word is needed to fill the pool, it first drives only together with another word.
create or replace function driving_queries(query_terms weighted_query, candidates integer, pool integer) returns tsquery[]
language plpgsql immutable set search_path from current as $$
declare rare text; common text; others text; before bigint := 0; through bigint; word text;
begin
  for i in 1 .. cardinality(query_terms.lexemes) loop
    through := before + query_terms.documents[i]; word := quote_lexeme(query_terms.lexemes[i]);
    if through <= candidates then rare := concat_ws('|', rare, word);
    elsif before < pool then common := concat_ws('|', common, word);
    else others := concat_ws('|', others, word);
    end if;
    before := through;
  end loop;
  if common is null then return array[rare::tsquery]; end if;
  if others is null then return array[concat_ws('|', rare, common)::tsquery]; end if;
  return array[concat_ws('|', rare, '(' || common || ')&(' || others || ')')::tsquery, concat_ws('|', rare, common)::tsquery];
end $$;

-- The nodes whose passages have the words of the query, the best first.
create or replace function text_search(query_terms weighted_query, f filters, plan search_plan, pool integer) returns uuid[]
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners; allowed_nodes constant uuid[] := plan.node_ids;
  check_each constant boolean := plan.filtered and plan.node_ids is null;
  query_weights constant sparsevec := query_terms.weights;
  max_passages constant integer := case when check_each then null else 4 * pool end;
  found uuid[]; passages_read bigint; driving tsquery;
begin
  if plan.by_node or plan.exact then
    -- Planned for this query: it may look few nodes up, or read few rows of the owners.
    execute 'select array_agg(x.node_id order by x.distance, x.node_id) from ('
      'select p.node_id, min(p.weights <#> $1) distance from passages p '
      'where p.tenant = $2 and owner_is_visible($4, p.owner) and p.live and p.lexemes @@ $3 '
      'and ($5 is null or p.node_id = any($5)) and (not $6 or node_matches(p.node_id, $7)) '
      'group by p.node_id order by 2, 1 limit $8) x'
    into found using query_weights, me, any_lexeme(query_terms.lexemes), owners, allowed_nodes, check_each, f, pool;
    return found;
  end if;
  foreach driving in array driving_queries(query_terms, plan.candidates, pool) loop
    for round in 1 .. 2 loop
      with
      -- The best passages. All words score. The lexemes carry the tenant's prefix and stand in a subquery of their own, so that
      -- no other index is taken.
      near as (
        select p.node_id, p.weights <#> query_weights as distance from (
          select q.tenant, q.node_id, q.owner, q.live, q.weights from passages q where q.lexemes @@ driving offset 0) p
        where p.tenant = me and p.live and owner_is_visible(owners, p.owner)
          and (allowed_nodes is null or p.node_id in (select unnest(allowed_nodes)))
        order by distance limit case when round = 1 then max_passages end),
      -- Their nodes. Filters that are checked one by one are checked from the best on.
      best as (
        select b.node_id, b.distance from (
          select n.node_id, min(n.distance) as distance from near n group by n.node_id order by 2, 1 offset 0) b
        where not check_each or node_matches(b.node_id, f) limit pool)
      select array_agg(b.node_id order by b.distance, b.node_id), (select count(*) from near) into found, passages_read from best b;
      exit when cardinality(found) >= pool / 2 or passages_read < max_passages or max_passages is null;
      -- Many passages of one node took the places: the second round has no limit.
    end loop;
    exit when cardinality(found) >= pool / 2;
  end loop;
  return found;
end $$;


insert into function_files (name, digest, release) values ('search', 'c2aa4a77e3d2d8175d45c24bb5c3cad0231b1232a149f7492996ebf6a016e891', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions signals
-- Signals: what says, beside the two searches, that a memory answers a query.

-- Which of these forms of a name a speaker has, as a whole or as the first part of it; the longest first.
create or replace function matching_speakers(forms text[], f filters) returns text[]
language plpgsql stable security definer set search_path from current
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare me constant text := this_tenant(); owners constant text[] := f.owners; known text[];
begin
  if not exists (select 1 from mentions m where m.tenant = me and m.name is not null) then return '{}'; end if;
  select array_agg(form order by length(form) desc, form) into known from unnest(forms) form
  where exists (
    select 1 from mentions m
    where m.tenant = me and m.name is not null and m.forgotten_at is null
      and m.name collate "C" >= form and m.name collate "C" < form || '!'      -- "!" comes right after the space
      and owner_is_visible(owners, m.owner));
  return coalesce(known, '{}');
end $$;

-- Days between a moment and the nearest of some windows of time; 0 within one.
create or replace function days_outside(at timestamptz, windows tstzmultirange) returns float8
language sql immutable strict parallel safe as $$
  select extract(epoch from min(case when at < lower(w) then lower(w) - at when at >= upper(w) then at - upper(w)
                                     else interval '0' end)) / 86400
  from unnest(windows) w
$$;

-- How much a text of so many words takes from what stands around it, and gives to it: short texts all, long ones little.
create or replace function context_share(length bigint) returns float8 language sql immutable strict parallel safe as $$
  select 1 / (1 + power(length / 50.0::float8, 4))
$$;

-- The share of a query that words cover, when a single word may be there by chance: the heaviest word counts, up to three tenths,
-- only when other words corroborate it. `weight` from 0 to 1 says how strictly.
create or replace function corroborated_coverage(covered float8, heaviest float8, weight float8) returns float8
language sql immutable parallel safe as $$
  select coalesce(greatest(0, least(1, covered) - 0.999 * weight * least(0.3, heaviest))
                  / (1 - 0.999 * weight * least(0.3, heaviest)), 0)
$$;


insert into function_files (name, digest, release) values ('signals', '1e464482773ff67ed7badd97b1c855683eacaa0d3e706a343302b2859f352ddc', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions recall
-- Recall: the hits for a query, with all that a hit shows, in one round trip.
--
-- The vector search and the text search bring `pool` candidates each. Each candidate is scored by both, and the signals add to the
-- score of the best. A score does not depend on what else was found, so that scores compare between queries: a cosine counts in full
-- from 0.8, words count against the best score that any passage could have for this query.
--
-- `words` is what words are found by, `embedding` the vector; either may be null. `vector_share` is the weight of the vector beside
-- the words. `speakers` and `moments` are the speakers and the times that the query names. The parts of a hit add up to its score,
-- which is in [0, 1]: (vector + text + context + tags + sum of weight * signal) / (1 + sum of weights), over the signals that this
-- query can have.
create or replace function recall(
  words text, embedding halfvec, model text, f filters, pool integer, max_hits integer, vector_share float8, min_score float8,
  speakers text[], moments tstzmultirange, signals signal_weights)
returns table (
  id uuid, score float8, vector_rank bigint, text_rank bigint, vector_part float8, text_part float8, context_part float8,
  tags_part float8, session_part float8, speaker_part float8, time_part float8, prior_part float8, content text, tokens integer,
  created_at timestamptz, owner text, importance float8, metadata jsonb, access_count bigint, accessed_at timestamptz,
  passage text, tags text[], keys text[], version integer, mentions jsonb)
language plpgsql stable security definer rows 10 set search_path from current
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  me constant text := this_tenant();
  query_vector constant halfvec := embedding;
  filtered constant boolean := f.tags is not null or filters_mentions(f);
  owners constant text[] := f.owners;
  robots constant text[] := f.robots;
  only_session constant text := f.session;
  windows constant tstzmultirange := f.windows;
  metadata_equal constant jsonb := f.equal;
  metadata_filter constant jsonb := f.metadata;
  one_speaker constant text := case when cardinality(speakers) = 1 then speakers[1] end;
  kept constant integer := greatest(pool, max_hits);            -- so many candidates of both searches go on
  with_context constant integer := greatest(20, max_hits);      -- and for so many of them, what was said around them is read
  total_weight constant float8 := 1 + signals.session + case when one_speaker is not null then signals.speaker else 0 end
                                  + case when moments is not null then signals.time else 0 end + signals.prior;
  vector_weight float8 := vector_share;
  space vector_spaces;
  space_id integer;
  plan search_plan;
  allowed_nodes uuid[];
  query_terms weighted_query;
  query_weights sparsevec;
  best_score float8;
  top_terms sparsevec[];
  vector_hits vector_matches;
  text_hits uuid[];
  lex lexicon;
  tag_patterns text[];
begin
  if query_vector is not null then space := query_vector_space(model, query_vector); space_id := space.id; end if;
  if words is not null then query_terms := weigh_query(words); query_weights := query_terms.weights; end if;
  if space_id is null then vector_weight := 0; elsif query_weights is null then vector_weight := 1; end if;
  best_score := nullif(query_terms.best_score, 0);
  top_terms := query_terms.top_terms;
  if signals.tags > 0 and query_weights is not null and exists (select 1 from tags t where t.tenant = me) then
    select * into lex from lexicon l where l.tenant = me;
    -- A tag in which no word begins like a word of the query is left out before it is cut into lexemes: most are.
    tag_patterns := array(select '%' || substr(l, length(lex.prefix) + 1, 3) || '%' from unnest(query_terms.lexemes) l);
  end if;
  plan := plan_search(f, pool);
  allowed_nodes := plan.node_ids;
  if space_id is not null then vector_hits := vector_search(query_vector, space, f, plan, pool); end if;
  if query_weights is not null then text_hits := text_search(query_terms, f, plan, pool); end if;
  return query
  with
  -- The nodes that either search found, with their rank there, and the passage that was nearest to the vector.
  candidates as (
    select coalesce(v.node_id, t.node_id) as node_id, v.rank as vector_rank, t.rank as text_rank, v.passage_id, v.distance
    from unnest(vector_hits.nodes, vector_hits.passages, vector_hits.distances)
         with ordinality v(node_id, passage_id, distance, rank)
    full join unnest(text_hits) with ordinality t(node_id, rank) on t.node_id = v.node_id),
  -- Every passage of the candidates, scored by its vector and by its words, each in [0, 1].
  candidate_passages as (
    select c.node_id, c.vector_rank, c.text_rank, p.id as passage_id, p.weights, w.text_score,
           case when p.id is distinct from c.passage_id and v.distance is null
                then w.text_score               -- it still waits for its vector: its words count for both
                else coalesce(least(1, greatest(0, 1 - nullif(coalesce(v.distance, c.distance), 'NaN')) / 0.8), 0)  -- NaN: a vector of zeroes
           end as vector_score,
           sum(p.length) over (partition by c.node_id) as node_length
    from candidates c, lateral (
      select q.id, q.weights, q.length from passages q where q.tenant = me and q.node_id = c.node_id offset 0) p
    left join lateral (
      select e.embedding <=> query_vector as distance from vectors e
      where e.tenant = me and e.space = space_id and e.passage_id = p.id and p.id is distinct from c.passage_id offset 0) v on true
    cross join lateral (
      select coalesce(greatest(0, least(1, -(p.weights <#> query_weights) / best_score)), 0) as text_score) w),
  -- Each candidate with the best of its passages, and its place among all.
  ranked_candidates as materialized (
    select b.*, row_number() over (order by b.fused_score desc, b.node_id) as place from (
      select distinct on (p.node_id) p.*,
             vector_weight * p.vector_score + (1 - vector_weight) * p.text_score as fused_score
      from candidate_passages p
      order by p.node_id, vector_weight * p.vector_score + (1 - vector_weight) * p.text_score desc, p.passage_id) b
    where b.fused_score > 0),
  -- Where the candidates were said: their latest mentions that pass the filters.
  candidate_mentions as materialized (
    select r.node_id, r.place, m.id, m.owner, m.session, m.seq, m.name, m.at, m.in_conversation
    from ranked_candidates r, lateral (
      select m.id, m.owner, m.session, m.seq, m.name, m.at,
             m.role is not null or m.name is not null or m.session <> '' as in_conversation
      from mentions m
      where m.tenant = me and m.node_id = r.node_id
        and mention_matches(m, owners, robots, only_session, windows, metadata_equal, metadata_filter)
      order by m.at desc limit 3) m
    where r.place <= kept),
  -- What was said up to two messages before and after the best of them.
  neighbours as (
    select n.* from candidate_mentions c, lateral (
      select m.node_id, m.id, m.owner, m.session, m.seq, m.name, m.at from mentions m
      where m.tenant = me and m.owner = c.owner and m.session = c.session and m.seq between c.seq - 2 and c.seq + 2
        and m.forgotten_at is null and m.node_id is not null and m.id <> c.id
        and (m.role is not null or m.name is not null or m.session <> '') offset 0) n
    where c.place <= with_context and c.in_conversation and signals.context > 0 and top_terms is not null),
  -- Both, each mention once.
  considered as materialized (
    select distinct on (s.id) s.* from (
      select c.node_id, c.id, c.owner, c.session, c.seq, c.name, c.at, c.in_conversation, true as is_candidate
      from candidate_mentions c
      union all
      select n.node_id, n.id, n.owner, n.session, n.seq, n.name, n.at, true, false from neighbours n) s
    order by s.id, s.is_candidate desc),
  -- Nodes that neither search found, but that stand beside a candidate.
  neighbour_nodes as (
    select distinct c.node_id from considered c
    where not c.is_candidate and not exists (select 1 from ranked_candidates r where r.node_id = c.node_id)),
  -- Their passages, scored like those of candidates.
  neighbour_passages as (
    select n.node_id, p.id as passage_id, p.weights,
           coalesce(least(1, greatest(0, 1 - nullif(v.distance, 'NaN')) / 0.8), 0) as vector_score,
           coalesce(least(1, -(p.weights <#> query_weights) / best_score), 0) as text_score,
           sum(p.length) over (partition by n.node_id) as node_length
    from neighbour_nodes n, lateral (
      select q.id, q.weights, q.length from passages q where q.tenant = me and q.node_id = n.node_id and q.live offset 0) p
    left join lateral (
      select e.embedding <=> query_vector as distance from vectors e
      where e.tenant = me and e.space = space_id and e.passage_id = p.id offset 0) v on true),
  -- Each node with the best of its passages, and how much it takes from and gives to what stands around it.
  best_passages as materialized (
    select r.node_id, r.passage_id, r.vector_rank, r.text_rank, r.vector_score, r.text_score, r.weights,
           context_share(r.node_length) as context_share, true as was_found
    from ranked_candidates r
    where r.node_id in (select c.node_id from considered c)
    union all
    select b.* from (
      select distinct on (p.node_id) p.node_id, p.passage_id, null::bigint, null::bigint, p.vector_score, p.text_score, p.weights,
             context_share(p.node_length), false
      from neighbour_passages p
      order by p.node_id, vector_weight * p.vector_score + (1 - vector_weight) * p.text_score desc, p.passage_id) b),
  -- How much each of the query's heaviest terms counts in the best passage of each node, as a share of the best score.
  node_terms as materialized (
    select b.node_id, b.context_share, t.term, -(b.weights <#> t.vector) / best_score as weight
    from best_passages b, unnest(top_terms) with ordinality t(vector, term)
    where b.text_score > 0 and b.weights <#> t.vector < 0),
  -- How much of the query the words of a node cover.
  node_coverage as (
    select t.node_id, corroborated_coverage(sum(t.weight), max(t.weight), signals.corroboration) as covered
    from node_terms t group by 1),
  -- The terms at each position of a conversation: as said there, and as said up to two messages before or one after, a little lower.
  position_terms as (
    select c.owner, c.session, c.seq + o.distance as seq, t.term,
           max(t.weight) filter (where o.distance = 0) as own_weight,
           max(t.weight * o.loudness * t.context_share) filter (where o.distance <> 0) as nearby_weight
    from considered c join node_terms t on t.node_id = c.node_id,
         (values (0, 1.0::float8), (1, 0.9), (2, 0.8), (-1, 0.7)) o(distance, loudness)
    where c.in_conversation and signals.context > 0 group by 1, 2, 3, 4),
  -- The terms of each mention, with what stands around it.
  mention_terms as materialized (
    select c.id, t.term, greatest(t.own_weight, signals.context * b.context_share * t.nearby_weight) as weight
    from considered c join best_passages b on b.node_id = c.node_id
    join position_terms t on t.owner = c.owner and t.session = c.session and t.seq = c.seq
    where c.in_conversation),
  -- How much of the query a mention covers together with what stands around it.
  context_coverage as (
    select t.id, corroborated_coverage(sum(t.weight), max(t.weight), signals.corroboration) as covered
    from mention_terms t group by 1),
  -- The words of the query as they stand in tags, with the term and the weight of each.
  query_words as materialized (
    select w.word, t.term, -(t.vector <#> w.vector) / best_score as weight
    from (select word, ('{' || lexeme_dimension(word) || ':1}/268435456')::sparsevec as vector
          from unnest(query_terms.lexemes) lexeme, substr(lexeme, length(lex.prefix) + 1) word) w,
         unnest(top_terms) with ordinality t(vector, term)
    where tag_patterns is not null and t.vector <#> w.vector < 0),
  -- The query's terms in the tags of the best candidates: tags say what a text is about, and count lower than its own words.
  tag_terms as materialized (
    select c.id, c.node_id, w.term, signals.tags * w.weight as weight
    from ranked_candidates r
    cross join lateral (
      select string_agg(translate(t.tag, ':-_', '   '), ' ') as text from tags t
      where t.tenant = me and t.node_id = r.node_id and t.explicit and t.tag like any(tag_patterns) offset 0) tag
    cross join lateral unnest(to_tsvector(lex.config, tag.text)) u
    join query_words w on w.word = u.lexeme join considered c on c.node_id = r.node_id
    where tag_patterns is not null and r.place <= with_context),
  -- How much of the query a mention covers together with its surroundings and the tags of its node.
  tag_coverage as (
    select best.id, corroborated_coverage(sum(best.weight), max(best.weight), signals.corroboration) as covered from (
      select a.id, a.term, max(a.weight) as weight from (
        select t.id, t.term, t.weight from tag_terms t
        union all
        select t.id, n.term, n.weight from (select distinct t.id, t.node_id from tag_terms t) t
        join node_terms n on n.node_id = t.node_id
        union all
        select m.id, m.term, m.weight from mention_terms m where m.id in (select t.id from tag_terms t)) a
      where a.weight > 0 group by 1, 2) best
    where tag_patterns is not null group by 1),
  -- Each mention with the parts of its score that come from the vector, its words, what stands around it, and its tags.
  mention_parts as materialized (
    select c.*, b.passage_id, b.vector_rank, b.text_rank, b.was_found, vector_weight * b.vector_score as vector_part,
           (1 - vector_weight) * coalesce(n.covered, 0) as text_part,
           (1 - vector_weight) * greatest(0, coalesce(x.covered, 0) - coalesce(n.covered, 0)) as context_part,
           (1 - vector_weight) * greatest(0, coalesce(t.covered, 0) - greatest(x.covered, n.covered, 0)) as tags_part
    from considered c join best_passages b on b.node_id = c.node_id
    left join node_coverage n on n.node_id = c.node_id
    left join context_coverage x on x.id = c.id
    left join tag_coverage t on t.id = c.id),
  -- How well a session answers: the mean of its two best mentions.
  session_scores as (
    select m.owner, m.session, avg(m.vector_part + m.text_part + m.context_part + m.tags_part) as score from (
      select p.*, row_number() over (
               partition by p.owner, p.session order by p.vector_part + p.text_part + p.context_part + p.tags_part desc) as place
      from mention_parts p where p.session <> '' and signals.session > 0) m
    where m.place <= 2 group by 1, 2),
  -- Each mention with the parts of its session, its speaker and its time.
  mention_signals as (
    select p.*,
           signals.session * coalesce(
             s.score * sqrt(least(1, (p.vector_part + p.text_part + p.context_part + p.tags_part) / nullif(s.score, 0))),
             p.vector_part + p.text_part + p.context_part + p.tags_part) as session_part,
           case when p.name = one_speaker or starts_with(p.name, one_speaker || ' ') then signals.speaker else 0 end as speaker_part,
           case when moments is not null then signals.time * exp(-days_outside(p.at, moments) / 7) else 0 end as time_part
    from mention_parts p left join session_scores s on s.owner = p.owner and s.session = p.session),
  -- Each node by the best of its mentions.
  best_mentions as (
    select distinct on (m.node_id) m.* from mention_signals m
    order by m.node_id, m.vector_part + m.text_part + m.context_part + m.tags_part + m.session_part + m.speaker_part + m.time_part desc,
             m.at desc),
  -- With what is known of the node whatever the query: its importance and its use. Neighbours must pass the filters, too.
  node_parts as (
    select b.*, signals.prior * coalesce((
             select 0.05 * n.importance + 0.5 * least(1, ln(1 + n.access_count) / ln(101)) from node_state n
             where signals.prior > 0 and n.tenant = me and n.node_id = b.node_id), 0) as prior_part
    from best_mentions b where b.was_found or not filtered
       or case when allowed_nodes is null then node_matches(b.node_id, f)
               else b.node_id in (select unnest(allowed_nodes)) end offset 0),
  -- The best of them.
  hits as materialized (
    select s.* from (
      select p.*, (p.vector_part + p.text_part + p.context_part + p.tags_part + p.session_part + p.speaker_part + p.time_part
                   + p.prior_part) / total_weight as score
      from node_parts p) s
    where s.score > 0 and s.score >= min_score order by s.score desc, s.node_id limit max_hits)
  select h.node_id, h.score, h.vector_rank, h.text_rank, h.vector_part / total_weight, h.text_part / total_weight,
         h.context_part / total_weight, h.tags_part / total_weight, h.session_part / total_weight, h.speaker_part / total_weight,
         h.time_part / total_weight, h.prior_part / total_weight,
         n.content, n.tokens, n.created_at, n.owner, s.importance, s.metadata, s.access_count, s.accessed_at,
         (select coalesce(p.body, nullif(substr(n.content, p.starts + 1, p.stops - p.starts), '')) from passages p
          where p.tenant = me and p.id = h.passage_id),
         coalesce((select array_agg(t.tag order by t.tag) from tags t
                   where t.tenant = me and t.node_id = h.node_id and t.explicit), '{}'),
         coalesce(k.names, '{}'), k.version,
         (select coalesce(jsonb_agg(jsonb_build_object(
                   'id', m.id, 'robot', m.robot, 'session', m.session, 'role', m.role, 'name', m.name, 'seq', m.seq, 'at', m.at,
                   'metadata', m.metadata, 'payload', encode(m.payload, 'base64')) order by m.at desc, m.seq desc), '[]')
          from (
            select m.* from mentions m
            where m.tenant = me and m.node_id = h.node_id
              and mention_matches(m, owners, robots, only_session, windows, metadata_equal, metadata_filter)
            order by m.at desc, m.seq desc limit 20) m)
  from hits h
  cross join lateral (
    select n.content, n.tokens, n.created_at, n.owner from nodes n where n.tenant = me and n.id = h.node_id offset 0) n
  cross join lateral (
    select s.importance, s.metadata, s.access_count, s.accessed_at from node_state s
    where s.tenant = me and s.node_id = h.node_id offset 0) s
  cross join lateral (
    select array_agg(k.key order by k.key) as names, max(k.version) as version from keys k
    where k.tenant = me and k.node_id = h.node_id and k.current) k
  order by h.score desc, h.node_id;
end $$;


insert into function_files (name, digest, release) values ('recall', '9881eb1c70efdbf8e1b96cc84f0534cdbd90c217d19bfc77c6094eaf398704c7', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions working_memory
-- Changes of working sets.

-- Takes nodes out of every set but one, each set a version on. All writers lock nodes first and then sets in order.
create or replace function evict_from_all_sets(ids uuid[], besides uuid) returns void language plpgsql as $$
declare one uuid; reached bigint;
begin
  for one in
    select s.id from working_sets s
    where s.tenant = this_tenant() and s.id is distinct from besides
      and s.id in (select w.set_id from working_items w
                   where w.tenant = this_tenant() and w.node_id = any(ids) and w.evicted_at is null)
    order by s.id for no key update
  loop
    update working_sets s set version = s.version + 1 where s.tenant = this_tenant() and s.id = one
    returning s.version into reached;
    update working_items w set evicted_at = now(), policy = null, score = null, version = reached
    where w.tenant = this_tenant() and w.set_id = one and w.node_id = any(ids) and w.evicted_at is null;
  end loop;
end $$;

-- Says to all who hold these nodes, or have held them, that rows are about to be deleted.
create or replace function mark_sets_pruned(ids uuid[]) returns void language plpgsql as $$
begin
  perform 1 from working_sets s
  where s.tenant = this_tenant()
    and s.id in (select w.set_id from working_items w where w.tenant = this_tenant() and w.node_id = any(ids))
  order by s.id for no key update;
  update working_sets s set version = s.version + 1, pruned = s.version + 1
  where s.tenant = this_tenant()
    and s.id in (select w.set_id from working_items w where w.tenant = this_tenant() and w.node_id = any(ids));
end $$;

-- Writes down one change of a set: who left and came, and nodes that are no longer live, which leave every set.
--
-- Answers with the version that it made, and with those who were forgotten meanwhile and did not come; with nothing where
-- `expected` is given and the set has moved on from it.
create or replace function change_working_set(of_owner text, is_shared boolean, of_holder text, of_session text, expected bigint,
                           gone uuid[], scores float8[], gone_at timestamptz, by_policy text,
                           came uuid[], added timestamptz[], accessed timestamptz[], counts bigint[], dead uuid[])
returns table (set_id uuid, reached bigint, refused uuid[]) language plpgsql as $$
#variable_conflict use_column
declare mine uuid; made bigint;
begin
  perform 1 from nodes n where n.tenant = this_tenant() and n.id = any(came) order by n.id for share;
  if cardinality(dead) > 0 then  -- all of the sets' locks at once, in order
    perform 1 from working_sets s
    where s.tenant = this_tenant()
      and ((s.owner, s.shared, s.holder, s.session) = (of_owner, is_shared, of_holder, of_session)
           or s.id in (select w.set_id from working_items w
                       where w.tenant = this_tenant() and w.node_id = any(dead) and w.evicted_at is null))
    order by s.id for no key update;
  end if;
  if expected is null then
    insert into working_sets as s (tenant, owner, shared, holder, session)
    values (this_tenant(), of_owner, is_shared, of_holder, of_session)
    on conflict (tenant, owner, shared, holder, session) do update set version = s.version + 1
    returning s.id, s.version into mine, made;
  else
    update working_sets s set version = s.version + 1
    where s.tenant = this_tenant() and (s.owner, s.shared, s.holder, s.session) = (of_owner, is_shared, of_holder, of_session)
      and s.version = expected
    returning s.id, s.version into mine, made;
    if mine is null then return; end if;
  end if;
  update working_items w set evicted_at = gone_at, policy = by_policy, score = d.score, version = made
  from unnest(gone, scores) as d(id, score)
  where w.tenant = this_tenant() and w.set_id = mine and w.node_id = d.id and w.evicted_at is null;
  -- After the evictions: what left and came back within one plan is held. What was forgotten meanwhile is not.
  insert into working_items as w (tenant, set_id, node_id, version, added_at, accessed_at, access_count)
  select this_tenant(), mine, d.id, made, d.added_at, d.accessed_at, d.access_count
  from unnest(came, added, accessed, counts) as d(id, added_at, accessed_at, access_count)
  join nodes n on n.tenant = this_tenant() and n.id = d.id and n.live
  on conflict (tenant, set_id, node_id) do update
  set added_at = case when w.evicted_at is null then w.added_at else excluded.added_at end,
      accessed_at = greatest(w.accessed_at, excluded.accessed_at),
      access_count = greatest(w.access_count, case when w.evicted_at is null then w.access_count else excluded.access_count end),
      evicted_at = null, policy = null, score = null, version = made;
  if cardinality(dead) > 0 then
    update working_items w set evicted_at = now(), policy = null, score = null, version = made
    where w.tenant = this_tenant() and w.set_id = mine and w.node_id = any(dead) and w.evicted_at is null;
    perform evict_from_all_sets(dead, mine);
  end if;
  return query select mine, made, array(
    select d.id from unnest(came) as d(id)
    where not exists (select 1 from nodes n where n.tenant = this_tenant() and n.id = d.id and n.live));
end $$;

-- Adds to the access counts of what a set holds, and answers with what they are now; with nothing where it holds none of it.
create or replace function count_accesses(of_owner text, is_shared boolean, of_holder text, of_session text,
                          ids uuid[], times bigint[], ats timestamptz[])
returns table (set_id uuid, reached bigint, node uuid, count bigint, at timestamptz) language plpgsql as $$
#variable_conflict use_column
declare mine uuid; made bigint;
begin
  update working_sets s set version = s.version + 1
  where s.tenant = this_tenant() and (s.owner, s.shared, s.holder, s.session) = (of_owner, is_shared, of_holder, of_session)
    and exists (select 1 from working_items w where w.tenant = s.tenant and w.set_id = s.id and w.node_id = any(ids)
                and w.evicted_at is null)
  returning s.id, s.version into mine, made;
  if mine is null then return; end if;
  return query
    update working_items w
    set access_count = w.access_count + d.times, accessed_at = greatest(w.accessed_at, d.at), version = made
    from unnest(ids, times, ats) as d(id, times, at)
    where w.tenant = this_tenant() and w.set_id = mine and w.node_id = d.id and w.evicted_at is null
    returning mine, made, w.node_id, w.access_count, w.accessed_at;
end $$;


insert into function_files (name, digest, release) values ('working_memory', 'fbd7c4654ffbd52ec576225e7c82fb9918eb4735c96f0bd706d307ebc8d02ddb', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions groups
-- Groups: who is late, who takes over, and the notification of changes.

-- A member's heart beats four times in a lease; who has missed three beats is late. While the server was away nobody could
-- beat, so after its start everybody has the time anew.
create or replace function seconds_until_late(heartbeat timestamptz, lease double precision) returns double precision language sql volatile as $$
  select extract(epoch from greatest(heartbeat, pg_postmaster_start_time()) - clock_timestamp())::float8 + 0.75 * lease
$$;

-- The same of a member: one for whom no process speaks is late.
create or replace function member_seconds_until_late(member group_members, lease double precision) returns double precision language sql volatile as $$
  select case when member.instance is null then 0 else seconds_until_late(member.heartbeat_at, lease) end
$$;

-- Puts a live passive member in the place of each active one that is late, and names those who are active now.
-- Under the lock of the group's row, so that whoever comes second finds that it is done.
create or replace function elect_active_members(of_group text) returns setof text language plpgsql as $$
declare rules groups; lost text; chosen text;
begin
  select * into rules from groups g where g.tenant = this_tenant() and g.name = of_group for update;
  loop
    select m.robot into lost from group_members m
    where m.tenant = rules.tenant and m.group_name = rules.name and m.role = 'active' and member_seconds_until_late(m, rules.lease) <= 0
    order by m.heartbeat_at, m.robot limit 1;
    select m.robot into chosen from group_members m
    where m.tenant = rules.tenant and m.group_name = rules.name and m.role = 'passive' and member_seconds_until_late(m, rules.lease) > 0
    order by m.joined_at, m.robot limit 1;
    exit when lost is null or chosen is null;
    update group_members m set role = case when m.robot = chosen then 'active' else 'passive' end
    where m.tenant = rules.tenant and m.group_name = rules.name and m.robot in (lost, chosen);
    update groups g set term = g.term + 1 where g.tenant = rules.tenant and g.name = rules.name;
    return next chosen;
  end loop;
end $$;

-- Tells of a change at its commit, by an id that says nothing to anyone else. A hint: the tables are the truth.
create or replace function notify_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('htm_' || tg_table_schema, coalesce(new.id, old.id)::text);
  return null;
end $$;


insert into function_files (name, digest, release) values ('groups', '1f82cb6c3997d4b5cebfbc3e9f66115267a1a48335f82ee328eeca065255cebe', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions relations
-- Facts follow the nodes that they were taken from.

-- A fact is hidden and shown with its source; what its owner hid stays hidden.
create or replace function hide_or_show_facts() returns trigger language plpgsql set search_path from current as $$
declare touched uuid[]; hidden_at timestamptz;
begin
  if new.live then
    with shown as (
      update mentions m set forgotten_at = null, forgotten_by = null
      where m.tenant = new.tenant and m.source_id = new.id and m.forgotten_by = '' and not m.purged returning m.node_id)
    select array_agg(node_id order by node_id) into touched from shown where node_id is not null;
  else
    -- The moment of its source, so that both are purged together.
    select max(m.forgotten_at) into hidden_at from mentions m where m.tenant = new.tenant and m.node_id = new.id;
    with hidden as (
      update mentions m set forgotten_at = coalesce(hidden_at, now()), forgotten_by = ''
      where m.tenant = new.tenant and m.source_id = new.id and m.forgotten_at is null returning m.node_id)
    select array_agg(node_id order by node_id) into touched from hidden where node_id is not null;
  end if;
  if touched is null then return null; end if;
  perform refresh_live(touched), refresh_metadata(touched);
  perform evict_from_all_sets(array(
    select n.id from nodes n where n.tenant = new.tenant and n.id = any(touched) and not n.live), null);
  return null;
end $$;

-- A fact goes with its source, unless somebody said it as well.
create or replace function delete_facts() returns trigger language plpgsql set search_path from current as $$
declare touched uuid[];
begin
  with taken as (
    select m.id, m.node_id from mentions m where m.tenant = old.tenant and m.source_id = old.id and m.node_id is not null),
  emptied as (
    update mentions m set node_id = null, content = null, payload = null, metadata = '{}', name = null, external_id = null,
           key = null, log_position = null, purged = true, forgotten_at = coalesce(m.forgotten_at, now())
    from taken t where m.tenant = old.tenant and m.id = t.id)
  select array_agg(distinct node_id order by node_id) into touched from taken;
  if touched is null then return null; end if;
  perform mark_sets_pruned(touched);
  delete from nodes n where n.tenant = old.tenant and n.id = any(touched)
    and not exists (select 1 from mentions m where m.tenant = n.tenant and m.node_id = n.id);
  perform refresh_live(touched), refresh_metadata(touched);
  perform evict_from_all_sets(array(
    select n.id from nodes n where n.tenant = old.tenant and n.id = any(touched) and not n.live), null);
  return null;
end $$;


insert into function_files (name, digest, release) values ('relations', '1142a2cbe62eaff41b360ad43669354fa584d677e92dbefb78f188c494a2f9f4', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions places
-- What is purged leaves its place, and the audit keeps that there was a decision, not its words.
create or replace function clear_purged_place() returns trigger language plpgsql set search_path from current as $$
begin
  delete from places p where p.tenant = new.tenant and p.mention_id = new.id;
  update decisions d set summary = '', reason = '', against = '[]'
  where d.tenant = new.tenant and (d.mention_id = new.id or d.note_id = new.id);
  return null;
end $$;


insert into function_files (name, digest, release) values ('places', '8231e5c3d898fa56b2359857e716c45e5458f00c9dabfd140aee9fa12feb91e5', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions collections
-- Collections: documents and their search.

-- A tenant's collection by its name, made when it is new. With a model, that of its first vectors becomes the collection's
-- for good; the caller compares. The row stays locked against clearing until the transaction ends.
create or replace function ensure_collection(collection_name text, language regconfig, model text, dims integer) returns collections
language plpgsql security definer set search_path from current as $$
declare me constant text := this_tenant(); wanted integer; taken collections;
begin
  if not exists (select 1 from collections c where c.tenant = me and c.name = collection_name) then
    insert into tenants (tenant) values (me) on conflict do nothing;
    insert into collections (tenant, name, config)
    values (me, collection_name, coalesce((select l.config from lexicon l where l.tenant = me), language))
    on conflict do nothing;
  end if;
  if model is not null then
    select s.id into wanted from vector_spaces s where s.name = model and s.dimension = dims;
    if wanted is null then
      insert into vector_spaces (name, dimension) values (model, dims) on conflict (name, dimension) do nothing;
      select s.id into wanted from vector_spaces s where s.name = model and s.dimension = dims;
    end if;
  end if;
  loop
    if model is not null then
      update collections c set space = wanted where c.tenant = me and c.name = collection_name and c.space is null;
    end if;
    select * into taken from collections c where c.tenant = me and c.name = collection_name for share;
    exit when model is null or taken.space is not null;     -- else it was cleared in between
  end loop;
  return taken;
end $$;

-- The labels of a JSON array, in order.
create or replace function labels_from_json(labels jsonb) returns text[] language sql immutable strict parallel safe as $$
  select coalesce(array_agg(label order by place), '{}') from jsonb_array_elements_text(labels) with ordinality u(label, place)
$$;

-- The first namespace after all that begin with these labels: in C order nothing lies between a text and that text followed
-- by U+0001.
create or replace function namespace_upper_bound(labels text[]) returns text[] language sql immutable strict parallel safe as
$$ select labels[:cardinality(labels) - 1] || (labels[cardinality(labels)] || e'\x01') $$;

-- Whether a namespace begins, or ends, with these labels; '*' stands for any one label.
create or replace function namespace_begins_with(namespace text[], labels text[]) returns boolean language sql immutable strict parallel safe as $$
  select cardinality(namespace) >= cardinality(labels) and not exists (
    select 1 from unnest(labels) with ordinality u(label, place) where label <> '*' and label <> namespace[place])
$$;

create or replace function namespace_ends_with(namespace text[], labels text[]) returns boolean language sql immutable strict parallel safe as $$
  select cardinality(namespace) >= cardinality(labels)
     and namespace_begins_with(namespace[cardinality(namespace) - cardinality(labels) + 1:], labels)
$$;

create or replace function md5_of(texts text[]) returns text[] language sql immutable strict parallel safe as
$$ select coalesce(array_agg(md5(u)), '{}') from unnest(texts) u $$;

-- The length that a collection's passages are weighed against, in lexeme occurrences: the mean of a sample, between which
-- and 40 a new collection moves as if it had begun with twenty passages of that length.
create or replace function average_passage_length(collection_id integer) returns real
language sql stable security definer set search_path from current as $$
  select ((20 * 40 + coalesce(sum(x.length), 0)) / (20 + count(*))::float8)::real
  from (select p.length from document_passages p where p.tenant = this_tenant() and p.collection = collection_id limit 500) x
$$;

-- One expression without settings, so that PostgreSQL inlines it, drops what is neutral and sees what an index can serve.
create or replace function document_matches(d documents, f document_filters) returns boolean language sql stable parallel safe as $$
  select (d.expires_at is null or d.expires_at > (f).at)
     and ((f).uids is null or d.uid = any((f).uids))
     and ((f).below is null or (d.namespace >= (f).below and d.namespace < namespace_upper_bound((f).below)))
     and ((f).refs is null or (md5(d.reference) = any(md5_of((f).refs)) and d.reference = any((f).refs)))
     and ((f).metadata_equal is null or d.metadata @> (f).metadata_equal)
     and ((f).metadata is null or matches(d.metadata, (f).metadata))
     and ((f).value_equal is null or d.value @> (f).value_equal)
     and ((f).value is null or matches(d.value, (f).value))
$$;

-- Documents in the order in which they were first put. Few rows are expected, so that who joins them looks them up one by
-- one: of a thousand, the planner would read all documents of the tenant instead.
create or replace function list_documents(f document_filters, max_documents bigint, skip bigint)
returns table (uid uuid, place bigint)
language plpgsql stable security definer rows 10
set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare me constant text := this_tenant();
begin
  return query
  select x.uid, row_number() over () from (
    select d.uid from documents d
    where d.tenant = me and d.collection = f.collection and document_matches(d, f)
    order by d.created_at, d.place, d.uid limit max_documents offset skip) x;
end $$;

create or replace function count_documents(f document_filters) returns bigint
language plpgsql stable security definer
set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare me constant text := this_tenant();
begin
  return (select count(*) from documents d where d.tenant = me and d.collection = f.collection and document_matches(d, f));
end $$;

-- The documents that narrow filters leave, or null when there are more than `max_documents`: then the scans check one by one.
create or replace function filtered_documents(f document_filters, max_documents integer) returns uuid[]
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare me constant text := this_tenant(); found uuid[];
begin
  select array_agg(x.uid) into found from (
    select d.uid from documents d
    where d.tenant = me and d.collection = f.collection and document_matches(d, f) limit max_documents + 1) x;
  return case when cardinality(found) > max_documents then null else coalesce(found, '{}') end;
end $$;

-- About how many passages a collection has: the planner's own estimate, which costs nothing. Volatile, since a stable
-- function may not explain.
create or replace function estimated_passages(c collections) returns bigint
language plpgsql volatile set search_path from current as $$
declare plan json;
begin
  execute format('explain (format json) select from document_passages where tenant = %L and collection = %s', c.tenant, c.id)
  into plan;
  return (plan->0->'Plan'->>'Plan Rows')::bigint;
end $$;

-- A question as its words weigh in this collection, rarest first. Words that a sample knows well are not counted further;
-- the uids are digests, so the first of them are a sample as good as any, and always the same.
create or replace function weigh_document_query(query_text text, c collections) returns weighted_query
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  few constant integer := 2000; sampled constant integer := 1000; known constant integer := 20;
  most_words constant integer := 64; prefix constant text := c.id || ':';
  total bigint; seen bigint; words text[]; counts bigint[]; answer weighted_query;
begin
  select count(*) into total from (select 1 from document_passages p where p.collection = c.id limit few + 1) x;
  if total > few then total := greatest(total, estimated_passages(c)); end if;
  select array_agg(x.lexeme) into words from (
    select u.lexeme from unnest(to_lexemes(c.config, query_text)) u order by coalesce(u.positions[1], 1), u.lexeme limit most_words) x;
  if total > few then
    with sample as materialized (
      select p.lexemes from document_passages p
      where p.tenant = c.tenant and p.collection = c.id order by p.document limit sampled),
    wanted as materialized (select w, place, any_lexeme(array[prefix || w]) as q from unnest(words) with ordinality u(w, place))
    select array_agg((select count(*) from sample s where s.lexemes @@ wanted.q) order by place) into counts from wanted;
  end if;
  for i in 1 .. coalesce(cardinality(words), 0) loop
    if counts[i] >= known then
      counts[i] := counts[i] * total / sampled;
    else
      execute 'select count(*) from document_passages where lexemes @@ $1 and tenant = $2' into seen
      using any_lexeme(array[prefix || words[i]]), c.tenant;
      counts[i] := seen;
    end if;
  end loop;
  with terms as (
    select w as word, n, ln(1 + (greatest(total, n) - n + 0.5::float8) / (n + 0.5::float8)) as idf
    from unnest(words, counts) u(w, n)),
  entries as (select lexeme_dimension(t.word) as d, max(idf)::real as w from terms t group by 1)
  select array_agg(prefix || t.word order by t.n, t.word), array_agg(t.n order by t.n, t.word),
         (select ('{' || string_agg(d || ':' || w, ',') || '}/268435456')::sparsevec from entries),
         sum(t.idf) * (0.9::float8 + 1)
    into answer from terms t;
  return answer;
end $$;

create or replace function vector_search_documents(
  query_vector vector, space vector_spaces, f document_filters, chosen uuid[], narrow boolean, small boolean, pool integer, enough integer)
returns setof document_match
language plpgsql stable rows 60 set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); toy constant boolean := space.dimension < 16;
  near constant halfvec := case when toy then null else query_vector::halfvec end; found uuid[]; matched bigint;
begin
  if chosen is null and not small and space.documents_indexed then
    -- Only integers of the space's row are formatted: a cast needs a literal dimension, a partial index a literal space.
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(1000, greatest(100, pool))::text, true);
    execute format(
      'select array_agg(document order by d, document), sum(n) from (select document, min(d) as d, count(*) as n from ('
      'select document, embedding::halfvec(%1$s) <=> $1 d from document_passages p '
      'where space = %2$s and tenant = $2 and collection = $3 and (not $4 or exists ('
      'select 1 from documents d where d.tenant = p.tenant and d.uid = p.document and document_matches(d, $5))) '
      'order by embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) limit $6) x group by document) y', space.dimension, space.id)
    into found, matched using near, me, f.collection, narrow, f, pool;
    if (narrow or matched >= pool) and cardinality(found) >= enough then
      return query select u.id, u.place from unnest(found) with ordinality u(id, place);
      return;
    end if;
    -- The index gave too few: what it visits belongs to others, to few documents, or has no direction. Then exactly: what it gives
    -- when it gives up is whatever it came by. Filtered documents are not looked through one by one for that.
  end if;
  return query
  select x.document, row_number() over () from (
    select p.document from document_passages p
    where p.tenant = me and p.collection = f.collection and p.space = space.id
      and (chosen is null or p.document = any(chosen))
      and (chosen is not null or not narrow or exists (
        select 1 from documents d where d.tenant = me and d.uid = p.document and document_matches(d, f)))
    group by p.document
    order by min(case when toy then p.exact <=> query_vector else p.embedding <=> near end) + 0, p.document limit pool) x;
end $$;

create or replace function text_search_documents(
  query_terms weighted_query, f document_filters, chosen uuid[], narrow boolean, small boolean, pool integer)
returns setof document_match
language plpgsql stable rows 60 set search_path from current set plan_cache_mode = force_custom_plan as $$
declare me constant text := this_tenant(); enough constant integer := 3000; wanted tsquery := any_lexeme(query_terms.lexemes);
begin
  if chosen is null and not small then
    -- The rarest words, until they have candidates enough between them, drive the index; all words score.
    select any_lexeme(array_agg(u.l)) into wanted from (
      select l, sum(n) over (order by n, l) - n as before from unnest(query_terms.lexemes, query_terms.documents) t(l, n)) u
    where u.before < enough;
  end if;
  return query
  select x.document, row_number() over () from (
    select p.document from document_passages p
    where p.tenant = me and p.collection = f.collection and p.lexemes @@ wanted
      and (chosen is null or p.document = any(chosen))
      and (chosen is not null or not narrow or exists (
        select 1 from documents d where d.tenant = me and d.uid = p.document and document_matches(d, f)))
    group by p.document order by min(p.weights <#> query_terms.weights), p.document limit pool) x;
end $$;

-- Documents for a question: its words, its vector, or both, as for memories. `vector_share` is the vector's weight; `vector_pool` and
-- `text_pool` are the candidates of each search, `enough` of them wanted at least. Scores are absolute: a cosine counts in full from 0.8,
-- words against the best that any passage could score for this question. Equals stand by cosine, then words.
create or replace function search_documents(
  f document_filters, query_text text, query_vector vector, vector_pool integer, text_pool integer, vector_share float8, min_score float8,
  max_hits integer, skip integer)
returns table (uid uuid, score float8, vector_rank bigint, text_rank bigint, cosine float8, words float8, ordinal integer,
               place bigint)
language plpgsql stable security definer rows 10
set search_path from current set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  me constant text := this_tenant();
  few constant integer := 10000;                -- so many are scanned exactly as fast as through an index
  handful constant integer := 4000;             -- and so many when each is looked up
  owning collections; space vector_spaces; terms weighted_query; chosen uuid[]; narrow boolean; small boolean := true;
  toy boolean; near halfvec;
begin
  select * into owning from collections x where x.tenant = me and x.id = f.collection;
  if owning.id is null then return; end if;     -- another tenant's
  if query_vector is not null then select s.* into space from vector_spaces s where s.id = owning.space; end if;
  if query_text is not null then terms := weigh_document_query(query_text, owning); end if;
  toy := space.dimension < 16;
  if not toy then near := query_vector::halfvec; end if;
  narrow := num_nonnulls(f.uids, f.below, f.refs, f.metadata_equal, f.metadata, f.value_equal, f.value) > 0;
  if narrow then
    chosen := filtered_documents(f, handful);
  else
    narrow := exists (select 1 from documents d where d.tenant = me and d.collection = owning.id and d.expires_at <= f.at);
  end if;
  if chosen is null then
    select count(*) <= few into small from (
      select 1 from document_passages p where p.collection = owning.id limit few + 1) x;   -- in the index alone
  end if;
  return query
  with found as (
    select 1 as arm, n.document, n.rank as place
    from vector_search_documents(query_vector, space, f, chosen, narrow, small, vector_pool, max_hits + skip) n where space.id is not null
    union all
    select 2, t.document, t.rank
    from text_search_documents(terms, f, chosen, narrow, small, text_pool) t where terms.lexemes is not null),
  places as materialized (
    select x.document, min(x.place) filter (where arm = 1) as vector_place, min(x.place) filter (where arm = 2) as text_place
    from found x group by x.document),
  signals as (
    select x.document, x.vector_place, x.text_place, v.ordinal, v.c, w.w
    from places x
    left join lateral (
      select p.ordinal, nullif(1 - case when toy then p.exact <=> query_vector else p.embedding <=> near end, 'NaN') as c
      from document_passages p where p.tenant = me and p.document = x.document and p.space = space.id
      order by c desc nulls last, p.ordinal limit 1) v on true
    left join lateral (
      select max(-(p.weights <#> terms.weights)) / nullif(terms.best_score, 0) as w
      from document_passages p where p.tenant = me and p.document = x.document) w on true),
  scored as (
    select s.*, least(1, greatest(0, coalesce(s.c, 0)) / 0.8) as vector_score, least(1, greatest(0, coalesce(s.w, 0))) as text_score
    from signals s),
  fused as (
    select s.*, case when space.id is null then s.text_score when terms.lexemes is null then s.vector_score
                     else vector_share * s.vector_score + (1 - vector_share) * s.text_score end as fusion
    from scored s)
  select x.document, x.fusion, x.vector_place, x.text_place, x.c, case when terms.lexemes is not null then x.text_score end,
         x.ordinal, row_number() over (order by x.fusion desc, x.c desc nulls last, x.w desc nulls last, x.document)
  from fused x where x.fusion >= min_score
  order by x.fusion desc, x.c desc nulls last, x.w desc nulls last, x.document limit max_hits offset skip;
end $$;


insert into function_files (name, digest, release) values ('collections', 'd9733ef4caf871b9bc25ee116dc97a5b78265746901386f42872ef866b873151', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- functions triggers
-- Triggers, in a file of their own: "create or replace trigger" locks its table against writers, so this is not applied each
-- time that a function changes.

create or replace trigger notify_change after insert or update on working_sets for each row when (new.shared) execute function notify_change();
create or replace trigger notify_deletion after delete on working_sets for each row when (old.shared) execute function notify_change();
create or replace trigger notify_change after update of term on groups for each row execute function notify_change();

create or replace trigger hide_or_show_facts after update of live on nodes for each row when (old.live is distinct from new.live)
execute function hide_or_show_facts();
create or replace trigger delete_facts after delete on nodes for each row execute function delete_facts();

create or replace trigger clear_purged_place after update of purged on mentions for each row when (new.purged and not old.purged)
execute function clear_purged_place();


insert into function_files (name, digest, release) values ('triggers', '0aaa840c7c30a1a3649ec69582fb0752efcd3b6b081624930a838c96ed356723', '0.1.0')
on conflict (name) do update set digest = excluded.digest, release = excluded.release, applied_at = now();

-- Functions are for the application and the worker, not for everybody who can reach the schema.
do $$
begin
  execute format('revoke execute on all functions in schema %I from public', current_schema());
  execute format('grant execute on all functions in schema %I to htm_app, htm_worker', current_schema());
end $$;

commit;
