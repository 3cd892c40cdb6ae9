-- name: totals
-- Sizes of all tenants, as PostgreSQL estimates them: an account of the application sees no others' rows. Settings in bytes. Not views of
-- the catalogue such as pg_settings: any login may lock them.
with settings as (
  select name, setting::bigint * case unit when 'kB' then 1024 when '8kB' then 8192 end as bytes from pg_show_all_settings()
  where name in ('shared_buffers', 'effective_cache_size', 'maintenance_work_mem'))
select (select sum(greatest(c.reltuples, 0))::bigint from leaves_of('vectors') l join pg_class c on c.oid = l.oid) as vectors,
       (select count(*) from leaves_of('vectors')) as partitions,
       (select greatest(c.reltuples, 0)::bigint from leaves_of('lexicon') l join pg_class c on c.oid = l.oid) as tenants,
       coalesce((select documents from lexicon where tenant = this_tenant()), 0) as passages,
       (select bytes from settings where name = 'shared_buffers') as shared_buffers,
       (select bytes from settings where name = 'effective_cache_size') as cache,
       (select bytes from settings where name = 'maintenance_work_mem') as build_memory

-- name: indexes
-- The HNSW indexes of vectors of memories.
select x.relname as name, s.name as model, s.dimension, s.quantized, pg_relation_size(x.oid) as bytes, greatest(x.reltuples, 0)::bigint as vectors
from leaves_of('vectors') l
join pg_index i on i.indrelid = l.oid
join pg_class x on x.oid = i.indexrelid
join vector_spaces s on x.relname = hnsw_name(l.name, s)
order by bytes desc, name

-- name: unindexed
-- The vectors of the tenant's model, when they are many and have no index.
select s.name as model, s.dimension, s.quantized, v.vectors
from models m join vector_spaces s on s.id = m.space and not s.indexed
cross join lateral (
  select count(*) as vectors from (
    select 1 from vectors v where v.tenant = this_tenant() and v.space = s.id limit %(threshold)s) x) v
where m.tenant = this_tenant() and m.active and v.vectors >= %(threshold)s

-- name: neglected
-- Large tables of which PostgreSQL has no statistics, or old ones, or which hold many rows that are gone. `rows` is at least 0.
select * from (
  select c.relname as name, greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::bigint as rows,
         c.reltuples < 0 and pg_relation_size(c.oid) > %(bytes)s as unknown,
         pg_stat_get_mod_since_analyze(c.oid) as changed, pg_stat_get_dead_tuples(c.oid) as dead
  from pg_class c where c.relnamespace = (select n.relnamespace from leaves_of('nodes') l join pg_class n on n.oid = l.oid) and c.relkind = 'r') t
where t.unknown or (t.rows >= %(rows)s and (2 * t.changed > t.rows or 2 * t.dead > t.rows))
order by t.name
