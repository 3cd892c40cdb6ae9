-- All that version 0.2.0 needs beside what 0.1.0 has.
--
-- Without "oldest client": the functions of recall take other arguments, sessions take turns by other locks and listen on another
-- channel, so processes of 0.1.0 must stop first.

-- Jobs ------------------------------------------------------------------------------------------------------------------------
--
-- Jobs know whose they are and whether somebody waits for them, so that workers can take turns.

alter table jobs
  add column owner text not null default '',         -- the owner of its node
  add column bulk  boolean not null default false;   -- of an import or a long text: after what was just said
update jobs j set owner = n.owner from nodes n where n.tenant = j.tenant and n.id = j.node_id and n.owner <> '';

-- From one tenant to the next, from one owner to the next, and then the newest: each step is one look-up.
drop index jobs_due;
create index jobs_by_turn on jobs (kind, model, bulk, tenant, owner, run_at desc) where parked_at is null;
-- Jobs that were given up can be counted without reading those that wait, of which there may be a million.
create index jobs_parked on jobs (kind, model, bulk) where parked_at is not null;

-- Mentions --------------------------------------------------------------------------------------------------------------------
--
-- All of these columns are null where nothing was said, which takes no room in a row. `source` is null where the role says it, `trust` where
-- the source does (base/trust.py).

alter table mentions
  add column valid       tstzrange,             -- when it holds; null: not said, so always
  add column valid_words text,                  -- the words that it was read from
  add column expires_at  timestamptz,           -- from then on it is hidden
  add column source      text check (source in ('user', 'assistant', 'tool', 'file', 'web', 'import')),
  add column trust       smallint check (trust between 0 and 4),
  add column copy_of     uuid,                  -- the first mention of this saying; null: this one, or 0.1.0 wrote it
  add column purged_as   text;                  -- of a purged mention: a digest of its id or time, and its words (functions/copies.sql)

-- What a file said that was loaded before there were sources.
update mentions m set source = 'file' from file_chunks c where c.tenant = m.tenant and c.mention_id = m.id;

create index mentions_expiring on mentions (tenant, expires_at) where expires_at is not null and forgotten_at is null;
create index mentions_purged on mentions (tenant, owner, purged_as) where purged_as is not null;

-- What must hold of a node, and of one and the same of its mentions: what `filters` has, and times, sources and trust. Null members are
-- neutral.
create type conditions as (
  owners    text[],                             -- null: everybody's
  robots    text[],
  session   text,
  windows   tstzmultirange,
  tags      text[],                             -- each of them, or one below it
  equal     jsonb,                              -- metadata @> equal
  metadata  jsonb,                              -- a compiled filter, for matches()
  as_of     timestamptz,                        -- what was known then, with the values that keys had
  valid_at  timestamptz,                        -- what holds then, or says nothing of it
  sources   text[],                             -- where it came from; '' is the program itself
  min_trust smallint
);

-- Documents, models and the palace --------------------------------------------------------------------------------------------

-- LangGraph's store lists what was put last first, and reads no more of a large collection for it than a page.
create index documents_by_update on documents (collection, updated_at desc, created_at desc, place, uid);

-- Which index the vectors of a space have: of their numbers in half precision, or of the signs of their numbers, one bit each.
alter table vector_spaces add column quantized boolean not null default false;

-- How the cosines of a model are to be read here: calibrate_cosines writes it, from the tenant's own vectors.
alter table models
  add column cosine_scale real,                         -- what a cosine's distance from 1 is multiplied by; null: as it is
  add column measured     integer not null default 0;   -- how many vectors there were when it was measured, up to 8,192

-- The palace says "uncertain" where what it found may or may not answer, and an agent may file a fact without a note before it.
alter table consultations drop constraint consultations_verdict_check;
alter table consultations add constraint consultations_verdict_check
  check (verdict in ('grounded', 'uncertain', 'miss', 'failed', 'free'));
alter table decisions alter column note_id drop not null;

-- The functions name the schema of the extension vector. Where it was moved since, they have to be made again.
alter table function_files add column extension_schema text;

