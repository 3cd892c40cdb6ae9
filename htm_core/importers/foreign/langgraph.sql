-- name: items
-- Older tables have no time to live. What has expired is left where it is.
select s.prefix, s.key, s.value, s.created_at, s.updated_at, t.expires_at, t.ttl_minutes, null::json as vectors
from {table} s
cross join lateral (select (to_jsonb(s) ->> 'expires_at')::timestamptz as expires_at,
                           (to_jsonb(s) ->> 'ttl_minutes')::double precision as ttl_minutes) t
where t.expires_at is null or t.expires_at > now()
order by s.prefix, s.key

-- name: items_with_vectors
select s.prefix, s.key, s.value, s.created_at, s.updated_at, t.expires_at, t.ttl_minutes,
       (select json_agg(json_build_object('field', v.field_name, 'vector', v.embedding::real[]) order by v.field_name)
        from {vectors} v where v.prefix = s.prefix and v.key = s.key) as vectors
from {table} s
cross join lateral (select (to_jsonb(s) ->> 'expires_at')::timestamptz as expires_at,
                           (to_jsonb(s) ->> 'ttl_minutes')::double precision as ttl_minutes) t
where t.expires_at is null or t.expires_at > now()
order by s.prefix, s.key

-- name: messages
-- Each version of each thread's messages, with the time of the first checkpoint that has it; the one of the latest checkpoint last.
with versions as (
  select thread_id, checkpoint -> 'channel_versions' ->> 'messages' as version,
         min(checkpoint_id) as first_checkpoint, max(checkpoint_id) as last_checkpoint
  from {table} where checkpoint_ns = '' group by 1, 2)
select v.thread_id as session, b.type, b.blob,
       (select (c.checkpoint ->> 'ts')::timestamptz from {table} c
        where c.thread_id = v.thread_id and c.checkpoint_ns = '' and c.checkpoint_id = v.first_checkpoint) as at
from versions v
left join {blobs} b on b.thread_id = v.thread_id and b.checkpoint_ns = '' and b.channel = 'messages' and b.version = v.version
where v.version is not null
order by v.thread_id, v.last_checkpoint

-- name: deltas
-- The checkpoints that lead to a thread's latest one, from the first: the messages that one stores whole, where they are others than
-- before, and after it what was written on the way to the next, in the order of its tasks. What was written after the latest is pending.
with recursive line as (
  (select checkpoint_id, parent_checkpoint_id, 0 as behind
   from {table} where thread_id = %(session)s and checkpoint_ns = '' order by checkpoint_id desc limit 1)
  union all
  select p.checkpoint_id, p.parent_checkpoint_id, l.behind + 1
  from line l
  join {table} p on p.thread_id = %(session)s and p.checkpoint_ns = '' and p.checkpoint_id = l.parent_checkpoint_id
  where p.checkpoint_id < l.checkpoint_id),
steps as (
  select l.behind, (c.checkpoint ->> 'ts')::timestamptz as at, c.checkpoint -> 'channel_versions' ->> 'messages' as version,
         lag(c.checkpoint -> 'channel_versions' ->> 'messages') over (order by l.behind desc) as version_before
  from line l join {table} c on c.thread_id = %(session)s and c.checkpoint_ns = '' and c.checkpoint_id = l.checkpoint_id),
happened as (
  select s.behind, false as is_write, ''::text as task_path, ''::text as task_id, 0 as idx, s.at, b.type, b.blob
  from steps s
  left join {blobs} b on b.thread_id = %(session)s and b.checkpoint_ns = '' and b.channel = 'messages' and b.version = s.version
                     and b.type <> 'empty' and s.version is distinct from s.version_before
  union all
  select l.behind, true, w.task_path, w.task_id::text, w.idx, null, w.type, w.blob
  from line l
  join {writes} w on w.thread_id = %(session)s and w.checkpoint_ns = '' and w.checkpoint_id = l.checkpoint_id
                 and w.channel = 'messages'
  where l.behind > 0)
select is_write, at, type, blob from happened
order by behind desc, is_write, task_path collate "C", task_id collate "C", idx
