-- name: enter
select set_config('role', %(role)s, true), set_config('search_path', %(path)s, true), set_config('htm.tenant', %(tenant)s, true),
       set_config('statement_timeout', %(timeout)s, true),
       -- A foreign key's look-up is planned once a session, maybe while its table is small: never as a scan of it all.
       set_config('enable_seqscan', 'off', true)

-- name: vector_home
select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'

-- name: look_in
select set_config('search_path', %(path)s, true)

-- name: backend
select pg_backend_pid() as pid

-- name: search_path
select set_config('search_path', %(path)s, false)

-- name: ping
select 1
