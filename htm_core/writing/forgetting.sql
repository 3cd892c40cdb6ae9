-- Every writer locks in one order: keys, sessions, nodes by their ids, and then what belongs to a node: its state, mentions,
-- passages, vectors, jobs. So whoever changes mentions locks their nodes before. docs/why/store.md has the whole order.

-- name: lock_nodes
select 1 from nodes where tenant = this_tenant() and id = any(%(ids)s::uuid[]) order by id for update

-- name: lock_nodes_of_mentions
select 1 from nodes n where n.tenant = this_tenant() and n.id in (
  select m.node_id from mentions m where m.tenant = this_tenant() and m.id = any(%(ids)s::uuid[]))
order by n.id for update

-- name: lock_nodes_of_forgotten
select 1 from nodes n where n.tenant = this_tenant() and n.id in (
  select m.node_id from mentions m
  where m.tenant = this_tenant() and m.owner = %(owner)s and m.forgotten_at < %(before)s and not m.purged
    and (%(by)s::text is null or m.forgotten_by = %(by)s))
order by n.id for update

-- name: lock_nodes_of_session
select 1 from nodes n where n.tenant = this_tenant() and n.id in (
  select m.node_id from mentions m where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s)
order by n.id for update

-- name: lock_nodes_of_key
select 1 from nodes n where n.tenant = this_tenant() and n.id in (
  select m.node_id from mentions m where m.tenant = this_tenant() and m.owner = %(owner)s and m.key = %(key)s)
order by n.id for update

-- name: lock_nodes_of_owner
select 1 from nodes where tenant = this_tenant() and owner = %(owner)s order by id for update

-- name: forget
update mentions set forgotten_at = %(at)s, forgotten_by = %(by)s, withdrawn = %(robot)s::text is not null
where tenant = this_tenant() and node_id = %(node)s and owner = %(owner)s and forgotten_at is null
  and (%(robot)s::text is null or robot = %(robot)s)
returning id

-- name: forget_mentions
update mentions set forgotten_at = %(at)s, forgotten_by = %(by)s, withdrawn = false
where tenant = this_tenant() and id = any(%(ids)s::uuid[]) and owner = %(owner)s and forgotten_at is null
returning node_id

-- name: quotes
-- What quotes these nodes: replies of tools that show one by its id; what tools and assistants said, notes of sessions and what was
-- promoted, where they repeat one of these texts, as words or in the exact bytes of a message; and what was promoted from such a note.
-- What everybody shares may be quoted to anybody. With `times` those that were hidden then, and quote nothing else that is forgotten;
-- with `erased` those that are hidden, too.
with quoting as (
  select m.id, m.node_id from mentions m left join nodes n on n.tenant = m.tenant and n.id = m.node_id
  where m.tenant = this_tenant() and (m.owner = any(%(owners)s::text[]) or '' = any(%(owners)s::text[])) and not m.purged
    and (m.node_id = any(%(nodes)s::uuid[])) is not true
    and ((m.role in ('tool', 'assistant') or m.source in ('tool', 'assistant') or starts_with(m.owner, 'htm:notes:')
          or exists (select from decisions d where d.tenant = m.tenant and d.mention_id = m.id))
         and exists (select from unnest(%(texts)s::text[], %(escaped)s::bytea[]) t(words, bytes)
                     where strpos(coalesce(n.content, m.content, ''), t.words) > 0 or position(t.bytes in m.payload) > 0)
         or 'tool' in (m.role, m.source) and quoted_ids(coalesce(n.content, m.content), m.payload) && %(nodes)s::uuid[])),
found as (
  select q.id from quoting q
  union
  select d.mention_id from quoting q join decisions d on d.tenant = this_tenant() and d.note_id = q.id and d.mention_id is not null)
select m.id, m.node_id, m.owner from found f join mentions m on m.tenant = this_tenant() and m.id = f.id
left join nodes n on n.tenant = m.tenant and n.id = m.node_id
where case when %(times)s::timestamptz[] is null then m.forgotten_at is null or %(erased)s
      else m.forgotten_at = any(%(times)s::timestamptz[]) and not exists (
        select from mentions o where o.tenant = this_tenant() and o.forgotten_at is not null
          and o.node_id = any(quoted_ids(coalesce(n.content, m.content), m.payload)) and o.node_id <> all(%(nodes)s::uuid[])) end
  and (m.node_id = any(%(nodes)s::uuid[])) is not true
