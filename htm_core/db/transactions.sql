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

-- name: claim_terms
select backend, started from claim_terms()

-- name: claim
select pg_catalog.set_config('htm.claim', %(claim)s, true)

-- name: transaction_timeout
select pg_catalog.set_config('transaction_timeout', %(whole)s, true)

-- name: take_locks
-- Waits for every transaction that has inserted one of these rows and has not ended, whether or not it has deleted it again.
insert into locks (tenant, name) select this_tenant(), given.name from unnest(%(names)s::bytea[]) given(name) order by given.name
on conflict (tenant, name) do update set name = excluded.name

-- name: drop_locks
delete from locks where tenant = this_tenant() and name = any(%(names)s::bytea[])
