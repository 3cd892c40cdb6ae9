-- Erasing a whole tenant: every table with rows of tenants is read from the catalog, so none is left out (functions/cells.sql).

-- The tables that are emptied, children first, each with its schema, and the columns by which a row is the same row. The audit stays: it
-- shows what was erased. `is_basis` says of those that whoever writes takes to be there, or numbers what is written by.
create or replace function htm.erased_tables() returns table (name text, place text, key text, is_basis boolean)
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  select m.name,
         (select format('%s.%I', t.typnamespace::regnamespace, m.name) from pg_type t where t.oid = pg_typeof(null::htm.tenants)),
         (select string_agg(quote_ident(k), ', ') from unnest(m.key) k),
         m.name in ('tenants', 'robots', 'models', 'lexicon', 'sessions', 'working_sets', 'groups', 'collections')
  from htm.moved_tables() m where m.name not in ('audit', 'audit_chains') order by m.depth desc, m.name desc;
end;

-- Refuses whoever does not work for everybody of the tenant.
create or replace function htm.refuse_some_owners() returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if not htm.owner_is_claimed('' || chr(1)) then   -- a name that nobody has: claimed by who claims everybody
    raise exception 'a tenant is erased by who works for everybody' using errcode = 'insufficient_privilege';
  end if;
end $$;

-- How many rows the tenant has in each of these tables that has any; or of the basis alone.
create or replace function htm.count_tenant_rows(of_basis boolean) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); found jsonb := '{}'; counted bigint; t record;
begin
  perform htm.refuse_some_owners();
  for t in select * from htm.erased_tables() e where e.is_basis or not of_basis loop
    execute format('select count(*) from %s where tenant = $1', t.place) into counted using me;
    if counted > 0 then found := found || jsonb_build_object(t.name, counted); end if;
  end loop;
  return found;
end $$;

-- Deletes up to so many rows of the tenant, with or without the basis, and answers with how many of each table. Triggers do nothing
-- meanwhile: what they keep in order goes as well.
create or replace function htm.erase_tenant_rows(most integer, with_basis boolean) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); deleted jsonb := '{}'; room integer := most; gone integer; t record;
begin
  perform htm.refuse_some_owners(), set_config('htm.moving', 'on', true);
  for t in select * from htm.erased_tables() e where with_basis or not e.is_basis loop
    execute format('delete from %1$s where tenant = $1 and (%2$s) in (select %2$s from %1$s where tenant = $1 limit $2)',
                   t.place, t.key) using me, room;
    get diagnostics gone = row_count;
    if gone > 0 then deleted := deleted || jsonb_build_object(t.name, gone); end if;
    room := room - gone;
    exit when room <= 0;
  end loop;
  perform set_config('htm.moving', '', true);
  return deleted;
end $$;

-- Keeps all writers of these tables waiting until the end of the transaction; readers go on. Always in one order.
create or replace function htm.hold_writers() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare t record;
begin
  perform htm.refuse_some_owners();
  for t in select * from htm.erased_tables() loop
    execute format('lock table %s in share row exclusive mode', t.place);
  end loop;
end $$;

-- The move of this tenant that is running or was interrupted, as the directory in this schema has it.
create or replace function htm.unfinished_move(out target text, out state text)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select m.target, m.state from htm.tenant_moves m where m.tenant = htm.this_tenant();
end;
