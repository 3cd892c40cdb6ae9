-- When a mention holds, when it expires, where it came from and how far to trust it.
--
-- The functions of recall take other conditions, so older processes must stop first.
--
-- All of them are null where nothing was said, which takes no room in a row. `source` is null where the role says it, `trust` where
-- the source does (rules/trust.py).

alter table mentions
  add column valid       tstzrange,             -- when it holds; null: not said, so always
  add column valid_words text,                  -- the words that it was read from
  add column expires_at  timestamptz,           -- from then on it is hidden
  add column source      text check (source in ('user', 'assistant', 'tool', 'file', 'web', 'import')),
  add column trust       smallint check (trust between 0 and 4);

-- What a file said that was loaded before there were sources.
update mentions m set source = 'file' from file_chunks c where c.tenant = m.tenant and c.mention_id = m.id;

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

create index mentions_expiring on mentions (tenant, expires_at) where expires_at is not null and forgotten_at is null;
