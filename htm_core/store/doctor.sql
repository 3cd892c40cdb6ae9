-- name: memberships
-- From version 16 on, a membership may lack the right to `set role`.
select r.rolname as role,
       case when current_setting('server_version_num')::int >= 160000 then pg_has_role(current_user, r.oid, 'SET')
            else pg_has_role(current_user, r.oid, 'MEMBER') end as member
from pg_roles r where r.rolname in ('htm_app', 'htm_worker')

-- name: settings
select name, case when unit in ('kB', '8kB') then pg_size_pretty(setting::bigint * case unit when 'kB' then 1024 else 8192 end)
             else setting end as value
from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'server_encoding', 'maintenance_work_mem', 'max_connections',
               'shared_buffers')

-- name: tables
-- Every table with a tenant column, and whether row-level security guards it.
select c.relname as name, c.relrowsecurity as guarded,
       (select count(*) from pg_policy p where p.polrelid = c.oid) as policies
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and c.relkind in ('r', 'p')
  and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped)
order by c.relname

-- name: broken_indexes
select i.indexrelid::regclass::text as name from pg_index i
join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = %(schema)s and not i.indisvalid
  and not exists (select 1 from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
order by 1

-- name: lost_indexes
-- Spaces that are marked as indexed but have no index: every search in them would scan all vectors.
select s.id, s.name from vector_spaces s
where s.indexed and to_regclass(format('%%I.%%I', %(schema)s::text, 'vectors_hnsw_' || s.id)) is null

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
