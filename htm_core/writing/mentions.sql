-- name: lock_sessions
insert into sessions as s (tenant, owner, session, last_seq)
select this_tenant(), %(owner)s, given.session, 0 from unnest(%(sessions)s::text[]) as given(session) order by given.session
on conflict (tenant, owner, session) do update set last_seq = s.last_seq

-- name: known_ids
select m.session, m.external_id, m.id, m.node_id, m.payload is distinct from given.payload as differs
from mentions m
join unnest(%(sessions)s::text[], %(external)s::text[], %(payloads)s::bytea[])
  as given(session, external_id, payload)
  on m.session = given.session and m.external_id = given.external_id
where m.tenant = this_tenant() and m.owner = %(owner)s

-- name: nodes_of_ids
select m.session, m.external_id, m.node_id from mentions m
join unnest(%(sessions)s::text[], %(ids)s::text[]) as given(session, id) on m.session = given.session and m.external_id = given.id
where m.tenant = this_tenant() and m.owner = %(owner)s

-- name: of_conversations
-- What is known of sessions by their messages' own ids, forgotten or not; without the files that came with messages.
select m.id, m.session, m.external_id, m.at, m.forgotten_at is not null as forgotten, m.forgotten_by from mentions m
where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = any(%(sessions)s::text[])
  and m.external_id is not null and not starts_with(m.external_id, 'attached:') and not m.purged

-- name: said_in
-- What was said in sessions in its order, of messages with ids of their own, without the files that came with them.
select m.session, m.external_id, m.role, m.node_id, m.at from mentions m
where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = any(%(sessions)s::text[])
  and m.external_id is not null and not starts_with(m.external_id, 'attached:') and not m.purged
  and m.forgotten_by is distinct from %(but)s
order by m.session, m.seq

-- name: copies
-- Marks those of just written mentions that copy an earlier one of the same words by the same speaker, with the same id or at the same
-- time, in whatever session; of what is told again in another session's history, the words are enough. A copy of what is forgotten,
-- in all its copies, is forgotten too.
with copied as (
  select g.id, f.copy_of, f.forgotten_at, f.forgotten_by
  from unnest(%(ids)s::uuid[], %(by_id)s::bool[], %(by_time)s::bool[], %(by_words)s::bool[]) g(id, by_id, by_time, by_words)
  join mentions m on m.tenant = this_tenant() and m.id = g.id
  cross join lateral (
    select (array_agg(coalesce(o.copy_of, o.id) order by coalesce(o.copy_of, o.id)))[1] as copy_of,
           (array_agg(o.forgotten_at order by o.forgotten_at desc nulls first) filter (where o.id <> all(%(ids)s::uuid[])))[1] as forgotten_at,
           (array_agg(o.forgotten_by order by o.forgotten_at desc nulls first) filter (where o.id <> all(%(ids)s::uuid[])))[1] as forgotten_by
    from mentions o
    where o.tenant = this_tenant() and o.node_id = m.node_id and o.owner = m.owner and not o.purged
      and (o.id <> all(%(ids)s::uuid[]) or o.id < m.id)
      and o.role is not distinct from m.role and o.name is not distinct from m.name
      and (g.by_id and o.external_id = m.external_id or g.by_time and o.at = m.at or g.by_words and o.session <> m.session)) f
  where f.copy_of is not null)
update mentions m set copy_of = c.copy_of, forgotten_at = coalesce(m.forgotten_at, c.forgotten_at),
       forgotten_by = coalesce(m.forgotten_by, c.forgotten_by)
from copied c where m.tenant = this_tenant() and m.id = c.id
returning m.id

-- name: replace
update mentions m set node_id = given.node_id, content = given.content, metadata = given.metadata, payload = given.payload,
       role = given.role, name = given.name, xid = pg_current_xact_id(), valid = given.valid, valid_words = given.valid_words,
       expires_at = given.expires_at, source = given.source, trust = given.trust,
       -- A new text is not forgotten; the same text with another payload stays forgotten if it was.
       forgotten_at = case when m.node_id is not distinct from given.node_id then m.forgotten_at end,
       forgotten_by = case when m.node_id is not distinct from given.node_id then m.forgotten_by end,
       withdrawn = m.withdrawn and m.node_id is not distinct from given.node_id,
       copy_of = case when m.node_id is not distinct from given.node_id then m.copy_of end,
       log_position = case when given.logged then coalesce(m.log_position, m.seq) end, archived = m.archived and given.logged
