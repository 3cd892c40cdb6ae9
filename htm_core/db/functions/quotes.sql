-- Quotes: what a reply of a tool shows of memories.

-- The ids that stand in a text, or in the bytes of a message as JSON, which writes them in ASCII. "Forgotten [id]." names a memory and
-- shows nothing of it.
create or replace function htm.quoted_ids(words text, payload bytea) returns uuid[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(array_agg(distinct (f.found)[1]::uuid), '{}')
  from regexp_matches(concat(words, ' ', encode(payload, 'escape')),
                      '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?!\][.;])', 'g') f(found);
end;
grant execute on function htm.quoted_ids(text, bytea) to htm_app, htm_worker;