-- Locks -----------------------------------------------------------------------------------------------------------------------
--
-- What takes turns, without locks that anybody who can log in could take.

-- What a transaction holds until it ends: it inserts a row and deletes it again, and another that inserts the same row waits. So
-- the table is always empty; it needs no log, since no lock outlives its transaction.
create unlogged table locks (
  tenant text not null,
  name   bytea not null,                        -- a hash of what is locked
  primary key (tenant, name)
);
call add_tenant_policy('locks');

-- Which session of the server builds indexes: one row, which the owner alone may lock. A session that has ended builds none.
create table index_builder (
  only_one   boolean primary key default true check (only_one),
  pid        integer,
  login      oid,
  started_at timestamptz
);
insert into index_builder default values;

-- The channel of this installation's notifications. A login that may not read it can neither listen to them nor send any.
create table notification_channel (
  only_one boolean primary key default true check (only_one),
  name     text not null default 'htm_' || gen_random_uuid()
);
insert into notification_channel default values;
grant select on notification_channel to htm_app, htm_worker;

-- The wall between users ------------------------------------------------------------------------------------------------------
--
-- Whether it is up, and the key that claims of owners are signed with. Nobody but the owner may read the key. Whether the wall is up,
-- everybody may know who serves verbs.

create table user_walls (
  only_one  boolean primary key default true check (only_one),
  enabled   boolean not null default false,
  key       bytea,                              -- 32 random bytes, made when the wall goes up
  inner_pad bytea,                              -- the key as the two blocks of HMAC (RFC 2104)
  outer_pad bytea
);
insert into user_walls default values;
grant select (enabled) on user_walls to htm_app, htm_worker;

-- Supersession ----------------------------------------------------------------------------------------------------------------
--
-- What a newer saying does to an older one: an edge with its confidence and its reason, and a row for each time that it was changed.
-- Nothing else is changed by an edge: recall reads it, and an edge that is undone stays, so that no job makes it again.

create table supersessions (
  tenant     text not null,
  id         uuid not null,
  newer      uuid not null,
  older      uuid not null,
  owner      text not null,                     -- whose both nodes are
  relation   text not null check (relation in ('supersedes', 'contradicts')),
  confidence double precision not null check (confidence >= 0 and confidence <= 1),
  reason     text not null,
  judge      text not null,                     -- "rules", or the name of a chat model
  state      text not null default 'standing' check (state in ('standing', 'confirmed', 'undone')),
  holds_from timestamptz not null,              -- when the newer one was said: before, the older one held
  at         timestamptz not null default now(),
  primary key (tenant, id),
  unique (tenant, newer, older),
  check (newer <> older),
  foreign key (tenant, newer) references nodes (tenant, id) on delete cascade,
  foreign key (tenant, older) references nodes (tenant, id) on delete cascade
);
call add_tenant_policy('supersessions');
create index supersessions_by_older on supersessions (tenant, older);
create index supersessions_by_time on supersessions (tenant, owner, at desc, id desc);

-- The audit of an edge. A reason may quote what was said, so it goes when one of both nodes is erased.
create table supersession_audit (
  tenant       text not null,
  id           uuid not null,
  supersession uuid not null,
  owner        text not null,
  action       text not null check (action in ('made', 'confirmed', 'undone')),
  by           text not null,                   -- the robot, or the judge
  reason       text not null,
  at           timestamptz not null default now(),
  primary key (tenant, id),
  foreign key (tenant, supersession) references supersessions (tenant, id) on delete cascade
);
call add_tenant_policy('supersession_audit');
create index supersession_audit_by_edge on supersession_audit (tenant, supersession, at);

-- The audit -------------------------------------------------------------------------------------------------------------------
--
-- What was erased, replaced or undone, when and by whom, without any of its words. Rows are only ever added.

