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

-- name: purge_prompts
-- Empties the prompts of consultations that repeat, or are a part of, words that are purged with this `before`.
update consultations c set prompt = ''
where c.tenant = this_tenant() and c.owner = %(owner)s and c.prompt <> '' and exists (
  select 1 from mentions m join nodes n on n.tenant = m.tenant and n.id = m.node_id
  where m.tenant = this_tenant() and m.owner = %(owner)s and m.forgotten_at < %(before)s and not m.purged and (%(by)s::text is null or m.forgotten_by = %(by)s)
    and (strpos(c.prompt, n.content) > 0 or strpos(n.content, c.prompt) > 0))

-- name: purge
-- Empties the mentions that were forgotten before a time. Their rows stay, so that the session's sequence has no gap.
with purged as (
  select id, node_id from mentions
  where tenant = this_tenant() and owner = %(owner)s and forgotten_at < %(before)s and not purged
    and (%(by)s::text is null or forgotten_by = %(by)s)),
emptied as (
  update mentions m set node_id = null, content = null, payload = null, metadata = '{}', name = null, external_id = null,
         key = null, log_position = null, purged = true, valid = null, valid_words = null, expires_at = null, source = null, trust = null
  from purged b where m.tenant = this_tenant() and m.id = b.id)
select node_id from purged

-- name: delete_session_mentions
delete from mentions where tenant = this_tenant() and owner = %(owner)s and session = %(session)s returning node_id

-- name: empty_prompts_of_key
-- The same of a key that is erased, whatever else has its words.
update consultations c set prompt = ''
where c.tenant = this_tenant() and c.owner = %(owner)s and c.prompt <> '' and exists (
  select 1 from mentions m join nodes n on n.tenant = m.tenant and n.id = m.node_id
  where m.tenant = this_tenant() and m.owner = %(owner)s and m.key = %(key)s
    and (strpos(c.prompt, n.content) > 0 or strpos(n.content, c.prompt) > 0))

-- name: purge_key
update mentions m set node_id = null, content = null, payload = null, metadata = '{}', name = null, external_id = null,
       key = null, log_position = null, purged = true, forgotten_at = coalesce(forgotten_at, now()),
       valid = null, valid_words = null, expires_at = null, source = null, trust = null
from (select id, node_id from mentions where tenant = this_tenant() and owner = %(owner)s and key = %(key)s) b
where m.tenant = this_tenant() and m.id = b.id
returning b.node_id

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

-- name: drop_quotes
-- Decisions of the palace quote the texts that a promotion repeats or contradicts.
update decisions d set against = (
  select coalesce(jsonb_agg(q), '[]') from jsonb_array_elements(d.against) q where not q ->> 'node_id' = any(%(ids)s::text[]))
where d.tenant = this_tenant() and d.owner = %(owner)s and exists (
  select 1 from jsonb_array_elements(d.against) q where q ->> 'node_id' = any(%(ids)s::text[]))

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
