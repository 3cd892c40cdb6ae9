-- name: nodes
-- A node that was added twice is there twice, since its id is no key: the last one counts.
select distinct on (coalesce(node_id, id::text)) coalesce(node_id, id::text) as id, text as content,
       embedding::real[] as embedding, metadata_ as metadata
from {table} order by coalesce(node_id, id::text), id desc

-- name: count_nodes
select count(distinct coalesce(node_id, id::text)) as count from {table}

-- name: chats
select key as session, to_json(value) as messages from {table} order by key

-- name: count_messages
select coalesce(sum(cardinality(value)), 0) as count from {table}
