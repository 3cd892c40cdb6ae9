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
