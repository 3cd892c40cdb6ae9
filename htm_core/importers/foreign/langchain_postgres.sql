-- name: documents
-- Of a table of PGVectorStore; {further} are the columns that it has for single keys of the metadata.
select {id}::text as id, {content} as content, {embedding}::real[] as embedding, {metadata} as metadata {further}
from {table} order by {id}

-- name: documents_without_metadata
select {id}::text as id, {content} as content, {embedding}::real[] as embedding, null as metadata {further}
from {table} order by {id}

-- name: collections
select uuid::text as uuid, name from {collections} order by name

-- name: embeddings
-- Of one collection of PGVector.
select {id}::text as id, document as content, embedding::real[] as embedding, cmetadata as metadata
from {table} where collection_id = %(collection)s::uuid order by {id}

-- name: count_embeddings
select count(*) as count from {table} where collection_id = %(collection)s::uuid

-- name: messages
select id, session_id::text as session, message, created_at as at from {table} order by session_id, id

-- name: messages_without_time
select id, session_id::text as session, message, null::timestamptz as at from {table} order by session_id, id
