-- name: insert
select new_nodes, new_metadata, waiting, unwritten from write_entries(
  %(owner)s, %(robot)s, %(model)s,
  %(new_ids)s::uuid[], %(new_contents)s::text[], %(new_tokens)s::int[], %(new_ats)s::timestamptz[], %(new_importances)s::float8[],
  %(new_metadatas)s::jsonb[], %(long)s::boolean[], %(few)s,
  %(passages)s::uuid[], %(passage_nodes)s::uuid[], %(ordinals)s::int[], %(starts)s::int[], %(stops)s::int[], %(bodies)s::text[],
  %(ids)s::uuid[], %(nodes)s::uuid[], %(sessions)s::text[], %(external)s::text[], %(roles)s::text[], %(names)s::text[],
  %(ats)s::timestamptz[], %(keys)s::text[], %(contents)s::text[], %(metadatas)s::jsonb[], %(payloads)s::bytea[], %(logged)s::boolean[],
  %(valid)s::tstzrange[], %(valid_words)s::text[], %(expires)s::timestamptz[], %(sources)s::text[],
  %(trust)s::smallint[], %(unless_known)s)
