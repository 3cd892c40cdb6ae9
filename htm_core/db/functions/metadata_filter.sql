-- Metadata filters: one function, self-contained, written as a fragment of a migration.
--
-- `filter` is what htm_core.base.filters.compile_where(...).json gives: {"path": <a strict JSON path>, "values": {...}},
-- or {} (or null) to let everything pass. Any other object lets nothing pass: a filter that was never compiled must
-- not open the door. `metadata` null passes no filter but the empty one.
--
-- One expression, immutable, without settings: PostgreSQL inlines it, and where the filter is a constant (a custom
-- plan) parses the path once per statement and drops the empty filter from the plan altogether. Only operators and
-- functions of pg_catalog are used, by their qualified names, so that no search path changes its meaning.
create or replace function htm.matches(metadata jsonb, filter jsonb) returns boolean
language sql immutable parallel safe
begin atomic
  select filter is null
      or filter operator(pg_catalog.=) '{}'::pg_catalog.jsonb
      or coalesce(
           pg_catalog.jsonb_path_match(
             metadata,
             (filter operator(pg_catalog.->>) 'path'::pg_catalog.text)::pg_catalog.jsonpath,
             filter operator(pg_catalog.->) 'values'::pg_catalog.text,
             true),
           false);
end;
