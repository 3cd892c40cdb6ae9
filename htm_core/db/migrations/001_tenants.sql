-- Tenants, and the policy that keeps them apart.
--
-- Every migration runs as htm_owner, with search_path = the product's schema, then the schema of the extension vector.
-- Functions, views and triggers are in ../functions; here is only what tables and policies need to exist.
--
-- Every transaction of a verb runs as htm_app with the setting htm.tenant. A missing setting is an error, never "all".

create function this_tenant() returns text language plpgsql stable parallel safe as $$
declare name text := pg_catalog.current_setting('htm.tenant', true);
begin
  if name is null or name = '' then
    raise exception 'no tenant is set in this transaction'
      using errcode = 'insufficient_privilege', hint = 'select set_config(''htm.tenant'', ''NAME'', true) first';
  end if;
  return name;
end $$;

-- Lets tenants see and write only their own rows of a table. The owner is not bound by it, and serves no verbs.
create procedure add_tenant_policy(protected regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', protected);
  execute format('create policy tenant_isolation on %s to htm_app, htm_worker '
                 'using (tenant = (select this_tenant())) with check (tenant = (select this_tenant()))', protected);
  execute format('grant select, insert, update, delete on %s to htm_app, htm_worker', protected);
end $$;
revoke execute on procedure add_tenant_policy(regclass) from public;

create table tenants (
  tenant     text primary key,
  created_at timestamptz not null default now()
);
call add_tenant_policy('tenants');

create table robots (
  tenant     text not null,
  name       text not null,
  created_at timestamptz not null default now(),
  active_at  timestamptz not null default now(),
  primary key (tenant, name)
);
call add_tenant_policy('robots');

-- A session's row hands out its sequence numbers. They are taken in the transaction that uses them, so there are no gaps.
create table sessions (
  tenant     text not null,
  owner      text not null,                     -- the user; '' is what everyone in the tenant shares
  session    text not null,                     -- '' is "no session named"
  last_seq   bigint not null default 0,
  created_at timestamptz not null default now(),
  primary key (tenant, owner, session)
) with (fillfactor = 50);
call add_tenant_policy('sessions');
