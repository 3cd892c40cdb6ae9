-- name: tables
select * from moved_tables()

-- name: server
-- Which database of which server this is: two urls may lead to the same.
select pg_postmaster_start_time()::text as system, current_database() as database

-- name: one_at_a_time
-- Two moves at once would each take what the other one copies.
lock table one_mover in share update exclusive mode

-- name: patient
set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0

-- name: impatient
set local lock_timeout = '1s'

-- name: moving
select set_config('htm.moving', 'on', true)

-- name: shut_fence
lock table {fence} in access exclusive mode

-- name: fence
select fence_of(%(tenant)s) as number

-- name: snapshot
select pg_snapshot_xmin(pg_current_snapshot())::text as xmin

-- name: spaces
select distinct s.id, s.name, s.dimension from vector_spaces s
where s.id in (select space from models where tenant = %(tenant)s union select space from collections where tenant = %(tenant)s)

-- name: add_space
insert into vector_spaces (name, dimension) values (%(name)s, %(dimension)s) on conflict (name, dimension) do nothing

-- name: space
select id from vector_spaces where name = %(name)s and dimension = %(dimension)s

-- name: stage
create temporary table {stage} on commit drop as select {columns} from {table} with no data

-- name: read_rows
copy (select {values} from {table} t where t.tenant = {tenant} and {changed}) to stdout (format {format})

-- name: all_rows
true

-- name: changed_rows
-- Written by the oldest transaction that was running at the last copy, or a later one. A subtransaction has a later number than its own.
age(t.xmin) <= age({seen}::xid8::xid)

-- name: mapped_space
(({map}::jsonb) ->> t.space::text)::integer as space

-- name: write_rows
copy {stage} ({columns}) from stdin (format {format})

-- name: analyze
analyze {stage}

-- name: delete_vanished
delete from {table} t where t.tenant = {tenant} and not exists (select from {stage} s where {same})

-- name: delete_changed
delete from {table} t using {stage} s where t.tenant = {tenant} and {same}

-- name: delete_all
delete from {table} t where t.tenant = {tenant}

-- name: update_changed
update {table} t set {assignments} from {stage} s where t.tenant = {tenant} and {same}

-- name: insert_new
insert into {table} ({columns}) overriding system value
select {columns} from {stage} s where not exists (select from {table} t where t.tenant = {tenant} and {same})

-- name: and_also
 union all

-- name: count
select {name}::text as name, count(*) as rows from {table} t where t.tenant = {tenant} and {changed}

-- name: digest_here
select {name}::text as name, count(*) as rows, coalesce(sum(('x' || substr(md5(record_send(r)), 1, 16))::bit(64)::bigint), 0)::text as digest
from (select {values} from {table} t where t.tenant = {tenant}) r

-- name: digest_elsewhere
select {name}::text as name, count(*) as rows, coalesce(sum(('x' || substr(md5(r::text), 1, 16))::bit(64)::bigint), 0)::text as digest
from (select {values} from {table} t where t.tenant = {tenant}) r

-- name: foreign_collections
-- Collections of others with the same numbers: documents of both would lie beside each other in the indexes.
select count(*) as found from collections c where c.tenant <> %(tenant)s and c.id = any(%(ids)s::integer[])

-- name: collections
select id from collections where tenant = %(tenant)s

-- name: depart
insert into departed_tenants (tenant, cell, version) values (%(tenant)s, %(cell)s, %(version)s)
on conflict (tenant) do update set cell = excluded.cell, version = excluded.version, at = now()

-- name: departed
select cell, version from departed_tenants where tenant = %(tenant)s

-- name: arrive
delete from departed_tenants where tenant = %(tenant)s and version < %(version)s

-- name: delete_batch
delete from {table} where tenant = {tenant}
  and ctid = any(array(select b.ctid from {table} b where b.tenant = {tenant} limit {most}))

-- name: begin_move
insert into tenant_moves (tenant, source, target, version, state) values (%(tenant)s, %(source)s, %(target)s, %(version)s, 'copying')
on conflict (tenant) do update set source = excluded.source, target = excluded.target, version = excluded.version, state = 'copying',
  seen = null, passes = 0, started_at = now()

-- name: move
select source, target, version, state, seen, passes from tenant_moves where tenant = %(tenant)s

-- name: note_pass
update tenant_moves set seen = %(seen)s, passes = passes + 1 where tenant = %(tenant)s

-- name: note_switch
update tenant_moves set state = 'switched' where tenant = %(tenant)s

-- name: end_move
delete from tenant_moves where tenant = %(tenant)s
