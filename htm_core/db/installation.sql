-- name: look_in
select pg_catalog.set_config('search_path', %(path)s, true)

-- name: search_path
select pg_catalog.set_config('search_path', %(path)s, false)

-- name: vector_home
select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'

-- name: has_cells
select exists (select from cells where number > 0) as found
