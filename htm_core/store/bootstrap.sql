-- name: state
select current_setting('server_version_num')::int as server,
       (select extversion from pg_extension where extname = 'vector') as vector,
       (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector') as home,
       (select count(*) from pg_roles where rolname in ('htm_owner', 'htm_app', 'htm_worker')) as roles,
       to_regnamespace(%(schema)s) is not null as has_schema,
       (select rolsuper from pg_roles where rolname = current_user) as superuser,
       case when exists (select from pg_roles where rolname = 'htm_owner')
            then pg_has_role(current_user, 'htm_owner', 'member') else false end as owner,
       current_user as login, current_database() as database

-- name: roles
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
  end loop;
end $$

-- name: extension
create extension if not exists vector

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
  version integer primary key, name text not null, digest text not null, applied_at timestamptz not null default now()
);
grant select on migrations to htm_app, htm_worker

-- name: applied
select version, name, digest from migrations order by version

-- name: record
insert into migrations (version, name, digest) values (%(version)s, %(name)s, %(digest)s)

-- name: rights
-- Functions are for the application and the worker, not for everybody who can reach the schema.
do $$
begin
  execute format('revoke execute on all functions in schema %I from public', current_schema());
  execute format('grant execute on all functions in schema %I to htm_app, htm_worker', current_schema());
end $$

-- name: lock
select pg_advisory_xact_lock(hashtext('htm-memory migrations'), hashtext(%(schema)s))

-- name: enter
select set_config('htm.schema', %(schema)s, true), set_config('lock_timeout', '30s', true)

-- name: become_owner
set local role htm_owner

-- name: become_self
reset role

-- name: settle
select set_config('search_path', %(path)s, true)

-- name: load_vector
select '[1]'::vector

-- name: script_settle
select set_config('search_path', format('"%s", "%s", pg_temp', current_setting('htm.schema'), n.nspname), true)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'
