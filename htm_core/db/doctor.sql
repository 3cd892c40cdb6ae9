-- name: connect
-- Who may connect to this database: everybody, or which of these roles may not.
select current_database() as database,
       exists (select from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
               where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'CONNECT') as everybody,
       array(select r.rolname::text from pg_roles r where r.rolname = any(%(roles)s::text[])
             and not has_database_privilege(r.oid, current_database(), 'CONNECT') order by 1) as shut_out

-- name: shared_roles
-- Other databases and other schemas of this one in which these roles have rights, and the logins that so reach both.
with ours as (select oid, rolname from pg_roles where rolname = any(%(roles)s::text[])),
places as (
  select 'the database ' || d.datname as place, d.oid as database, o.oid, o.rolname
  from pg_shdepend s join ours o on o.oid = s.refobjid and s.refclassid = 'pg_authid'::regclass
  join pg_database d on d.oid = s.dbid and d.datname <> current_database()
  union
  select 'the schema ' || n.nspname || ' of this database', null, o.oid, o.rolname
  from pg_policy p join pg_class c on c.oid = p.polrelid join pg_namespace n on n.oid = c.relnamespace and n.nspname <> %(schema)s
  join ours o on o.oid = any(p.polroles))
select p.place, array_agg(distinct p.rolname::text) as roles,
       array(select l.rolname::text from pg_roles l
             where l.rolcanlogin and not l.rolsuper and exists (select from ours o where pg_has_role(l.oid, o.oid, 'MEMBER'))
               and has_database_privilege(l.oid, current_database(), 'CONNECT')
               and (p.database is null or has_database_privilege(l.oid, p.database, 'CONNECT')) order by 1) as logins
from places p group by p.place, p.database order by p.place

-- name: far_logins
-- Members of these roles that are members of other roles too, with policies of their own in other databases.
select l.rolname as login, array_agg(distinct r.rolname::text) as roles, array_agg(distinct d.datname::text) as databases
from pg_roles l
join pg_shdepend s on s.refclassid = 'pg_authid'::regclass and s.deptype = 'r'
join pg_roles r on r.oid = s.refobjid and not r.rolname = any(%(roles)s::text[])
join pg_database d on d.oid = s.dbid and d.datname <> current_database()
where l.rolcanlogin and not l.rolsuper and pg_has_role(l.oid, r.oid, 'MEMBER') and has_database_privilege(l.oid, d.oid, 'CONNECT')
  and exists (select from pg_roles o where o.rolname = any(%(roles)s::text[]) and pg_has_role(l.oid, o.oid, 'MEMBER'))
group by l.rolname order by l.rolname

-- name: settings
select name, case when unit in ('kB', '8kB') then pg_size_pretty(setting::bigint * case unit when 'kB' then 1024 else 8192 end)
             else setting end as value
-- Not the view pg_settings: any login may lock it.
from pg_show_all_settings()
where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'server_encoding', 'maintenance_work_mem', 'max_connections',
               'shared_buffers')

-- name: tables
-- Every table with a tenant column, and whether row-level security guards it.
select c.relname as name, c.relrowsecurity as guarded,
       (select count(*) from pg_policy p where p.polrelid = c.oid) as policies
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and c.relkind in ('r', 'p') and c.relname ~ %(pattern)s
  and not (c.relispartition and c.relrowsecurity)                   -- it needs no policy: nobody has rights on it
  and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped)
order by c.relname

-- name: without_user_wall
-- The tables with an owner, and those whose rows belong to such a table's, without the policy of the wall between users.
select c.relname as name
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and c.relkind in ('r', 'p') and c.relname ~ %(pattern)s and not (c.relispartition and c.relrowsecurity)
  and (regexp_replace(c.relname, '_[0-9]+$', '') in ('node_state', 'tags', 'working_items', 'working_changes')
       or exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'owner' and not a.attisdropped))
  and not exists (select 1 from pg_policy p where p.polrelid = c.oid and p.polname = 'user_wall' and not p.polpermissive)
order by c.relname

-- name: broken_indexes
select i.indexrelid::regclass::text as name from pg_index i
join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and not i.indisvalid
  and not exists (select 1 from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
order by 1

-- name: lost_indexes
-- Spaces that are marked as indexed but have no index, or not one in each partition: a search in them would scan all vectors.
select s.id, s.name from vector_spaces s
where s.indexed and exists (
  select from leaves_of('vectors') l where to_regclass(format('%%I.%%I', %(schema)s::text, hnsw_name(l.name, s))) is null)

-- name: jobs
select kind, model, count(*) filter (where parked_at is null) as pending, count(*) filter (where parked_at is not null) as parked,
       extract(epoch from now() - min(created_at) filter (where parked_at is null))::float8 as oldest,
       max(error) as error, min(tenant) filter (where parked_at is not null) as tenant
from jobs group by kind, model order by kind, model

-- name: tenant
select (select name from models where tenant = this_tenant() and active) as model,
       (select string_agg(name, ', ' order by name) from models where tenant = this_tenant() and not active) as unfinished,
       (select count(*) from passages p where p.tenant = this_tenant()
          and not exists (select 1 from vectors v join models m on m.tenant = v.tenant and m.space = v.space and m.active
                          where v.tenant = p.tenant and v.passage_id = p.id)
          and not exists (select 1 from jobs j where j.tenant = p.tenant and j.node_id = p.node_id and j.kind = 'embed'
                          and j.model = (select name from models where tenant = this_tenant() and active))) as without_job,
       (select count(*) from vectors v where v.tenant = this_tenant()
          and v.space not in (select space from models m where m.tenant = this_tenant() and m.space is not null)) as orphaned_vectors
