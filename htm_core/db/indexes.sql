-- name: builder
-- Nothing when another session is deciding at this moment.
select pid, login, started_at from index_builder for update skip locked

-- name: is_running
-- Not every account may see when a session of another started.
select exists (
  select from pg_stat_activity a
  where a.datname = current_database() and a.pid = %(pid)s and a.usesysid = %(login)s
    and (a.backend_start is null or %(started_at)s::timestamptz is null or a.backend_start = %(started_at)s)) as running

-- name: become_builder
update index_builder set pid = a.pid, login = a.usesysid, started_at = a.backend_start
from pg_stat_activity a where a.pid = pg_backend_pid()

-- name: release
update index_builder set pid = null, login = null, started_at = null where pid = pg_backend_pid()

-- name: changed
-- The tables whose statistics are old by the rule of autovacuum: a tenth has changed since, and 50 rows. A table that has just grown is
-- seen by its pages, since the changes that a session has made are counted up to ten seconds later.
-- A view is in its one leaf, a table with partitions is analyzed as a whole.
select coalesce((select l.name from pg_class v cross join leaves_of(v.oid) l where v.oid = t.name::regclass and v.relkind = 'v'), t.name) as name
from unnest(array['nodes', 'mentions', 'tags', 'passages', 'vectors', 'documents', 'document_passages']) t (name)
where exists (
  select from leaves_of(t.name::regclass) l join pg_class c on c.oid = l.oid
  where c.reltuples < 0 or 10 * (pg_stat_get_mod_since_analyze(c.oid) - 50) > c.reltuples
     or 10 * pg_relation_size(c.oid) > 11 * c.relpages::bigint * current_setting('block_size')::bigint)

-- name: analyze
analyze {tables}

-- name: set_build_limits
select set_config('statement_timeout', '0', false)

-- name: count
select count(*) as vectors from {leaf} where space = {space}

-- name: set_build_memory
-- In KB: what the graph needs, up to 512 MB or what the server allows if that is more. A graph that does not fit is built several
-- times slower; but a build by several processes takes all of its memory at once, however small the graph is.
select set_config('maintenance_work_mem', greatest(65536, least(%(needed)s::bigint, greatest(524288, reset_val::bigint)))::text || 'kB', false)
from pg_show_all_settings() where name = 'maintenance_work_mem'

-- name: drop
drop index concurrently if exists {name}

-- name: leaves
select name from leaves_of(%(table)s::regclass) order by 1

-- name: build
create index concurrently {name} on {leaf} using hnsw ({key}) where space = {space}

-- name: numbers
-- What an index is of: the numbers, in half precision.
(embedding::{halfvec}({dimension})) {halfvec_cosine_ops}

-- name: signs
-- The signs of the numbers, one bit each. pgvector indexes up to 64,000 of them.
({binary_quantize}(embedding)::bit({dimension})) {bit_hamming_ops}

-- name: vectors_wanted
select s.id, s.dimension, s.quantized, (
  select count(*) from (select 1 from vectors v where v.space = s.id limit %(threshold)s) x) as vectors
from vector_spaces s where not s.indexed and (s.quantized or s.dimension <= %(largest)s)

-- name: vectors_mark
update vector_spaces set indexed = true where id = %(space)s

-- name: document_passages_wanted
select s.id, s.dimension, false as quantized, (
  select count(*) from (select 1 from document_passages p where p.space = s.id limit %(threshold)s) x) as vectors
from vector_spaces s where not s.documents_indexed and s.dimension between 16 and %(largest)s

-- name: document_passages_mark
update vector_spaces set documents_indexed = true where id = %(space)s
