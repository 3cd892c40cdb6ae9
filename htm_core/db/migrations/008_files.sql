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