-- Entries stand in chains: each digest is made of the one before it, so an entry that was changed or taken away shows. A tenant
-- writes one chain; those that came with a backup stay beside it as they were. Here is where each chain ends.
create table audit_chains (
  tenant  text not null,
  chain   uuid not null,
  key     bytea not null,                       -- 32 random bytes: names are in entries as HMAC-SHA-256 by this key
  entries bigint not null default 0,
  digest  bytea,                                -- of its last entry
  open    boolean not null,                     -- it is the one that is written on
  primary key (tenant, chain)
);
call add_tenant_policy('audit_chains');
create unique index audit_chains_open on audit_chains (tenant) where open;
-- Nobody but the owner reads the key, nor moves the end of a chain: functions do both (functions/audit.sql).
revoke select, insert, update, delete on audit_chains from htm_app, htm_worker;

create table audit (
  tenant text not null,
  chain  uuid not null,
  seq    bigint not null,                       -- counts from 1 within its chain, without gaps
  id     uuid not null,
  owner  text not null,                         -- whose memory did it: '' is everyone's, a user is named by a digest
  kind   text not null,
  at     timestamptz not null,
  body   text not null,                         -- the entry as canonical JSON, exactly as it was hashed
  digest bytea not null,                        -- SHA-256 of the digest before it in hexadecimal digits, a line feed, and the body
  primary key (tenant, chain, seq),
  unique (tenant, id),
  foreign key (tenant, chain) references audit_chains (tenant, chain)
);
call add_tenant_policy('audit');
create index audit_by_time on audit (tenant, at desc, id desc);
revoke insert, update, delete on audit from htm_app, htm_worker;

-- Tidying ---------------------------------------------------------------------------------------------------------------------
--
-- What a memory says of its user, which memories say the same, and what sessions were about. docs/why/jobs.md says why.
-- None of it changes a node or a mention. What is here is made of them, can be made again, and goes with them.

