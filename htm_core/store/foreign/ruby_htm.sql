-- name: memories
-- What each robot remembers, with its tags. What was forgotten stays where it is.
select n.id || ':' || r.robot_id as id, n.content, b.name as robot, r.last_remembered_at as at, n.metadata,
       n.source_id is not null as from_file,
       (select coalesce(array_agg(t.name order by t.name), '{{}}')
        from {node_tags} l join {tags} t on t.id = l.tag_id
        where l.node_id = n.id and l.deleted_at is null and t.deleted_at is null) as tags
from {robot_nodes} r
join {table} n on n.id = r.node_id
join {robots} b on b.id = r.robot_id
where r.deleted_at is null and n.deleted_at is null
order by r.robot_id, r.last_remembered_at, n.id

-- name: count_memories
select count(*) as count from {robot_nodes} r join {table} n on n.id = r.node_id
where r.deleted_at is null and n.deleted_at is null