from unnest(%(ids)s::uuid[], %(nodes)s::uuid[], %(contents)s::text[], %(metadatas)s::jsonb[], %(payloads)s::bytea[],
            %(roles)s::text[], %(names)s::text[], %(logged)s::bool[], %(valid)s::tstzrange[], %(valid_words)s::text[],
            %(expires)s::timestamptz[], %(sources)s::text[], %(trust)s::smallint[])
     as given(id, node_id, content, metadata, payload, role, name, logged, valid, valid_words, expires_at, source, trust)
where m.tenant = this_tenant() and m.id = given.id

-- name: latest
select * from mentions_with_content
where tenant = this_tenant() and not purged
  and (owner = any(%(owners)s::text[]) or starts_with(owner, %(owner_prefix)s::text))
  and (%(forgotten)s or (forgotten_at is null and (expires_at is null or expires_at > memory_time()))
       -- What was hidden since because it had expired was still there then.
       or (%(as_of)s::timestamptz is not null and forgotten_by = 'htm:expiry' and expires_at > memory_time()))
  and (%(as_of)s::timestamptz is null or at <= %(as_of)s)
  and (%(robot)s::text is null or robot = %(robot)s)
  and (%(windows)s::tstzmultirange is null
       or at >= coalesce(lower(%(windows)s::tstzmultirange), '-infinity')
       and at <= coalesce(upper(%(windows)s::tstzmultirange), 'infinity') and at <@ %(windows)s::tstzmultirange)
  and (%(before)s::uuid is null or (at, session, seq) < (
    select at, session, seq from mentions where tenant = this_tenant() and id = %(before)s::uuid))
order by at desc, session desc, seq desc limit %(limit)s

-- name: following
select * from mentions_with_content
where tenant = this_tenant() and not purged
  and (owner = any(%(owners)s::text[]) or starts_with(owner, %(owner_prefix)s::text))
  and (%(forgotten)s or (forgotten_at is null and (expires_at is null or expires_at > memory_time()))
       -- What was hidden since because it had expired was still there then.
       or (%(as_of)s::timestamptz is not null and forgotten_by = 'htm:expiry' and expires_at > memory_time()))
  and (%(as_of)s::timestamptz is null or at <= %(as_of)s)
  and (%(robot)s::text is null or robot = %(robot)s)
  and (%(windows)s::tstzmultirange is null
       or at >= coalesce(lower(%(windows)s::tstzmultirange), '-infinity')
       and at <= coalesce(upper(%(windows)s::tstzmultirange), 'infinity') and at <@ %(windows)s::tstzmultirange)
  and (%(after)s::uuid is null or (at, session, seq) > (
    select at, session, seq from mentions where tenant = this_tenant() and id = %(after)s::uuid))
  and (%(before)s::uuid is null or (at, session, seq) < (
    select at, session, seq from mentions where tenant = this_tenant() and id = %(before)s::uuid))
order by at, session, seq limit %(limit)s

-- name: existing
select id from mentions
where tenant = this_tenant() and id = any(%(ids)s::uuid[])
  and (owner = any(%(owners)s::text[]) or starts_with(owner, %(owner_prefix)s::text))

-- name: latest_in_session
select * from mentions_with_content
where tenant = this_tenant() and owner = any(%(owners)s::text[]) and not purged
  and (%(forgotten)s or (forgotten_at is null and (expires_at is null or expires_at > memory_time()))
       -- What was hidden since because it had expired was still there then.
       or (%(as_of)s::timestamptz is not null and forgotten_by = 'htm:expiry' and expires_at > memory_time()))
  and (%(as_of)s::timestamptz is null or at <= %(as_of)s)
  and (%(robot)s::text is null or robot = %(robot)s)
  and (%(windows)s::tstzmultirange is null
       or at >= coalesce(lower(%(windows)s::tstzmultirange), '-infinity')
       and at <= coalesce(upper(%(windows)s::tstzmultirange), 'infinity') and at <@ %(windows)s::tstzmultirange)
  and session = %(session)s
  and (%(before)s::uuid is null or (seq, owner) < (
    select seq, owner from mentions where tenant = this_tenant() and id = %(before)s::uuid))
