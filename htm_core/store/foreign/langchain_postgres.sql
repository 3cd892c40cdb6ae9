-- name: documents
-- Of a table of PGVectorStore; {further} are the columns that it has for single keys of the metadata.
select {id}::text as id, {content} as content, {embedding}::real[] as embedding, {metadata} as metadata {further}
from {table} order by {id}

-- name: documents_without_metadata
select {id}::text as id, {content} as content, {embedding}::real[] as embedding, null as metadata {further}
from {table} order by {id}
