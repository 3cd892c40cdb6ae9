-- name: recall
with hits as materialized (
  select * from recall(%(text)s, %(vector)b::halfvec, %(model)s,
    row(%(owners)s::text[], %(robots)s::text[], %(session)s::text, %(windows)s::tstzmultirange, %(tags)s::text[],
        %(equal)s::jsonb, %(metadata)s::jsonb)::filters,
    %(pool)s, %(limit)s, %(share)s, %(lowest)s, %(speakers)s::text[], %(moments)s::tstzmultirange,
    row(%(context)s, %(sessions)s, %(speaker)s, %(time)s, %(standing)s, %(corroboration)s)::signals))
select h.node_id as id, h.score, h.vector_rank, h.text_rank, h.vector_part, h.text_part, h.context_part, h.session_part,
       h.speaker_part, h.time_part, h.standing_part,
       n.content, n.tokens, n.created_at, n.owner, s.importance, s.metadata, s.access_count, s.accessed_at,
       coalesce(p.body, substr(n.content, p.starts + 1, p.stops - p.starts)) as passage,
       coalesce((select array_agg(t.tag order by t.tag) from tags t
                 where t.tenant = n.tenant and t.node_id = n.id and t.explicit), '{}') as tags,
       coalesce((select array_agg(k.key order by k.key) from keys k
                 where k.tenant = n.tenant and k.node_id = n.id and k.current), '{}') as keys,
       (select max(k.version) from keys k where k.tenant = n.tenant and k.node_id = n.id and k.current) as version,
       (select coalesce(jsonb_agg(jsonb_build_object(
                 'id', m.id, 'robot', m.robot, 'session', m.session, 'role', m.role, 'name', m.name, 'seq', m.seq, 'at', m.at,
                 'metadata', m.metadata, 'payload', encode(m.payload, 'base64')) order by m.at desc, m.seq desc), '[]')
        from fitting_mentions(n.id, row(%(owners)s::text[], %(robots)s::text[], %(session)s::text,
               %(windows)s::tstzmultirange, %(tags)s::text[], %(equal)s::jsonb, %(metadata)s::jsonb)::filters, 20) m) as mentions
from hits h
join nodes n on n.tenant = this_tenant() and n.id = h.node_id
join node_state s on s.tenant = n.tenant and s.node_id = n.id
left join passages p on p.tenant = n.tenant and p.id = h.passage_id
order by h.score desc, h.node_id

-- name: speakers
select speakers(%(forms)s::text[], row(%(owners)s::text[], %(robots)s::text[], %(session)s::text,
  %(windows)s::tstzmultirange, %(tags)s::text[], %(equal)s::jsonb, %(metadata)s::jsonb)::filters) as names

-- name: preceding
select m.id as follower, b.* from mentions m, lateral (
  select s.* from said s
  where s.tenant = m.tenant and s.owner = m.owner and s.session = m.session and s.seq < m.seq and s.seq >= m.seq - 5
    and s.forgotten_at is null and s.node_id is not null
  order by s.seq desc limit 1) b
where m.tenant = this_tenant() and m.id = any(%(ids)s::uuid[])
  and (m.role is not null or m.name is not null or m.session <> '')

-- name: count_words
select count_words() as total
