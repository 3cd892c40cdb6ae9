-- The tenant of a transaction, and the policy that keeps tenants apart.

-- Refuses a transaction in which no tenant is set.
create or replace function htm.refuse_missing_tenant() returns text
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'no tenant is set in this transaction'
    using errcode = 'insufficient_privilege', hint = 'select set_config(''htm.tenant'', ''NAME'', true) first';
end $$;

-- One expression without settings, so that PostgreSQL inlines it: every statement asks for the tenant, many of them per row.
create or replace function htm.this_tenant() returns text language sql stable parallel safe
begin atomic
  select coalesce(nullif(current_setting('htm.tenant', true), ''), htm.refuse_missing_tenant());
end;

-- Lets tenants see and write only their own rows of a table. The owner is not bound by it, and serves no verbs.
create or replace procedure htm.add_tenant_policy(protected regclass)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('alter table %s enable row level security', protected);
  execute format('create policy tenant_isolation on %s to htm_app, htm_worker '
                 'using (tenant = (select htm.this_tenant())) with check (tenant = (select htm.this_tenant()))', protected);
  execute format('grant select, insert, update, delete on %s to htm_app, htm_worker', protected);
end $$;

-- The ids of a list, whose length PostgreSQL does not know: it takes the list for one row, and `array(select each_id(…))` for ten, and so
-- for few look-ups by a key, whatever it knows of the tables. Where it has no statistics yet it takes every tenant for small: for a list
-- of a hundred ids it would then read all that the tenant has. Never "in (select each_id(…))", which is a join: where the statistics are
-- those of a tenant of one row, it would make the list again for each row of the tenant. Strict, since else it would be inlined, and its
-- one row with it.
create or replace function htm.each_id(ids uuid[]) returns setof uuid language sql immutable strict parallel safe rows 1
begin atomic
  select unnest(ids);
end;

-- The time by which a transaction sees what has expired: the memory's, which it sets, else the server's.
create or replace function htm.memory_time() returns timestamptz language sql stable parallel safe
begin atomic
  select coalesce(nullif(current_setting('htm.now', true), '')::timestamptz, now());
end;