order by seq desc, owner desc limit %(limit)s

-- name: following_in_session
select * from mentions_with_content
where tenant = this_tenant() and owner = any(%(owners)s::text[]) and not purged
  and (%(forgotten)s or (forgotten_at is null and (expires_at is null or expires_at > memory_time()))
       -- What was hidden since because it had expired was still there then.
       or (%(as_of)s::timestamptz is not null and forgotten_by = 'htm:expiry' and expires_at > memory_time()))
  and (%(as_of)s::timestamptz is null or at <= %(as_of)s)
  and (%(robot)s::text is null or robot = %(robot)s)
  and (%(windows)s::tstzmultirange is null
       or at >= coalesce(lower(%(windows)s::tstzmultirange), '-infinity')
       and at <= coalesce(upper(%(windows)s::tstzmultirange), 'infinity') and at <@ %(windows)s::tstzmultirange)
  and session = %(session)s
  and (%(after)s::uuid is null or (seq, owner) > (
    select seq, owner from mentions where tenant = this_tenant() and id = %(after)s::uuid))
  and (%(before)s::uuid is null or (seq, owner) < (
    select seq, owner from mentions where tenant = this_tenant() and id = %(before)s::uuid))
order by seq, owner limit %(limit)s

-- name: tail
select * from mentions_with_content
where tenant = this_tenant() and owner = %(owner)s and session = %(session)s and log_position is not null
  and (%(forgotten)s or (forgotten_at is null and (expires_at is null or expires_at > memory_time()))) and (%(archived)s::bool is null or archived = %(archived)s)
order by log_position desc limit %(limit)s

-- name: beginning
select * from mentions_with_content
where tenant = this_tenant() and owner = %(owner)s and session = %(session)s and log_position is not null
  and forgotten_at is null and (expires_at is null or expires_at > memory_time())
order by log_position limit %(limit)s

-- name: archive
update mentions set archived = true
where tenant = this_tenant() and owner = %(owner)s and session = %(session)s and id = any(%(ids)s::uuid[])
  and log_position is not null and not archived
returning id

-- name: drop_from_log
update mentions set log_position = null, archived = false
where tenant = this_tenant() and owner = %(owner)s and session = %(session)s and id = any(%(ids)s::uuid[])
  and log_position is not null
returning id

-- name: logged_sessions
select distinct session from mentions
where tenant = this_tenant() and log_position is not null and forgotten_at is null
  and (owner = %(owner)s or owner like %(owner_pattern)s::text) order by session

-- name: latest_sessions
-- Those in which something was said, that is still there, by more than files.
select session, max(at) as at from mentions
where tenant = this_tenant() and owner = any(%(owners)s::text[]) and session <> '' and source is distinct from 'file'
  and forgotten_at is null and not purged and (expires_at is null or expires_at > memory_time())
group by session order by max(at) desc, session limit %(limit)s

-- name: session_titles
-- Of each session the title that its messages were stored with, and what a user said first.
select given.session,
  (select m.metadata->>'title' from mentions m
   where m.tenant = this_tenant() and m.owner = any(%(owners)s::text[]) and m.session = given.session
     and m.metadata ? 'title' and m.forgotten_at is null and not m.purged
   order by m.seq desc limit 1) as title,
  (select left(m.content, 400) from mentions_with_content m
   where m.tenant = this_tenant() and m.owner = any(%(owners)s::text[]) and m.session = given.session
     and m.role = 'user' and m.content <> '' and m.forgotten_at is null
     and (m.expires_at is null or m.expires_at > memory_time())
   order by m.seq limit 1) as opening
from unnest(%(sessions)s::text[]) as given(session)

-- name: attached
-- What came with some messages of a session, without those ids that it is to keep. The range is what the index can look up: more
-- than hexadecimal digits and colons never follow, and the letter z comes after these in every order of letters.
select a.id from mentions m
cross join lateral (select 'attached:' || encode(sha256(convert_to(m.external_id, 'UTF8')), 'hex') || ':' as starts) p
join mentions a on a.tenant = m.tenant and a.owner = m.owner and a.session = m.session
  and a.external_id between p.starts and p.starts || 'z' and starts_with(a.external_id, p.starts)
