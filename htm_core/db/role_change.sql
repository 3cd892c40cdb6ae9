-- name: members
-- The logins that are members of these roles, superusers aside.
select l.rolname as login from pg_roles l
where l.rolcanlogin and not l.rolsuper
  and exists (select from pg_roles r where r.rolname = any(%(roles)s::text[]) and pg_has_role(l.oid, r.oid, 'MEMBER'))
order by 1

-- name: settings
select set_config('htm.old_roles', %(old)s, true), set_config('htm.new_roles', %(new)s, true),
       set_config('htm.logins', %(logins)s, true)

-- name: change_owner
-- Everything in the schema that belongs to the old owner; indexes, and sequences of columns, go with their tables.
do $$
declare
  place regnamespace := current_setting('htm.schema')::regnamespace;
  old oid := split_part(current_setting('htm.old_roles'), ',', 1)::regrole;
  command text;
begin
  for command in
    select format('alter schema %s', place) from pg_namespace n where n.oid = place and n.nspowner = old
    union all
    select format('alter %s %s', case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
                                                when 'f' then 'foreign table' else 'table' end, c.oid::regclass)
    from pg_class c where c.relnamespace = place and c.relowner = old and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i', 'e'))
    union all
    select format('alter routine %s', p.oid::regprocedure)
    from pg_proc p where p.pronamespace = place and p.proowner = old
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
    union all
    select format('alter type %s', t.oid::regtype)
    from pg_type t left join pg_class c on c.oid = t.typrelid
    where t.typnamespace = place and t.typowner = old and (t.typtype in ('d', 'e', 'r') or c.relkind = 'c')
      and not exists (select from pg_depend d where d.classid = 'pg_type'::regclass and d.objid = t.oid and d.deptype = 'e')
  loop
    execute format('%s owner to %I', command, split_part(current_setting('htm.new_roles'), ',', 1));
  end loop;
end $$

-- name: change_grants
-- Each right of the old application and the old workers is given to the new, and taken from the old.
do $$
declare
  place regnamespace := current_setting('htm.schema')::regnamespace;
  old text[] := string_to_array(current_setting('htm.old_roles'), ',');
  new text[] := string_to_array(current_setting('htm.new_roles'), ',');
  held record;
begin
  for held in
    select x.privilege_type || x.columns as privilege, x.object, r.rolname as role from (
      select format('schema %s', n.oid::regnamespace) as object, '' as columns, a.* from pg_namespace n, aclexplode(n.nspacl) a
      where n.oid = place
      union all
      select format('%s %s', case c.relkind when 'S' then 'sequence' else 'table' end, c.oid::regclass), '', a.*
      from pg_class c, aclexplode(c.relacl) a where c.relnamespace = place
      union all
      select format('table %s', c.oid::regclass), format(' (%I)', t.attname), a.*
      from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a where c.relnamespace = place
      union all
      select format('routine %s', p.oid::regprocedure), '', a.* from pg_proc p, aclexplode(p.proacl) a where p.pronamespace = place
      union all
      select format('type %s', t.oid::regtype), '', a.* from pg_type t, aclexplode(t.typacl) a where t.typnamespace = place) x
    join pg_roles r on r.oid = x.grantee and r.rolname = any(old)
  loop
    execute format('grant %s on %s to %I', held.privilege, held.object, new[array_position(old, held.role::text)]);
    execute format('revoke %s on %s from %I', held.privilege, held.object, held.role);
  end loop;
end $$

-- name: change_policies
do $$
declare
  old text[] := string_to_array(current_setting('htm.old_roles'), ',');
  new text[] := string_to_array(current_setting('htm.new_roles'), ',');
  policy record;
begin
  for policy in
    select p.polname, p.polrelid::regclass as of, (
      select string_agg(case when r.role = 0 then 'public'
                             else quote_ident(coalesce(new[array_position(old, pg_get_userbyid(r.role)::text)], pg_get_userbyid(r.role)::text)) end, ', ')
      from unnest(p.polroles) r(role)) as roles
    from pg_policy p join pg_class c on c.oid = p.polrelid
    where c.relnamespace = current_setting('htm.schema')::regnamespace
      and exists (select from unnest(p.polroles) r(role) where pg_get_userbyid(r.role) = any(old))
  loop
    execute format('alter policy %I on %s to %s', policy.polname, policy.of, policy.roles);
  end loop;
end $$

-- name: change_functions
-- Functions and procedures that name the roles in their text.
do $$
declare
  old text[] := string_to_array(current_setting('htm.old_roles'), ',');
  new text[] := string_to_array(current_setting('htm.new_roles'), ',');
  found record;
  definition text;
begin
  for found in
    select p.oid from pg_proc p
    where p.pronamespace = current_setting('htm.schema')::regnamespace and p.prokind in ('f', 'p')
      and p.prosrc ~ ('\m(' || array_to_string(old, '|') || ')\M')
  loop
    definition := pg_get_functiondef(found.oid);
    for i in 1 .. 3 loop
      definition := regexp_replace(definition, '\m' || old[i] || '\M', new[i], 'g');
    end loop;
    execute definition;
  end loop;
end $$

-- name: change_members
-- The named logins become members of the new roles where they are of the old. The right to connect goes too, where nothing else in
-- this database is of the old roles.
do $$
declare
  old text[] := string_to_array(current_setting('htm.old_roles'), ',');
  new text[] := string_to_array(current_setting('htm.new_roles'), ',');
  login text;
begin
  foreach login in array string_to_array(current_setting('htm.logins'), chr(31)) loop
    for i in 1 .. 3 loop
      if pg_has_role(login::name, old[i]::name, 'MEMBER') then
        execute format('grant %I to %I', new[i], login);
      end if;
    end loop;
  end loop;
  for i in 1 .. 3 loop
    if not exists (select from pg_shdepend s join pg_database d on d.oid = s.dbid and d.datname = current_database()
                   where s.refclassid = 'pg_authid'::regclass and s.refobjid = old[i]::regrole) then
      execute format('revoke connect on database %I from %I', current_database(), old[i]);
    end if;
  end loop;
end $$
