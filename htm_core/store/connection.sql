-- name: backend
select pg_catalog.pg_backend_pid() as pid

-- name: leave_mark
select pg_catalog.set_config('htm.mark', 'here', true)

-- name: find_mark
select pg_catalog.current_setting('htm.mark', true) as mark
