-- name: dimension
-- How many numbers the vectors have without the zeros that the gem fills them up with: most of the newest, which its model of today made.
select mode() within group (order by newest.numbers) as dimension
from (select (select max(place) from unnest(n.embedding::real[]) with ordinality as number(value, place) where value <> 0)
             as numbers
      from {table} n where n.deleted_at is null and n.embedding is not null order by n.id desc limit 100) as newest

-- name: memories
-- What each robot remembers, with its tags; a node whose robots are gone is one of nobody. What was forgotten stays where it is.
-- A vector with numbers after %(dimension)s is of another model, and is left out. Times without an offset are of the gem's machine, but
-- those of remembering that it leaves to a default, as for propositions, are of the server's zone: what was remembered once was at
-- the row's own beginning.
select n.id || ':' || coalesce(r.robot_id::text, '') as id, n.content, b.name as robot,
       case when r.id is null then n.created_at
            when r.remember_count = 1 and pg_typeof(r.created_at) = 'timestamp'::regtype then r.created_at
            else r.last_remembered_at end as at,
       n.metadata, n.source_id is not null as from_file,
       case when (n.embedding::real[])[%(dimension)s + 1:]
                 = array_fill(0::real, array[coalesce(cardinality(n.embedding::real[]), %(dimension)s) - %(dimension)s])
            then (n.embedding::real[])[:%(dimension)s] end as embedding,
       (select coalesce(array_agg(t.name order by t.name), '{{}}')
        from {node_tags} l join {tags} t on t.id = l.tag_id
        where l.node_id = n.id and l.deleted_at is null and t.deleted_at is null) as tags
from {table} n
left join {robot_nodes} r on r.node_id = n.id and r.deleted_at is null
left join {robots} b on b.id = r.robot_id
where n.deleted_at is null
order by r.robot_id nulls first, at, n.id

-- name: count_memories
select count(*) as count from {table} n left join {robot_nodes} r on r.node_id = n.id and r.deleted_at is null
where n.deleted_at is null
