-- What is otherwise in the functions of a distributed schema (citus_code.py): each with what it stands for, NAME and NAME_here. {tables} is
-- the schema of the tables, {nodes} and the like are shards, {shards} those of all tables as JSON.

-- name: walls_place
place constant text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = (select w.tableoid from htm.user_walls w));

-- name: walls_place_here
place constant text := '"{tables}"';
  stored constant jsonb := '{shards}';

-- name: walls_by_owner
foreach guarded in array by_owner loop

-- name: walls_by_owner_here
foreach guarded in array by_owner loop
    guarded := stored ->> guarded;

-- name: walls_by_parent
foreach parent slice 1 in array by_parent loop

-- name: walls_by_parent_here
foreach parent slice 1 in array by_parent loop
    parent := array[stored ->> parent[1], stored ->> parent[2], parent[3]];

-- name: walls_audit_before
'drop policy if exists user_wall on %s.audit', place

-- name: walls_audit_before_here
'drop policy if exists user_wall on %s.{audit}', place

-- name: walls_audit
'create policy user_wall on %s.audit as restrictive

-- name: walls_audit_here
'create policy user_wall on %s.{audit} as restrictive

-- name: sessions_rows
(select s.tableoid from htm.sessions s limit 1)

-- name: sessions_rows_here
to_regclass('"{tables}".{sessions}')

-- name: leaves
where c.oid in (select i.inhrelid from pg_inherits i where i.inhparent = of_table)
     or c.oid = of_table and not exists (select from pg_inherits i where i.inhparent = of_table);

-- name: leaves_here
where c.relnamespace = to_regnamespace('"{tables}"')
    and c.relname = ('{shards}'::jsonb ->> (select v.relname::text from pg_class v where v.oid = of_table));

-- name: newest
select from htm.jobs j
    where j.kind = of_kind and j.model = of_model and j.bulk = of_class

-- name: newest_here
select j.tenant, j.id from htm.jobs j
    where j.kind = of_kind and j.model = of_model and j.bulk = of_class

-- name: of_newest
where current of newest

-- name: of_newest_here
where j.tenant = job.tenant and j.id = job.id

-- name: due
select from htm.jobs j
    where j.tenant = of_tenant and j.node_id between

-- name: due_here
select j.tenant, j.id from htm.jobs j
    where j.tenant = of_tenant and j.node_id between

-- name: of_due
where current of due

-- name: of_due_here
where j.tenant = job.tenant and j.id = job.id

-- name: sizes_name
select c.relname::text as name, parts.bytes

-- name: sizes_name_here
select regexp_replace(c.relname::text, '_[0-9]+$', '') as name, parts.bytes

-- name: sizes_tables
array['htm.nodes', 'htm.mentions', 'htm.passages', 'htm.vectors']::regclass[]

-- name: sizes_tables_here
array[to_regclass('"{tables}".{nodes}'), to_regclass('"{tables}".{mentions}'),
                           to_regclass('"{tables}".{passages}'), to_regclass('"{tables}".{vectors}')]

-- name: common_name
select s.tablename::text as name, f.tenant, f.share from pg_stats s

-- name: common_name_here
select regexp_replace(s.tablename::text, '_[0-9]+$', '') as name, f.tenant, f.share from pg_stats s

-- name: common_table
(s.schemaname::text, s.tablename::text) in

-- name: common_table_here
(s.schemaname::text, regexp_replace(s.tablename::text, '_[0-9]+$', '')) in

-- name: moving_owner
and current_user = (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = (select m.tableoid from htm.migrations m limit 1));

-- name: moving_owner_here
and current_user = (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = to_regclass('"{tables}".{tenants}'));

-- name: moved_here
declare here constant oid := (select c.relnamespace from pg_class c where c.oid = (select m.tableoid from htm.migrations m limit 1));
begin
  return query

-- name: moved_here_here
declare here constant oid := to_regnamespace('"{tables}"');
begin
  return query

-- name: sized_here
declare here constant oid := (select c.relnamespace from pg_class c where c.oid = (select m.tableoid from htm.migrations m limit 1));
begin
  select coalesce

-- name: sized_here_here
declare here constant oid := to_regnamespace('"{tables}"');
begin
  select coalesce

-- name: moved_name
select c.oid, c.relname::text as name from pg_class c

-- name: moved_name_here
select c.oid, regexp_replace(c.relname::text, '_[0-9]+$', '') as name from pg_class c

-- name: moved_besides
and c.relname not in ('tenant_cells'

-- name: moved_besides_here
and regexp_replace(c.relname::text, '_[0-9]+$', '') not in ('tenant_cells'

-- name: moved_numbers
and (a.attidentity <> '' or

-- name: moved_numbers_here
and (exists (select from pg_attribute v
                         where v.attrelid = to_regclass(format('%I.%I', left('{tables}', -7), o.name)) and v.attname = a.attname and v.atthasdef) or

-- name: sized_names
filter (where c.relname in ('nodes'

-- name: sized_names_here
filter (where regexp_replace(c.relname::text, '_[0-9]+$', '') in ('nodes'
