-- name: enter
-- By their full names, since the search path is still that of the login.
select pg_catalog.set_config('role', %(role)s, true), pg_catalog.set_config('search_path', %(path)s, true),
       pg_catalog.set_config('htm.tenant', %(tenant)s, true), pg_catalog.set_config('htm.now', %(now)s, true),
       pg_catalog.set_config('statement_timeout', %(timeout)s, true),
       -- A client that is frozen or gone must not keep its locks: the server ends its transaction.
       pg_catalog.set_config('idle_in_transaction_session_timeout', %(idle)s, true),
       -- A foreign key's look-up is planned once a session, maybe while its table is small: never as a scan of it all.
       pg_catalog.set_config('enable_seqscan', 'off', true),
       -- Before version 18 a scan that is off, and still the only way, costs so much that it looks worth compiling, which takes longer.
       pg_catalog.set_config('jit', 'off', true)

-- name: enter_cell
select enter_cell(%(version)s)

-- name: has_cells
select exists (select from cells where number > 0) as found

-- name: claim_terms
select backend, started from claim_terms()

-- name: claim
select pg_catalog.set_config('htm.claim', %(claim)s, true)

-- name: user_walls
select enabled from user_walls

-- name: user_walls_key
select key from user_walls where enabled

-- name: set_user_walls
call set_user_walls(%(up)s)

-- name: transaction_timeout
select pg_catalog.set_config('transaction_timeout', %(whole)s, true)

-- name: vector_home
select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'

-- name: look_in
select pg_catalog.set_config('search_path', %(path)s, true)

-- name: backend
select pg_catalog.pg_backend_pid() as pid

-- name: leave_mark
select pg_catalog.set_config('htm.mark', 'here', true)

-- name: find_mark
select pg_catalog.current_setting('htm.mark', true) as mark

-- name: search_path
select pg_catalog.set_config('search_path', %(path)s, false)

-- name: ping
select 1
