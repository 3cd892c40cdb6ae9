-- name: count
select count_tenant_rows(%(of_basis)s) as rows

-- name: erase
select erase_tenant_rows(%(most)s, %(with_basis)s) as rows

-- name: impatient
set local lock_timeout = '2s'

-- name: hold_writers
select hold_writers()

-- name: tokens
with gone as (delete from tokens where tenant = this_tenant() returning 1) select count(*) as gone from gone

-- name: has_audit
select exists (select from audit where tenant = this_tenant()) as found

-- name: unfinished_move
select target, state from unfinished_move()
