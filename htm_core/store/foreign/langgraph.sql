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
