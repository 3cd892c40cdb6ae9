-- Cells: which one a tenant is in, the fence before each transaction, and what a move needs to know of the tables.

-- The number of the fence of a tenant.
create or replace function htm.fence_of(name text) returns integer language sql immutable strict parallel safe
begin atomic
  select hashtext(name) & 15;
end;

-- Begins a transaction of a tenant in this cell, by one who knows where it is as of a version. It waits while the tenant is being switched,
-- and is refused, with the cell that it is in, when it has left since. As the owner, who may lock what the application only reads.
create or replace function htm.enter_cell(known_version bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare left_for htm.departed_tenants;
begin
  execute format('lock table htm.fence_%s in access share mode', htm.fence_of(htm.this_tenant()));
  select * into left_for from htm.departed_tenants d where d.tenant = htm.this_tenant() and d.version > known_version;
  if found then
    raise exception 'the tenant lives in the cell % since %', left_for.cell, left_for.at
      using errcode = 'HT002', detail = jsonb_build_object('cell', left_for.cell, 'version', left_for.version)::text,
            hint = 'open its memory with Settings(cells=True), or HTM_CELLS=1';
  end if;
end $$;

-- Where this transaction's tenant is, by the directory of this schema. One that it does not know stays here when it has memories here, and
-- else begins in one of the cells that take new tenants, chosen by its name; without such cells here.
create or replace function htm.locate_tenant(out cell text, out version bigint)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare chosen text;
begin
  select t.cell, t.version into cell, version from htm.tenant_cells t where t.tenant = htm.this_tenant();
  if found then return; end if;
  if not exists (select from htm.tenants t where t.tenant = htm.this_tenant()) then
    select c.name into chosen from htm.cells c where c.takes_new and c.state = 'open'
    order by md5(c.name || E'\x1f' || htm.this_tenant()) limit 1;
  end if;
  insert into htm.tenant_cells (tenant, cell, version) values (htm.this_tenant(), coalesce(chosen, 'home'), 1) on conflict do nothing;
  select t.cell, t.version into cell, version from htm.tenant_cells t where t.tenant = htm.this_tenant();
end $$;

-- Whether this transaction copies or deletes a tenant's rows as they are: then triggers do nothing, since what they would do was done where
-- the rows come from. Only the owner can say so.
create or replace function htm.is_moving() returns boolean language sql stable
begin atomic
  select coalesce(current_setting('htm.moving', true), '') = 'on'
     and current_user = (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = (select m.tableoid from htm.migrations m limit 1));
end;

-- What a move locks, so that it is the only one. A view of nothing: Citus could move no table while it is locked, and waits for every
-- transaction that has written.
create or replace view htm.one_mover as select true as locked;

-- The tables with rows of tenants that go along in a move, parents first. `depth` counts how many tables each comes after. `key` are the columns
-- by which a row is the same row; `is_parent` says whether other tables refer to it; `is_deleted_late`, whether others may change what they
-- refer to in it, so that its rows can go only after those were changed; `seen_by_workers`, whether workers see its rows of all tenants, so
-- that they come last. What stays: the directory and who has left are about cells, tokens are looked up at home, locks is always empty.
create or replace function htm.moved_tables()
returns table (name text, columns text[], types text[], key text[], is_parent boolean, is_deleted_late boolean, seen_by_workers boolean, depth integer)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare here constant oid := (select c.relnamespace from pg_class c where c.oid = (select m.tableoid from htm.migrations m limit 1));
begin
  return query
  with recursive ours as (
    select c.oid, c.relname::text as name from pg_class c
    where c.relnamespace = here and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
      and exists (select from pg_policy w where w.polrelid = c.oid and w.polname = 'tenant_isolation')
      and c.relname not in ('tenant_cells', 'tenant_moves', 'departed_tenants', 'tokens')),
  edges as (
    select distinct f.conrelid as child, f.confrelid as parent, f.confdeltype from pg_constraint f
    where f.contype = 'f' and f.conrelid in (select oid from ours) and f.confrelid in (select oid from ours) and f.conrelid <> f.confrelid),
  paths as (
    select o.oid, 0 as depth from ours o
    union
    select e.child, p.depth + 1 from paths p join edges e on e.parent = p.oid)
  select o.name,
         (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
          where a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''),
         (select array_agg(format_type(a.atttypid, a.atttypmod) order by a.attnum) from pg_attribute a
          where a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''),
         (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
          where a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
            and (a.attidentity <> '' or a.attnum = any((select i.indkey from pg_index i where i.indrelid = o.oid and i.indisprimary)::int2[]))),
         exists (select from edges e where e.parent = o.oid),
         exists (select from edges e where e.parent = o.oid and e.confdeltype = 'a')
           and not exists (select from pg_index i where i.indrelid = o.oid and i.indisunique and not i.indisprimary),
         exists (select from pg_policy p where p.polrelid = o.oid and pg_get_expr(p.polqual, p.polrelid) = 'true'),
         (select max(p.depth) from paths p where p.oid = o.oid)
  from ours o order by 8, 1;
end $$;

-- How many tenants, rows and bytes a cell has, as far as the planner's statistics say for tables as wholes.
create or replace function htm.cell_size(out rows bigint, out bytes bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare here constant oid := (select c.relnamespace from pg_class c where c.oid = (select m.tableoid from htm.migrations m limit 1));
begin
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint,
         coalesce(sum(greatest(c.reltuples, 0)) filter (where c.relname in ('nodes', 'mentions', 'documents')), 0)::bigint
    into bytes, rows
  from pg_class c where c.relnamespace = here and c.relkind in ('r', 'm');
end $$;
