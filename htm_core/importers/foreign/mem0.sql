-- name: memories
select id::text as id, vector::real[] as embedding, payload
from {table} order by payload ->> 'user_id' nulls first, payload ->> 'created_at', id
