-- name: try_lock
select pg_try_advisory_lock(hashtext('htm-memory indexes'), hashtext(current_schema())) as locked

-- name: unlock
select pg_advisory_unlock(hashtext('htm-memory indexes'), hashtext(current_schema()))

-- name: analyze
analyze nodes, mentions, tags, passages, vectors, documents, document_passages

-- name: set_build_limits
select set_config('maintenance_work_mem', '512MB', false), set_config('statement_timeout', '0', false)

-- name: drop
drop index concurrently if exists {name}

-- name: vectors_wanted
select s.id, s.dimension, (
  select count(*) from (select 1 from vectors v where v.space = s.id limit %(threshold)s) x) as vectors
from vector_spaces s where not s.indexed and s.dimension <= 4000

-- name: vectors_build
create index concurrently {name} on vectors using hnsw ((embedding::{halfvec}({dimension})) {cosine_ops})
where space = {space}

-- name: vectors_mark
update vector_spaces set indexed = true where id = %(space)s

-- name: document_passages_wanted
select s.id, s.dimension, (
  select count(*) from (select 1 from document_passages p where p.space = s.id limit %(threshold)s) x) as vectors
from vector_spaces s where not s.documents_indexed and s.dimension between 16 and 4000

-- name: document_passages_build
create index concurrently {name} on document_passages using hnsw ((embedding::{halfvec}({dimension})) {cosine_ops})
where space = {space}

-- name: document_passages_mark
update vector_spaces set documents_indexed = true where id = %(space)s
