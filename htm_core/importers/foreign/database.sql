-- name: tables
-- Every table outside of the system's schemas, with its columns in order. `key` marks the primary key.
select n.nspname as schema, c.relname as name,
       has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select') as readable,
       (select jsonb_agg(jsonb_build_object(
                 'name', a.attname, 'type', t.typname, 'required', a.attnotnull, 'modifier', a.atttypmod,
                 'key', coalesce(a.attnum = any(k.indkey), false)) order by a.attnum)
        from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join pg_index k on k.indrelid = c.oid and k.indisprimary
where c.relkind in ('r', 'p') and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
order by n.nspname, c.relname

-- name: count
select count(*) as count from {table}

-- name: further_column
, {column} as {alias}