where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s and m.id = any(%(ids)s::uuid[])
  and a.id <> all (%(kept)s::uuid[])
order by a.id

-- name: attached_to_nodes
-- What came with the messages in which an owner, or one robot of it, said some texts: of those that are there, or, for what is to
-- come back, what was hidden together with them. Nothing that was forgotten by itself.
select a.id, a.node_id from mentions m
cross join lateral (select 'attached:' || encode(sha256(convert_to(m.external_id, 'UTF8')), 'hex') || ':' as starts) p
join mentions a on a.tenant = m.tenant and a.owner = m.owner and a.session = m.session
  and a.external_id between p.starts and p.starts || 'z' and starts_with(a.external_id, p.starts)
where m.tenant = this_tenant() and m.owner = %(owner)s and m.node_id = any(%(nodes)s::uuid[]) and m.external_id is not null
  and a.node_id is not null and (%(robot)s::text is null or m.robot = %(robot)s)
  and case when %(hidden)s then
        a.forgotten_at = m.forgotten_at or (m.expires_at <= memory_time() and a.expires_at <= memory_time()
          and (a.forgotten_at is null or a.forgotten_by = 'htm:expiry'))
      else m.forgotten_at is null and a.forgotten_at is null end
order by a.id

-- name: detach
-- Gives them up for good: neither do they come back with the message, nor does a file with the same words become them.
update mentions set external_id = null, metadata = metadata - 'attached_to'
where tenant = this_tenant() and id = any(%(ids)s::uuid[])

-- name: clear_log
update mentions set log_position = null, archived = false
where tenant = this_tenant() and owner = %(owner)s and session = %(session)s and log_position is not null
returning id

-- name: place_in_log
update mentions m set log_position = given.position
from unnest(%(ids)s::uuid[], %(positions)s::bigint[]) as given(id, position)
where m.tenant = this_tenant() and m.id = given.id

-- name: bring_back
-- Puts those of an append's messages that had left the log at its end, with the fresh ones, in their order; the log moves up for them.
with given as (
  select g.id, g.fresh, row_number() over (order by g.place) as nth, count(*) over () as n
  from unnest(%(ids)s::uuid[], %(fresh)s::bool[]) with ordinality g(id, fresh, place)
  join mentions m on m.tenant = this_tenant() and m.id = g.id and not m.purged and (g.fresh or m.log_position is null)),
last as (
  select max(m.seq) as seq from mentions m where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s)
update mentions m set log_position = coalesce(last.seq - g.n + g.nth, m.log_position - (select count(*) from given))
from last, mentions o left join given g on g.id = o.id
where exists (select from given where not fresh)
  and o.tenant = this_tenant() and o.owner = %(owner)s and o.session = %(session)s and (o.log_position is not null or g.id is not null)
  and m.tenant = o.tenant and m.id = o.id

-- name: by_id
select * from mentions_with_content where tenant = this_tenant() and id = any(%(ids)s::uuid[]) and forgotten_at is null

-- name: of_nodes
select * from mentions_with_content
where tenant = this_tenant() and node_id = any(%(nodes)s::uuid[]) and owner = any(%(owners)s::text[])
  and forgotten_at is null and (expires_at is null or expires_at > memory_time())
order by at desc, seq desc

-- name: named_users
-- Some users who have memories, by name, from owner to owner by the key: nothing that they have is counted.
with recursive each(owner, place) as (
  (select s.owner, 1 from sessions s where s.tenant = this_tenant() and s.owner > '' order by s.owner limit 1)
  union all
  select (select s.owner from sessions s where s.tenant = this_tenant() and s.owner > e.owner order by s.owner limit 1), e.place + 1
  from each e where e.owner is not null and e.place < %(looked)s)
select e.owner from each e
where e.owner is not null and not exists (select from unnest(%(reserved)s::text[]) r(prefix) where starts_with(e.owner, r.prefix))
  and exists (select from mentions m where m.tenant = this_tenant() and m.owner = e.owner and m.forgotten_at is null)
order by e.owner limit %(limit)s
