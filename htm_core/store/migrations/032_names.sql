-- Users, sessions, keys and robots have names in one normal form, Unicode's NFC, as whoever calls gives them from now on.
-- oldest client: 20
--
-- A name in another form is changed to it wherever it stands. Where somebody else has that name already, in both forms, nobody is merged:
-- the one in the other form gets a name with a digest behind it, and a warning names both.

do $$
declare
  kind record; place record; fkey record; renamed jsonb; said record;
begin
  for kind in
    select * from (values
      (1, 'owner', $q$select tenant, '' as scope, owner as name from sessions union select tenant, '', owner from tokens$q$, ''),
      (2, 'session', 'select tenant, owner as scope, session as name from sessions', 'owner'),
      (3, 'key', 'select tenant, owner as scope, key as name from keys', 'owner'),
      (4, 'robot', $q$select tenant, '' as scope, name from robots$q$, '')) k(step, what, names, scope) order by k.step
  loop
    execute format($q$
      with names as (%s),
      formed as (
        select n.*, normalize(n.name, nfc) as nfc, row_number() over (partition by n.tenant, n.scope, normalize(n.name, nfc) order by n.name) as place
        from names n where n.name is not nfc normalized),
      changed as (
        select f.tenant, f.scope, f.name as old,
               case when f.place = 1 and not exists (select from names o where o.tenant = f.tenant and o.scope = f.scope and o.name = f.nfc)
                    then f.nfc else f.nfc || ' (' || left(md5(f.name), 8) || ')' end as new, f.nfc
        from formed f)
      select jsonb_agg(c) from (
        select c.tenant, c.scope, c.old, c.new, c.new <> c.nfc as taken from changed c
        union all                                     -- the owners of the notes of a user's sessions have a digest of the user
        select c.tenant, '', n.name, 'htm:notes:' || left(encode(sha256(convert_to(c.new, 'UTF8')), 'hex'), 32) || normalize(substr(n.name, 43), nfc), false
        from changed c join names n on n.tenant = c.tenant and starts_with(n.name, 'htm:notes:' || left(encode(sha256(convert_to(c.old, 'UTF8')), 'hex'), 32) || ':')
        where %L = 'owner') c$q$, kind.names, kind.what)
    into renamed;
    continue when renamed is null;
    for fkey in
      select c.conname, c.conrelid::regclass as of_table from pg_constraint c
      where c.contype = 'f' and c.conparentid = 0 and c.confrelid in ('sessions'::regclass, 'files'::regclass)
    loop
      execute format('alter table %s alter constraint %I deferrable initially deferred', fkey.of_table, fkey.conname);
    end loop;
    set constraints all deferred;
    for place in
      select c.table_name as of_table, c.column_name as of_column, '' as also from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.column_name = kind.what and c.data_type = 'text'
        and (kind.scope = '' or exists (
          select from information_schema.columns o where o.table_schema = c.table_schema and o.table_name = c.table_name and o.column_name = kind.scope))
      union all select 'robots', 'name', '' where kind.what = 'robot'
      union all select 'working_sets', 'holder', ' and not shared' where kind.what = 'robot'
    loop
      execute format(
        'update %I t set %I = r.new from jsonb_to_recordset($1) r(tenant text, scope text, old text, new text)
         where t.tenant = r.tenant and t.%2$I = r.old%s%s', place.of_table, place.of_column,
        case when kind.scope = '' then '' else format(' and t.%I = r.scope', kind.scope) end, place.also) using renamed;
    end loop;
    set constraints all immediate;
    for fkey in
      select c.conname, c.conrelid::regclass as of_table from pg_constraint c
      where c.contype = 'f' and c.conparentid = 0 and c.condeferrable and c.confrelid in ('sessions'::regclass, 'files'::regclass)
    loop
      execute format('alter table %s alter constraint %I not deferrable', fkey.of_table, fkey.conname);
    end loop;
    for said in select r.* from jsonb_to_recordset(renamed) r(tenant text, old text, new text, taken boolean) where r.taken loop
      raise warning 'of the tenant %: two % names that only differ in their form; the one in the other form than NFC is now %', said.tenant, kind.what, said.new;
    end loop;
  end loop;
  update mentions set name = normalize(name, nfc) where name is not nfc normalized;
  update places set room = normalize(room, nfc), drawer = normalize(drawer, nfc) where room is not nfc normalized or drawer is not nfc normalized;
end $$;
