-- name: extension
-- Whether Citus is in this database, and whether schemas are to be distributed.
select current_setting('citus.enable_schema_based_sharding', true) = 'on' as wanted from pg_extension where extname = 'citus'

-- name: cell
-- Where the tables of a schema live: the node's name and port, one of the shards, and whether this is that node.
select n.nodename as host, n.nodeport as port, p.shardid as shard, p.groupid = l.groupid as is_here
from pg_dist_schema d join pg_dist_partition t on t.colocationid = d.colocationid join pg_dist_shard s on s.logicalrelid = t.logicalrelid
join pg_dist_placement p on p.shardid = s.shardid and p.shardstate = 1
join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' cross join pg_dist_local_group l
where d.schemaid = to_regnamespace(%(tables)s) order by p.shardid limit 1

-- name: coordinator
select n.nodename as host, n.nodeport as port, l.groupid = 0 as is_here
from pg_dist_local_group l left join pg_dist_node n on n.groupid = 0

-- name: prepare
-- The schema of functions and views is an ordinary one. What is made in the transaction is first made in one order on all nodes.
select set_config('citus.enable_schema_based_sharding', 'off', true), set_config('citus.multi_shard_modify_mode', 'sequential', true)

-- name: roles_everywhere
-- Roles that were made before this server was a coordinator. Each node makes its own and tells no other, as they would wait for one
-- another. Gives the nodes that could not.
select n.nodename as host, n.nodeport as port, min(r.result) as answer
from unnest(%(roles)s::text[]) as role,
     lateral run_command_on_all_nodes(format($run$do $do$ begin
       if to_regrole(%%L) is null then
         perform set_config('citus.enable_ddl_propagation', 'off', true);
         create role %%I nologin;
       end if;
     end $do$$run$, role, role)) r
left join pg_dist_node n on n.nodeid = r.nodeid
where not r.success and r.result !~ 'already exists'
group by 1, 2

-- name: owner_may_log_in
-- As the owner of the tables Citus goes from one node to another to move them. Without a password nobody else can, where pg_hba.conf asks
-- for one.
alter role htm_owner login

-- name: propagate
select set_config('citus.enable_ddl_propagation', %(on)s, true)

-- name: may_lock_roles
select has_table_privilege('pg_catalog.pg_authid', 'update') as may

-- name: only_one
-- A lock that nobody but an administrator can hold. There is no table of ours yet, or it is about to be brought here.
select r.oid from pg_catalog.pg_authid r where r.rolname = %(owner)s for update

-- name: drop_code
-- Functions, procedures and views, which would make the tables depend on what depends on them.
do $$
declare code record;
begin
  for code in select p.oid, p.prokind from pg_proc p
              where p.pronamespace = current_setting('htm.schema')::regnamespace and p.proname not in ('enter_node', 'settle_node') loop
    if exists (select from pg_proc p where p.oid = code.oid) then
      execute format('drop %s %s cascade', case code.prokind when 'p' then 'procedure' else 'function' end, code.oid::regprocedure);
    end if;
  end loop;
  for code in select c.oid from pg_class c where c.relnamespace = current_setting('htm.schema')::regnamespace and c.relkind = 'v' loop
    if exists (select from pg_class c where c.oid = code.oid) then execute format('drop view %s cascade', code.oid::regclass); end if;
  end loop;
end $$

-- name: partitioned
select c.relname as name from pg_class c where c.relnamespace = to_regnamespace(%(schema)s) and c.relkind = 'p'

-- name: types
select t.typname as name, string_agg(format('%%I %%s%%s', a.attname, format_type(a.atttypid, a.atttypmod),
         case when a.attcollation <> y.typcollation then (select format(' collate %%I', o.collname) from pg_collation o where o.oid = a.attcollation)
         else '' end), ', ' order by a.attnum) as columns
from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
join pg_attribute a on a.attrelid = c.oid and not a.attisdropped join pg_type y on y.oid = a.atttypid
where t.typnamespace = to_regnamespace(%(schema)s) group by t.oid, t.typname order by t.oid

-- name: grants
-- What others than the owner may do with each table, or with some of its columns.
select c.relname as table, a.privilege_type as privilege, '' as columns, pg_get_userbyid(a.grantee) as role
from pg_class c, aclexplode(c.relacl) a
where c.relnamespace = to_regnamespace(%(schema)s) and c.relkind = 'r' and a.grantee not in (0, c.relowner)
union all
select c.relname, a.privilege_type, format('(%%I)', t.attname), pg_get_userbyid(a.grantee)
from pg_class c join pg_attribute t on t.attrelid = c.oid and t.attnum > 0 and not t.attisdropped, aclexplode(t.attacl) a
where c.relnamespace = to_regnamespace(%(schema)s) and c.relkind = 'r' and a.grantee not in (0, c.relowner)
order by 1, 2, 3, 4