order by m.id

-- name: texts_of_nodes
select id, content from nodes where tenant = this_tenant() and id = any(array(select each_id(%(nodes)s::uuid[])))

-- name: told_nodes
-- Those of some nodes that somebody has said or noted, and no assistant or tool alone.
select distinct m.node_id as id from mentions m
where m.tenant = this_tenant() and m.node_id = any(array(select each_id(%(nodes)s::uuid[])))
  and (m.role in ('assistant', 'tool')) is not true

-- name: times_forgotten
select distinct m.forgotten_at as time from mentions m
where m.tenant = this_tenant() and m.node_id = any(array(select each_id(%(nodes)s::uuid[]))) and m.forgotten_at is not null

-- name: forget_quotes
update mentions set forgotten_at = %(at)s, forgotten_by = %(by)s, withdrawn = false
where tenant = this_tenant() and id = any(%(ids)s::uuid[]) and forgotten_at is null
returning node_id

-- name: restore_quotes
update mentions set forgotten_at = null, forgotten_by = null, withdrawn = false
where tenant = this_tenant() and id = any(%(ids)s::uuid[]) and forgotten_at is not null and not purged
returning node_id

-- name: forget_late_quotes
-- Replies of tools that are written after what they quote was forgotten.
update mentions m set forgotten_at = f.forgotten_at, forgotten_by = f.forgotten_by
from unnest(%(mentions)s::uuid[], %(quoted)s::uuid[]) g(mention, quoted), lateral (
  select o.forgotten_at, o.forgotten_by from mentions o
  where o.tenant = this_tenant() and o.node_id = g.quoted and o.forgotten_at is not null
    and not exists (select from mentions l where l.tenant = this_tenant() and l.node_id = g.quoted and l.forgotten_at is null)
  order by o.forgotten_at desc limit 1) f
where m.tenant = this_tenant() and m.id = g.mention and m.forgotten_at is null
returning m.node_id

-- name: mentions_of_key
select id from mentions
where tenant = this_tenant() and node_id = %(node)s and owner = %(owner)s and key = %(key)s and forgotten_at is null
order by id

-- name: restore
-- What has expired is kept for good from now on.
update mentions set forgotten_at = null, forgotten_by = null, withdrawn = false,
       expires_at = case when expires_at > memory_time() then expires_at end
where tenant = this_tenant() and node_id = %(node)s and owner = %(owner)s and not purged
  and (forgotten_at is not null or expires_at <= memory_time())
returning id

-- name: restore_mentions
update mentions set forgotten_at = null, forgotten_by = null, withdrawn = false
where tenant = this_tenant() and id = any(%(ids)s::uuid[]) and owner = %(owner)s and forgotten_at is not null and not purged
returning node_id

-- name: restore_attached
-- What has expired is kept for good from now on, as the message that it came with.
update mentions set forgotten_at = null, forgotten_by = null, withdrawn = false,
       expires_at = case when expires_at > memory_time() then expires_at end
where tenant = this_tenant() and id = any(%(ids)s::uuid[]) and owner = %(owner)s and not purged

-- name: node_of_key
select node_id from keys where tenant = this_tenant() and owner = %(owner)s and key = %(key)s order by version desc limit 1

-- name: to_purge
-- What was forgotten before a time.
select id, node_id from mentions
where tenant = this_tenant() and owner = %(owner)s and forgotten_at < %(before)s and not purged
  and (%(by)s::text is null or forgotten_by = %(by)s)
order by id for update

-- name: said_for_key
select id, node_id, (role in ('assistant', 'tool')) is not true as is_told from mentions
where tenant = this_tenant() and owner = %(owner)s and key = %(key)s order by id for update

-- name: empty
-- Empties mentions. Their rows stay, so that the session's sequence has no gap.
update mentions set node_id = null, content = null, payload = null, metadata = '{}', name = null, external_id = null, key = null,
       log_position = null, purged = true, forgotten_at = coalesce(forgotten_at, memory_time()), valid = null, valid_words = null,
       expires_at = null, source = null, trust = null, copy_of = null,
       purged_as = case when node_id is not null then purged_as(sayings(mentions)) end
where tenant = this_tenant() and id = any(%(ids)s::uuid[])

