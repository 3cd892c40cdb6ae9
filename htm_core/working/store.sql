-- name: version
-- No set is no row of `s`. Those of the unwritten items whose nodes are no longer live come with it, in one message.
select s.id, s.version, s.pruned, array(
  select given.id from each_id(%(unwritten)s::uuid[]) as given(id)
  where (select true from nodes n where n.tenant = this_tenant() and n.id = given.id and n.live) is null) as dead
from (values (true)) as one left join working_sets s
  on s.tenant = this_tenant() and s.owner = %(owner)s and s.shared = %(shared)s and s.holder = %(holder)s
  and s.session = %(session)s

-- name: items
-- The live ones by a set, and what belongs to each by its key: no join could go through the tenant again for each of them.
select w.node_id as id, true as held, s.importance, w.access_count, w.added_at, w.accessed_at
from working_items w
cross join lateral (
  select t.importance from node_state t where t.tenant = this_tenant() and t.node_id = w.node_id offset 0) s
where w.tenant = this_tenant() and w.set_id = %(set)s and w.evicted_at is null
  and (w.node_id in (
    select n.id from nodes n where n.tenant = this_tenant() and n.live and n.id = any(array(
      select i.node_id from working_items i where i.tenant = this_tenant() and i.set_id = %(set)s and i.evicted_at is null)))) is true

-- name: changed
select w.node_id as id, w.evicted_at is null as held, s.importance, w.access_count, w.added_at, w.accessed_at
from working_items w
cross join lateral (
  select t.importance from node_state t where t.tenant = this_tenant() and t.node_id = w.node_id offset 0) s
where w.tenant = this_tenant() and w.set_id = %(set)s and w.version > %(since)s

-- name: contents
-- With who said it last, and when and where.
select n.id, n.content, n.tokens, s.name, s.role, s.session, s.at, s.seq, s.source,
       (select nullif(max(coalesce(e.expires_at, 'infinity')), 'infinity') from mentions e
        where e.tenant = n.tenant and e.node_id = n.id and e.forgotten_at is null) as expires_at,
       array(select t.tag from tags t where t.tenant = n.tenant and t.node_id = n.id and t.explicit order by t.tag) as tags,
       array(select k.key from keys k where k.tenant = n.tenant and k.node_id = n.id and k.current order by k.key) as keys
from nodes n left join lateral (
  select m.name, m.role, m.session, m.at, m.seq, m.source from mentions m
  where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null
  order by m.at desc, m.seq desc limit 1) s on true
where n.tenant = this_tenant() and n.live and n.id = any(array(select each_id(%(ids)s::uuid[])))

-- name: change
select set_id, reached, refused from change_working_set(
  %(owner)s, %(shared)s, %(holder)s, %(session)s, %(expected)s::bigint,
  %(gone)s::uuid[], %(scores)s::float8[], %(at)s::timestamptz, %(policy)s::text,
  %(came)s::uuid[], %(added)s::timestamptz[], %(accessed)s::timestamptz[], %(counts)s::bigint[], %(dead)s::uuid[],
  %(noted)s, %(recalled)s, %(gone_ats)s::timestamptz[])

-- name: add_accesses
select set_id, reached, node, count, at from count_accesses(
  %(owner)s, %(shared)s, %(holder)s, %(session)s, %(ids)s::uuid[], %(times)s::bigint[], %(ats)s::timestamptz[])

-- name: remove_dead
select evict_from_all_sets(array(
  select id from nodes where tenant = this_tenant() and id = any(array(select each_id(%(ids)s::uuid[]))) and not live), null)

-- name: prune
select mark_sets_pruned(%(ids)s::uuid[])

-- name: history
-- What the sets of an owner did in the asked turns of sessions, and of a list of nodes its first ones, with the length of the whole.
select s.session, s.holder, s.shared, c.seq, c.at, c.policy, c.recalled[:%(first)s] as recalled, cardinality(c.recalled) as came,
       c.evicted[:%(first)s] as evicted, c.scores[:%(first)s] as scores, cardinality(c.evicted) as "left"
from unnest(%(sessions)s::text[], %(begins)s::bigint[], %(ends)s::bigint[]) as asked(session, begins, ends)
join working_sets s on s.tenant = this_tenant() and s.owner = %(owner)s and s.session = asked.session
cross join lateral (
  select b.* from working_changes b
  where b.tenant = this_tenant() and b.set_id = s.id and b.seq between asked.begins and asked.ends offset 0) c
order by s.session, c.seq, c.at, c.version, s.holder
limit %(limit)s

-- name: history_words
select n.id, left(n.content, 200) as content, n.tokens from nodes n
where n.tenant = this_tenant() and n.live and n.id = any(array(select each_id(%(ids)s::uuid[])))

-- name: drop_history
delete from working_changes where tenant = this_tenant() and at < %(before)s

-- name: drop_all_history
select drop_working_changes(%(before)s) as dropped