-- name: policies
-- But for the wall between users, which is put up again by its procedure.
select c.relname as table, p.polname as name, case when p.polpermissive then 'permissive' else 'restrictive' end as kind,
       case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end as command,
       (select string_agg(pg_get_userbyid(r), ', ' order by r) from unnest(p.polroles) r) as roles,
       pg_get_expr(p.polqual, p.polrelid) as condition, pg_get_expr(p.polwithcheck, p.polrelid) as new_rows
from pg_policy p join pg_class c on c.oid = p.polrelid
where c.relnamespace = to_regnamespace(%(schema)s) and p.polname <> 'user_wall' order by 1, 2

-- name: identities
-- Columns that number their rows. On a node that is not the coordinator the numbers of a distributed sequence are no integers.
select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
where c.relnamespace = to_regnamespace(%(schema)s) and c.relkind = 'r' order by 1, 2

-- name: strip
-- Takes from the tables what is only for the node that they live on, and puts them into their schema.
do $$
declare each record; tables constant text := current_setting('htm.schema') || '_tables';
begin
  for each in select p.polname, p.polrelid from pg_policy p join pg_class c on c.oid = p.polrelid
              where c.relnamespace = current_setting('htm.schema')::regnamespace loop
    execute format('drop policy %I on %s', each.polname, each.polrelid::regclass);
  end loop;
  for each in select i.indexrelid from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam and m.amname = 'hnsw'
              where c.relnamespace = current_setting('htm.schema')::regnamespace loop
    execute format('drop index %s', each.indexrelid::regclass);
  end loop;
  for each in select c.oid, c.relpersistence as kept from pg_class c
              where c.relnamespace = current_setting('htm.schema')::regnamespace and c.relkind = 'r' loop
    execute format('revoke all on %s from htm_app, htm_worker', each.oid::regclass);
    if each.kept = 'u' then execute format('alter table %s set logged', each.oid::regclass); end if;  -- logical replication moves it
    execute format('alter table %s set schema %I', each.oid::regclass, tables);
  end loop;
  for each in select c.oid, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> ''
              where c.relnamespace = tables::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s alter column %I drop identity', each.oid::regclass, each.attname);
  end loop;
end $$

-- name: tables_schema
do $$ begin execute format('create schema if not exists %I authorization htm_owner', current_setting('htm.schema') || '_tables'); end $$

-- name: steps_table
create table {tables}.node_steps (position integer primary key, kind text not null, command text not null)

-- name: distribute
select citus_schema_distribute(to_regnamespace(%(tables)s))

-- name: undistribute
select citus_schema_undistribute(to_regnamespace(%(tables)s))

-- name: bring_back
-- Puts the tables into the schema where migrations look for them.
do $$
declare each oid; tables constant text := current_setting('htm.schema') || '_tables';
begin
  execute format('drop table if exists %I.node_steps', tables);
  for each in select c.oid from pg_class c where c.relnamespace = tables::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s set schema %I', each::regclass, current_setting('htm.schema'));
  end loop;
end $$

-- name: saved_steps
select command from {steps} where kind = 'restore' order by position

-- name: shards
select c.relname as name, c.relname || '_' || s.shardid as stored, s.shardid as shard
from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
where c.relnamespace = to_regnamespace(%(tables)s) order by s.shardid

-- name: remove_steps
delete from {steps} where kind = any(%(kinds)s)

-- name: add_step
insert into {steps} (position, kind, command) values (%(position)s, %(kind)s, %(command)s)

-- name: step_type
do $step$ begin
  create type {type} as ({columns});
exception when duplicate_object then null; end $step$

-- name: step_view
create or replace view {view} with (security_invoker = {invoker}) as select * from {stored}

-- name: step_usage
grant usage on schema {tables} to {app}, {worker}

-- name: step_grant
grant {privilege} {columns} on {table} to {role}

-- name: restore_numbers
alter table {table} alter column {column} add generated always as identity;
select setval(pg_get_serial_sequence({table_text}, {column_text}), (select coalesce(max({column}), 0) + 1 from {table}), false)

-- name: step_policy
drop policy if exists {name} on {table};
create policy {name} on {table} as {kind} for {command} to {roles} {conditions}

