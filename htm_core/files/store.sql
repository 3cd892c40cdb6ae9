-- name: digests
select path, digest from files where tenant = this_tenant() and owner = %(owner)s and path = any(%(paths)s::text[])

-- name: put
insert into files (tenant, owner, path, session, digest, size, front, loaded_at)
select this_tenant(), %(owner)s, file.path, file.session, file.digest, file.size, file.front, %(at)s
from unnest(%(paths)s::text[], %(sessions)s::text[], %(digests)s::bytea[], %(sizes)s::bigint[], %(fronts)s::jsonb[])
     as file(path, session, digest, size, front)
on conflict (tenant, owner, path) do update
set digest = excluded.digest, size = excluded.size, front = excluded.front, loaded_at = excluded.loaded_at

-- name: join
update files set digest = %(digest)s
where tenant = this_tenant() and owner = %(owner)s and path = %(path)s and digest = ''

-- name: delete_chunks
delete from file_chunks where tenant = this_tenant() and owner = %(owner)s and path = any(%(paths)s::text[])

-- name: insert_chunks
insert into file_chunks (tenant, owner, path, ordinal, mention_id, starts, stops, headings)
select this_tenant(), %(owner)s, chunk.path, chunk.ordinal, chunk.mention, chunk.starts, chunk.stops,
       array(select jsonb_array_elements_text(chunk.headings))
from unnest(%(paths)s::text[], %(ordinals)s::int[], %(mentions)s::uuid[], %(starts)s::int[], %(stops)s::int[], %(headings)s::jsonb[])
     as chunk(path, ordinal, mention, starts, stops, headings)

-- name: forget_missing
-- Forgets the mentions of files that are not in `kept`. Their ids are cleared, so that the same text may come back later as a
-- new mention. Mentions that a caller made in a session of that name have ids of another form, and stay.
update mentions set forgotten_at = %(at)s, forgotten_by = %(by)s, external_id = null
where tenant = this_tenant() and owner = %(owner)s and session = any(%(sessions)s::text[]) and forgotten_at is null
  and external_id ~ '^[0-9a-f]{32}:[0-9]+$' and not (id = any(%(kept)s::uuid[]))
returning session, node_id

-- name: drop
delete from files where tenant = this_tenant() and owner = %(owner)s and path = %(path)s returning session

-- name: drop_all
delete from files where tenant = this_tenant() and owner = %(owner)s

-- name: drop_session
delete from files where tenant = this_tenant() and owner = %(owner)s and session = %(session)s

-- name: list_files
select f.path, f.size, f.front, f.loaded_at,
       (select count(*) from file_chunks c join mentions m on m.tenant = c.tenant and m.id = c.mention_id
        where c.tenant = f.tenant and c.owner = f.owner and c.path = f.path and m.forgotten_at is null) as chunks
from files f
where f.tenant = this_tenant() and f.owner = any(%(owners)s::text[])
  and (%(under)s::text is null or f.path = %(under)s
       or case when %(under)s = '.' then not (starts_with(f.path, '/') or f.path = '..' or starts_with(f.path, '../'))
               else starts_with(f.path, rtrim(%(under)s, '/') || '/') and not starts_with(f.path, %(under)s || '/../') end)
order by f.path

-- name: chunks_below
-- The chunks of all files below a folder that are not forgotten, in their order, with the links that each has in its metadata.
select c.path, m.node_id as id, c.headings,
       case jsonb_typeof(m.metadata -> 'links_to') when 'array' then m.metadata -> 'links_to' end as links
from file_chunks c join mentions m on m.tenant = c.tenant and m.id = c.mention_id
where c.tenant = this_tenant() and c.owner = %(owner)s and starts_with(c.path, rtrim(%(under)s, '/') || '/')
  and m.forgotten_at is null and m.node_id is not null
order by c.path, c.ordinal

-- name: chunks
select m.node_id as id, c.starts, c.stops, c.headings
from file_chunks c join mentions m on m.tenant = c.tenant and m.id = c.mention_id
where c.tenant = this_tenant() and c.owner = any(%(owners)s::text[]) and c.path = %(path)s and m.forgotten_at is null
order by c.ordinal