-- name: delete_session_mentions
delete from mentions where tenant = this_tenant() and owner = %(owner)s and session = %(session)s returning node_id

-- name: delete_owner_mentions
delete from mentions where tenant = this_tenant() and owner = %(owner)s returning node_id

-- name: nodes_of_owner
select id from nodes where tenant = this_tenant() and owner = %(owner)s

-- name: unmentioned
-- By a set and not by a join, which with the statistics of a smaller tenant would read the tenant's mentions for each node.
select n.id from nodes n where n.tenant = this_tenant() and n.id = any(%(ids)s::uuid[]) and n.owner = %(owner)s
except
select m.node_id from mentions m where m.tenant = this_tenant() and m.node_id = any(array(select each_id(%(ids)s::uuid[])))

-- name: count_parts
select (select count(*) from passages where tenant = this_tenant() and node_id = any(%(ids)s::uuid[])) as passages,
       (select count(*) from vectors where tenant = this_tenant() and node_id = any(%(ids)s::uuid[])) as vectors,
       (select count(*) from jobs where tenant = this_tenant() and node_id = any(%(ids)s::uuid[])) as jobs

-- name: drop_keys
delete from keys where tenant = this_tenant() and owner = %(owner)s and node_id = any(%(ids)s::uuid[]) returning key

-- name: drop_key
delete from keys where tenant = this_tenant() and owner = %(owner)s and key = %(key)s returning key

-- name: empty_audit
-- What the audit of the palace repeats of nodes: prompts that repeat their words, or are a part of them, and decisions, which quote what a
-- promotion repeats or contradicts.
with asked as (
  update consultations c set prompt = ''
  where c.tenant = this_tenant() and c.owner = any(%(owners)s::text[]) and c.prompt <> '' and exists (
    select from nodes n where n.tenant = this_tenant() and n.id = any(%(ids)s::uuid[])
      and (strpos(c.prompt, n.content) > 0 or strpos(n.content, c.prompt) > 0)))
update decisions d set summary = case when r.repeats then '' else d.summary end, reason = case when r.repeats then '' else d.reason end,
       against = (select coalesce(jsonb_agg(q), '[]') from jsonb_array_elements(d.against) q where q ->> 'node_id' <> all(%(ids)s::text[]))
from (select e.tenant, e.id, exists (
        select from nodes n where n.tenant = this_tenant() and n.id = any(%(ids)s::uuid[])
          and (strpos(e.summary, n.content) > 0 or strpos(e.reason, n.content) > 0)) as repeats
      from decisions e where e.tenant = this_tenant() and e.owner = any(%(owners)s::text[])) r
where d.tenant = r.tenant and d.id = r.id and (r.repeats or exists (
  select from jsonb_array_elements(d.against) q where q ->> 'node_id' = any(%(ids)s::text[])))

-- name: drop_nodes
delete from nodes where tenant = this_tenant() and id = any(%(ids)s::uuid[])

-- name: drop_session
delete from sessions where tenant = this_tenant() and owner = %(owner)s and session = %(session)s returning session

-- name: drop_sessions
delete from sessions where tenant = this_tenant() and owner = %(owner)s returning session

-- name: drop_working_sets
delete from working_sets where tenant = this_tenant() and owner = %(owner)s
  and (%(session)s::text is null or session = %(session)s)

-- name: owners_with_expired
-- Whose mentions have expired and are to be hidden, or were hidden as such before a time.
select distinct owner from mentions
where tenant = this_tenant() and (%(owner)s::text is null or owner = %(owner)s)
  and ((expires_at <= memory_time() and forgotten_at is null)
       or (forgotten_at < %(before)s and forgotten_by = %(by)s and not purged))
order by owner

-- name: lock_nodes_of_expired
select 1 from nodes n where n.tenant = this_tenant() and n.id in (
  select m.node_id from mentions m
  where m.tenant = this_tenant() and m.owner = %(owner)s and m.expires_at <= memory_time() and m.forgotten_at is null)
order by n.id for update

-- name: hide_expired
-- As if it had been forgotten when it expired.
update mentions set forgotten_at = expires_at, forgotten_by = %(by)s
where tenant = this_tenant() and owner = %(owner)s and expires_at <= memory_time() and forgotten_at is null
returning node_id

-- name: tenants_with_expired
select tenants_with_expired(%(before)s, %(by)s) as tenants