-- How far each session was read, by the numbers of its mentions: what is tidied next has a higher one.
create table tidied_sessions (
  tenant        text not null,
  owner         text not null,
  session       text not null,
  profile_seq   bigint not null default 0,       -- read for the profile
  profile_rules integer not null default 0,      -- by these rules: others read it again
  merge_seq     bigint not null default 0,       -- compared with what says the same
  merge_rules   integer not null default 0,
  summary_seq   bigint not null default 0,       -- summarised, or too short for it
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

-- The HTTP API ----------------------------------------------------------------------------------------------------------------
--
-- Tokens, and the answers to requests that may be sent twice. docs/why/interfaces.md says why.

-- Who has a secret may do what is written here. Of the secret there is only its digest, so a copy of this table opens nothing.
create table tokens (
  tenant     text not null,
  id         uuid not null,
  digest     bytea not null,                    -- SHA-256 of the secret, which has 256 random bits
  name       text not null,                     -- what people call it
  owner      text not null,                     -- the user whose memories it is for; '' is what everyone in the tenant shares
  robot      text,                              -- who remembers; null: the request says it
  scopes     text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,                       -- null: never
  revoked_at timestamptz,
  primary key (tenant, id),
  check (length(digest) = 32),
  check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin'])
);
call add_tenant_policy('tokens');
create unique index tokens_by_digest on tokens (digest);
create unique index tokens_by_name on tokens (tenant, name) where revoked_at is null;

-- Requests with an Idempotency-Key: what was answered, so that the same request gets the same answer. While `status` is null, the request is
-- being worked on until `locked_until`; who finds it so later does it again.
create table idempotent_requests (
  tenant       text not null,
  token_id     uuid not null,                   -- 00000000-… for requests without a token; tokens go while their answers stay
  key          bytea not null,                  -- SHA-256 of the key
  owner        text not null,
  fingerprint  bytea not null,                  -- SHA-256 of the request: another request with this key is refused
  locked_until timestamptz not null,
  expires_at   timestamptz not null,
  status       integer,
  headers      jsonb,
  answer       bytea,                           -- null once something of its owner was forgotten or erased
  primary key (tenant, token_id, key)
);
call add_tenant_policy('idempotent_requests');
create index idempotent_requests_by_expiry on idempotent_requests (tenant, expires_at);
create index idempotent_requests_by_owner on idempotent_requests (tenant, owner) where answer is not null;

-- Working memory --------------------------------------------------------------------------------------------------------------
--
-- What it did at each turn of a session: what recall brought into it, and what left it. docs/why/working-memory.md says why.
-- A record for people who look, bounded in age and in length. Nothing is decided by it, so it is in no backup.
--
-- One row for each change of a set and each turn that the change is of. The nodes are in lists, not in rows of their own: a change then costs
-- one row, however much it moves. All of them have a row in working_items, by which whoever deletes nodes finds the sets that name them.
create table working_changes (
  tenant   text not null,
  set_id   uuid not null,
  version  bigint not null,                     -- of the set, that this change made
  seq      bigint not null,                     -- of the last mention of the session by then; 0: there was none
  at       timestamptz not null,
  recalled uuid[] not null,                     -- came by recall; what was said came with its mention, which the session has
  evicted  uuid[] not null,                     -- left; what was forgotten is not in the list
  scores   double precision[] not null,         -- keep-scores of those that left, in their order; null: without a receipt
  policy   text,                                -- by which they left; null: somebody removed them
  primary key (tenant, set_id, version, seq),
  foreign key (tenant, set_id) references working_sets (tenant, id) on delete cascade
);
call add_tenant_policy('working_changes');
-- For deleting what is old. Rows come in the order of their times, so this index costs a writer next to nothing.
create index working_changes_by_time on working_changes using brin (at) with (pages_per_range = 32);

-- Cells -----------------------------------------------------------------------------------------------------------------------
--
-- Schemas with the same tables, in each of which some tenants live, and the directory that says which. docs/why/scale.md says why.
-- The directory is in the first schema, which is called home. Every schema has these tables; only home's directory is asked, and only by
-- processes with Settings.cells.

create table cells (
  name       text primary key,
  number     integer not null unique,           -- home is 0; ids of collections begin at number * 1,048,576
  place      text not null,                     -- the schema
  url        text,                              -- of its server, without a password; null: home's own
  takes_new  boolean not null default false,    -- whether tenants that nobody has placed begin here
  state      text not null default 'open' check (state in ('open', 'dropping')),
  created_at timestamptz not null default now()
);
grant select on cells to htm_app, htm_worker;   -- nothing of any tenant
insert into cells (name, number, place) values ('home', 0, current_schema());

-- Where each tenant is, as of a version that each move makes one more.
create table tenant_cells (
  tenant  text primary key,
  cell    text not null references cells (name),
  version bigint not null,
  since   timestamptz not null default now()
);
call add_tenant_policy('tenant_cells');
create index tenant_cells_by_cell on tenant_cells (cell);

-- Moves that are under way, or were interrupted.
create table tenant_moves (
  tenant     text primary key,
  source     text not null,
  target     text not null,
  version    bigint not null,                   -- that the directory has when it is done
  state      text not null check (state in ('copying', 'switched')),
  seen       text,                              -- every transaction before this one of the source is in the copy; null: nothing is
  passes     integer not null default 0,
  started_at timestamptz not null default now()
);
call add_tenant_policy('tenant_moves');

-- Tenants that have left this schema, and where to. It is written at the moment of the switch, so it is never behind the directory.
create table departed_tenants (
  tenant  text primary key,
  cell    text not null,
  version bigint not null,
  at      timestamptz not null default now()
);
call add_tenant_policy('departed_tenants');

-- Nobody but the owner reads or writes these: functions tell each tenant its own (functions/cells.sql).
revoke select, insert, update, delete on tenant_cells, tenant_moves, departed_tenants from htm_app, htm_worker;

-- Every transaction of a tenant in a cell reads the fence of its number, which is a hash of its name; a move shuts it for the moment in which
-- it switches. A lock on a table, since only who has rights on it may take one (docs/why/store.md).
do $$
begin
  for number in 0 .. 15 loop
    execute format('create table fence_%s (only_one boolean primary key default true check (only_one))', number);
    execute format('grant select on fence_%s to htm_app, htm_worker', number);
  end loop;
end $$;

-- Names -----------------------------------------------------------------------------------------------------------------------
--
-- Users, sessions, keys and robots have names in one normal form, Unicode's NFC, as whoever calls gives them from now on.
-- A name in another form is changed to it wherever it stands. Where somebody else has that name already, in both forms, nobody is merged:
-- the one in the other form gets a name with a digest behind it, and a warning names both.

do $$
declare
  kind record; place record; fkey record; renamed jsonb; said record;
begin
  for kind in
    select * from (values
      (1, 'owner', $q$select distinct tenant, '' as scope, owner as name from sessions$q$, ''),
      (2, 'session', 'select tenant, owner as scope, session as name from sessions', 'owner'),
      (3, 'key', 'select tenant, owner as scope, key as name from keys', 'owner'),
      (4, 'robot', $q$select tenant, '' as scope, name from robots$q$, '')) k(step, what, names, scope) order by k.step
  loop
    execute format($q$
      with names as (%s),
      formed as (
        select n.*, normalize(n.name, nfc) as nfc, row_number() over (partition by n.tenant, n.scope, normalize(n.name, nfc) order by n.name) as place
        from names n where n.name is not nfc normalized),
      changed as (
        select f.tenant, f.scope, f.name as old,
               case when f.place = 1 and not exists (select from names o where o.tenant = f.tenant and o.scope = f.scope and o.name = f.nfc)
                    then f.nfc else f.nfc || ' (' || left(md5(f.name), 8) || ')' end as new, f.nfc
        from formed f)
      select jsonb_agg(c) from (
        select c.tenant, c.scope, c.old, c.new, c.new <> c.nfc as taken from changed c
        union all                                     -- the owners of the notes of a user's sessions have a digest of the user
        select c.tenant, '', n.name, 'htm:notes:' || left(encode(sha256(convert_to(c.new, 'UTF8')), 'hex'), 32) || normalize(substr(n.name, 43), nfc), false
        from changed c join names n on n.tenant = c.tenant and starts_with(n.name, 'htm:notes:' || left(encode(sha256(convert_to(c.old, 'UTF8')), 'hex'), 32) || ':')
        where %L = 'owner') c$q$, kind.names, kind.what)
    into renamed;
    continue when renamed is null;
    for fkey in
      select c.conname, c.conrelid::regclass as of_table from pg_constraint c
      where c.contype = 'f' and c.conparentid = 0 and c.confrelid in ('sessions'::regclass, 'files'::regclass)
    loop
      execute format('alter table %s alter constraint %I deferrable initially deferred', fkey.of_table, fkey.conname);
    end loop;
    set constraints all deferred;
    for place in
      select c.table_name as of_table, c.column_name as of_column, '' as also from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.column_name = kind.what and c.data_type = 'text'
        and (kind.scope = '' or exists (
          select from information_schema.columns o where o.table_schema = c.table_schema and o.table_name = c.table_name and o.column_name = kind.scope))
      union all select 'robots', 'name', '' where kind.what = 'robot'
      union all select 'working_sets', 'holder', ' and not shared' where kind.what = 'robot'
    loop
      execute format(
        'update %I t set %I = r.new from jsonb_to_recordset($1) r(tenant text, scope text, old text, new text)
         where t.tenant = r.tenant and t.%2$I = r.old%s%s', place.of_table, place.of_column,
        case when kind.scope = '' then '' else format(' and t.%I = r.scope', kind.scope) end, place.also) using renamed;
    end loop;
    set constraints all immediate;
    for fkey in
      select c.conname, c.conrelid::regclass as of_table from pg_constraint c
      where c.contype = 'f' and c.conparentid = 0 and c.condeferrable and c.confrelid in ('sessions'::regclass, 'files'::regclass)
    loop
      execute format('alter table %s alter constraint %I not deferrable', fkey.of_table, fkey.conname);
    end loop;
    for said in select r.* from jsonb_to_recordset(renamed) r(tenant text, old text, new text, taken boolean) where r.taken loop
      raise warning 'of the tenant %: two % names that only differ in their form; the one in the other form than NFC is now %', said.tenant, kind.what, said.new;
    end loop;
  end loop;
  update mentions set name = normalize(name, nfc) where name is not nfc normalized;
  update places set room = normalize(room, nfc), drawer = normalize(drawer, nfc) where room is not nfc normalized or drawer is not nfc normalized;
end $$;