-- name: step_numbers
-- The numbers go on after the highest one, also when the rows have come from another node. Each cell has a range of its own.
create sequence if not exists {sequence} as integer;
select setval({sequence_text}, (
  select greatest(coalesce(max(t.{column}) filter (where t.{column} < c.first + 1048576), 0) + 1, c.first)::integer
  from (select 1048576 * n.number as first from {cells} n where n.name = 'home') c left join {stored} t on true group by c.first), false);
grant usage on sequence {sequence} to {app}, {worker};
alter view {view} alter column {column} set default nextval({sequence_text})

-- name: step_rights
revoke execute on all functions in schema {schema} from public;
grant execute on all functions in schema {schema} to {app}, {worker};
revoke execute on function {settle_node}() from {app}, {worker}

-- name: step_walls
do $step$ begin
  if (select enabled from {walls}) then call {set_user_walls}(true); end if;
end $step$

-- name: step_indexes
-- Citus moves no index that is on one node alone: a worker builds it again.
update {spaces} s set
  indexed = s.indexed and to_regclass(format('%%I.%%I', {tables_text}, {hnsw_name}({vectors_text}, s))) is not null,
  documents_indexed = s.documents_indexed and to_regclass(format('%%I.%%I', {tables_text}, {documents_text} || '_hnsw_' || s.id)) is not null
where s.indexed or s.documents_indexed

-- name: step_here
-- It goes with the tables when they leave this node, and so says whether all of this is made for them.
create view {here} as select from {stored} limit 0

-- name: define_enter_node
-- Each transaction calls it before anything else. Citus waits for those who hold this lock before it ends a move, and they may rely on
-- the tables being here until they have committed. The catalogue shows shards to these transactions, which it hides from others.
create or replace function {enter_node}() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform lock_shard_metadata(5, array[{shard}]);
  if not exists (select from pg_dist_placement p join pg_dist_local_group l on l.groupid = p.groupid
                 where p.shardid = {shard} and p.shardstate = 1) then
    raise exception 'the memories of the schema % live on another node of the cluster', {schema_text} using errcode = 'HT003';
  end if;
  perform set_config('citus.override_table_visibility', 'off', true);
  if to_regclass({here_text}) is null then perform {settle_node}(); end if;
end $$

-- name: define_settle_node
-- Makes on this node what the tables that live on it need, if it is not there: views of them by their own names, rights, policies, functions.
create or replace function {settle_node}() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare step text; before constant text := current_setting('citus.enable_ddl_propagation');
begin
  -- Whoever comes second waits here. Only the owner, as whom this runs, may lock a step.
  perform from (select from {steps} s order by s.position limit 1 for update) first;
  -- Not to_regclass, which may not have heard yet of what another session has made meanwhile.
  if exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = {schema_text} and c.relname = {here_name}) then
    return;
  end if;
  perform set_config('citus.enable_ddl_propagation', 'off', true);
  for step in select s.command from {steps} s where s.kind <> 'restore' order by s.position loop execute step; end loop;
  perform set_config('citus.enable_ddl_propagation', before, true);
end $$

-- name: own_entrance
alter function {function}() owner to {owner}

-- name: close_entrance
revoke execute on function {function}() from public

-- name: open_entrance
grant execute on function {function}() to {app}, {worker}

-- name: enter
select {enter_node}()

-- name: settle
select {settle_node}()

-- name: forget_here
drop view if exists {here}

-- name: drop_schema
drop schema if exists {schema} cascade

-- name: move_schema
select citus_schema_move(to_regnamespace(%(tables)s), %(host)s, %(port)s)

-- name: show_shards
-- To this session, in the catalogue; and let it lock them.
select set_config('citus.override_table_visibility', 'off', false), set_config('citus.enable_manual_changes_to_shards', 'on', false)

-- name: nodes
select nodename as host, nodeport as port, groupid = 0 as coordinates, isactive and (metadatasynced or groupid = 0) as active,
       shouldhaveshards as holds
from pg_dist_node where noderole = 'primary' order by groupid

-- name: ask_nodes
-- Each node in its own words; what does not answer says why.
select n.nodename as host, n.nodeport as port, r.success, r.result
from run_command_on_all_nodes(
  'select json_build_object(''postgresql'', current_setting(''server_version''), ''citus'', (select extversion from pg_extension where extname = ''citus''),'
  ' ''pgvector'', (select extversion from pg_extension where extname = ''vector''), ''bytes'', pg_database_size(current_database()),'
  ' ''wal_level'', current_setting(''wal_level''))') r
join pg_dist_node n on n.nodeid = r.nodeid
order by n.groupid

-- name: leftovers
-- What a move or an interrupted one has left to be dropped.
select count(*) as left from pg_dist_cleanup
