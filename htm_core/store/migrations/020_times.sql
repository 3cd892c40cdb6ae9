-- When a mention holds, when it expires, where it came from and how far to trust it.
-- oldest client: 18
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

create index mentions_expiring on mentions (tenant, expires_at) where expires_at is not null and forgotten_at is null;
