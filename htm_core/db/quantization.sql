-- name: spaces
select id, name, dimension, indexed, quantized from vector_spaces order by id

-- name: mark
update vector_spaces set quantized = %(quantized)s, indexed = %(indexed)s where id = %(id)s

-- name: bytes
-- What the HNSW indexes of all vectors of memories take on the disk.
select coalesce(sum(pg_relation_size(i.indexrelid)), 0)::bigint as bytes
from leaves_of('vectors') l join pg_index i on i.indrelid = l.oid
join pg_class x on x.oid = i.indexrelid join pg_am a on a.oid = x.relam and a.amname = 'hnsw'
