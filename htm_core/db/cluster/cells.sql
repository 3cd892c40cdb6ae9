-- name: all
select name, number, place, url, takes_new, state from cells order by number

-- name: locate
select cell, version from locate_tenant()

-- name: strangers
-- Connections of processes that would not ask in which cell a tenant is.
select a.pid, coalesce(a.usename, '') as login, coalesce(host(a.client_addr), 'this machine') as address
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.application_name ~ ('^htm/' || current_schema() || '/\d+$')
  and (pg_has_role(a.usesysid, 'htm_app', 'member') or pg_has_role(a.usesysid, 'htm_worker', 'member'))
order by a.pid

-- name: tenants_here
select tenant from tenants limit 1

-- name: begin_collections
select setval(pg_get_serial_sequence(c.oid::regclass::text, 'id'), %(first)s, false) from pg_class c
where c.oid = (select a.attrelid from pg_attribute a join pg_class t on t.oid = a.attrelid
               where t.relnamespace = current_schema()::regnamespace and t.relname = 'collections' and a.attname = 'id')
  and not exists (select from collections)

-- name: begin_numbers
-- The number of this cell, in whose range it numbers collections on each node of a cluster.
update cells set number = %(number)s where name = 'home'

-- name: channel
select name from notification_channel

-- name: set_channel
update notification_channel set name = %(name)s

-- name: next_number
select coalesce(max(number), 0) + 1 as number from cells

-- name: add
insert into cells (name, number, place, url, takes_new) values (%(name)s, %(number)s, %(place)s, %(url)s, %(takes_new)s)

-- name: set_takes_new
update cells set takes_new = %(takes_new)s where name = %(name)s

-- name: set_state
update cells set state = %(state)s where name = %(name)s

-- name: remove
delete from cells where name = %(name)s

-- name: counts
select cell, count(*) as tenants from tenant_cells group by cell

-- name: moves_of
select tenant, source, target, version, state, passes, started_at from tenant_moves
where %(tenant)s::text is null or tenant = %(tenant)s order by started_at

-- name: size
select rows, bytes from cell_size()

-- name: drop_schema
drop schema {schema} cascade

-- name: tenants_of
-- Those that have rows here, largest first: by their memories and documents.
select t.tenant, coalesce(m.n, 0) + coalesce(d.n, 0) as rows
from tenants t
left join (select tenant, count(*) as n from mentions group by tenant) m on m.tenant = t.tenant
left join (select tenant, count(*) as n from documents group by tenant) d on d.tenant = t.tenant
order by 2 desc, 1

-- name: place_of
select cell, version from tenant_cells where tenant = %(tenant)s

-- name: place_first
insert into tenant_cells (tenant, cell, version) values (%(tenant)s, %(cell)s, 1) on conflict (tenant) do nothing

-- name: place
insert into tenant_cells (tenant, cell, version) values (%(tenant)s, %(cell)s, %(version)s)
on conflict (tenant) do update set cell = excluded.cell, version = excluded.version, since = now()
where tenant_cells.version < excluded.version
