-- name: insert
-- Waits for every transaction that has inserted one of these rows and has not ended, whether or not it has deleted it again.
insert into locks (tenant, name) select this_tenant(), given.name from unnest(%(names)s::bytea[]) given(name) order by given.name
on conflict (tenant, name) do update set name = excluded.name

-- name: delete
delete from locks where tenant = this_tenant() and name = any(%(names)s::bytea[])
