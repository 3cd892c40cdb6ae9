-- name: settings
-- What a database, a role or the environment may have set otherwise, and what the meaning of values and answers depends on. It holds for
-- a transaction alone: behind a pooler the session is another client's next.
select pg_catalog.set_config('datestyle', 'ISO, MDY', true), pg_catalog.set_config('intervalstyle', 'postgres', true),
       pg_catalog.set_config('timezone', 'UTC', true), pg_catalog.set_config('standard_conforming_strings', 'on', true),
       pg_catalog.set_config('backslash_quote', 'safe_encoding', true), pg_catalog.set_config('array_nulls', 'on', true),
       pg_catalog.set_config('transform_null_equals', 'off', true), pg_catalog.set_config('bytea_output', 'hex', true),
       pg_catalog.set_config('extra_float_digits', '1', true), pg_catalog.set_config('xmlbinary', 'base64', true),
       pg_catalog.set_config('row_security', 'on', true), pg_catalog.set_config('quote_all_identifiers', 'off', true),
       pg_catalog.set_config('gin_fuzzy_search_limit', '0', true)

-- name: set_locally
-- One of these without a select, which would take the snapshot of a transaction that sees one moment before it has its lock.
set local {name} = {value}

-- name: backend
select pg_catalog.pg_backend_pid() as pid

-- name: leave_mark
select pg_catalog.set_config('htm.mark', 'here', true)

-- name: find_mark
select pg_catalog.current_setting('htm.mark', true) as mark
