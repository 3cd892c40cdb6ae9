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
