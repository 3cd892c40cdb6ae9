-- name: pin
-- Before anything else: on the path of a login, another login's function may fit a call better than PostgreSQL's own.
set local search_path = pg_catalog, pg_temp

-- name: state
select current_setting('server_version_num')::int as server,
       (select extversion from pg_extension where extname = 'vector') as vector,
       (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector') as home,
       (select count(*) from pg_roles where rolname in ('htm_owner', 'htm_app', 'htm_worker')) as roles,
       (select bool_and(rolcanlogin) from pg_roles where rolname in ('htm_owner', 'htm_app', 'htm_worker')) as log_in,
       to_regnamespace(%(schema)s) is not null as has_schema,
       (select rolsuper from pg_roles where rolname = current_user) as superuser,
       case when exists (select from pg_roles where rolname = 'htm_owner')
            then pg_has_role(current_user, 'htm_owner', 'member') else false end as owner,
       current_user as login, current_database() as database

-- name: roles
-- Their members may connect also where an administrator has taken that right from everybody else.
do $$
declare wanted text;
begin
  foreach wanted in array array['htm_owner', 'htm_app', 'htm_worker'] loop
    begin
      if not exists (select from pg_roles where rolname = wanted) then
        execute format('create role %I nologin', wanted);
      end if;
    exception when duplicate_object or unique_violation then null;  -- another database of this cluster was as quick
    end;
    if not pg_has_role(current_user, wanted, 'member') then
      execute format('grant %I to %I', wanted, current_user);
    end if;
    if has_database_privilege(current_database(), 'connect with grant option') then
      execute format('grant connect on database %I to %I', current_database(), wanted);
    end if;
  end loop;
end $$

-- name: only_members_connect
-- Without this every login of the server may connect here. Where another application uses the same database, grant connect to its
-- logins as well.
do $$ begin execute format('revoke connect on database %I from public', current_database()); end $$

-- name: right_database
do $$
begin
  if current_database() <> current_setting('htm.database') then
    raise exception 'this script is for the database %, after which its roles are named; this one is %',
      current_setting('htm.database'), current_database()
      using hint = 'print one for this database: htm migrate --sql --url, or with --roles PREFIX';
  end if;
end $$

-- name: extension
-- In a schema of its own, in which nobody else may create.
do $$
begin
  if exists (select from pg_extension where extname = 'vector') then return; end if;
  if to_regnamespace('pgvector') is null then
    create schema pgvector;
    grant usage on schema pgvector to public;
  elsif not (select r.rolsuper or r.rolname = current_user from pg_namespace n join pg_roles r on r.oid = n.nspowner
             where n.nspname = 'pgvector') then
    raise exception 'the schema pgvector belongs to somebody else, who may put functions there' using errcode = 'insufficient_privilege';
  end if;
  create extension vector schema pgvector;
end $$

-- name: creators
-- Who may create in these schemas beside superusers and the owner: their functions and operators would lie beside ours.
select n.nspname as schema, coalesce(r.rolname, 'public') as role, r.oid is not distinct from n.nspowner as owns_it
from pg_namespace n
cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
join pg_database d on d.datname = current_database()
left join pg_roles r on r.oid = case when a.grantee = 'pg_database_owner'::regrole::oid then d.datdba else a.grantee end
where n.nspname = any(%(schemas)s::name[]) and a.privilege_type = 'CREATE'
  and (a.grantee = 0 or not (r.rolsuper or pg_has_role(r.oid, 'htm_owner', 'member')))
group by 1, 2, 3 order by 1, 2

-- name: schema
do $$
begin
  execute format('create schema if not exists %I authorization htm_owner', current_setting('htm.schema'));
  execute format('grant usage on schema %I to htm_app, htm_worker', current_setting('htm.schema'));
end $$

-- name: logins
alter role htm_owner login; alter role htm_app login; alter role htm_worker login

-- name: history
create table if not exists migrations (
  version integer primary key, name text not null, digest text not null, applied_at timestamptz not null default now(),
  oldest_client integer not null                -- processes of this schema version and newer may go on beside it
);
create table if not exists function_files (
  name text primary key, digest text not null, release text not null, applied_at timestamptz not null default now()
)

-- name: history_rights
grant select on migrations, function_files to htm_app, htm_worker

-- name: applied
-- Through jsonb, since the table of a version before 0.1.0 lacks the last column.
select version, digest, (to_jsonb(m) ->> 'oldest_client')::integer as oldest_client from migrations m order by version

-- name: applied_functions
-- Without its digest where the extension was moved since: the text names its schema, and has to be applied again.
select f.name, f.release,
       case when to_jsonb(f) ->> 'extension_schema' is not distinct from n.nspname then f.digest else '' end as digest
from function_files f
left join pg_extension e on e.extname = 'vector' left join pg_namespace n on n.oid = e.extnamespace

-- name: record
insert into migrations (version, name, digest, oldest_client)
values (%(version)s, %(name)s, %(digest)s, %(oldest_client)s)

-- name: record_functions
insert into function_files (name, digest, release, extension_schema)
values (%(name)s, %(digest)s, %(release)s, %(extension_schema)s)
on conflict (name) do update set digest = excluded.digest, release = excluded.release,
                                 extension_schema = excluded.extension_schema, applied_at = now()

-- name: older_clients
-- Connections to this schema of processes that know only an older version of it: each pool says which it knows. What other logins
-- call themselves counts for nothing.
select a.pid, coalesce(a.usename, '') as login, coalesce(host(a.client_addr), 'this machine') as address, c.client
from pg_stat_activity a, lateral (
  select substring(a.application_name from '^htm/' || %(schema)s || '/(\d+)(?:/cells)?$')::integer as client) c
where a.datname = current_database() and a.pid <> pg_backend_pid() and c.client < %(oldest)s
  and (pg_has_role(a.usesysid, 'htm_app', 'member') or pg_has_role(a.usesysid, 'htm_worker', 'member'))
order by a.pid

-- name: rights
-- Functions are for the application and the worker, not for everybody who can reach the schema.
do $$
begin
  execute format('revoke execute on all functions in schema %I from public', current_schema());
  execute format('grant execute on all functions in schema %I to htm_app, htm_worker', current_schema());
end $$

-- name: user_walls
-- Where the wall between users is up, tables and conditions that are new to it come behind it too.
do $$
begin
  if (select enabled from user_walls) then call set_user_walls(true); end if;
end $$

-- name: lock
-- Whoever may read the table can go on reading it, and whoever may not can lock nothing.
lock table migrations in share row exclusive mode

-- name: enter
select set_config('htm.schema', %(schema)s, true), set_config('lock_timeout', '30s', true)

-- name: become_owner
set local role htm_owner

-- name: become_self
reset role

-- name: settle
select set_config('search_path', %(path)s, true)

-- name: load_vector
select '[1]'::pgvector.vector

-- name: script_extension
do $$
begin
  if not exists (select from pg_extension where extname = 'vector' and extnamespace = to_regnamespace(current_setting('htm.extension'))) then
    raise exception 'this script is for the extension vector in the schema %, and it is in another',
      current_setting('htm.extension')
      using hint = 'htm migrate --sql --extension-schema SCHEMA prints the script for that schema';
  end if;
end $$
