-- name: drawers
select id, document, metadata, embedding::real[] as embedding from {table} order by id
