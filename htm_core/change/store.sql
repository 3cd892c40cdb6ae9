-- name: changed_sessions
-- Sessions with messages that were not read for this kind of tidying, one of each owner first, so that owners take turns.
select x.owner, x.session, x.last_seq, x.done from (
  select s.owner, s.session, s.last_seq, row_number() over (partition by s.owner order by s.session) as turn,
         case %(kind)s
           when 'profile' then case when coalesce(d.profile_rules, 0) = %(rules)s then coalesce(d.profile_seq, 0) else 0 end
           when 'merge' then case when coalesce(d.merge_rules, 0) = %(rules)s then coalesce(d.merge_seq, 0) else 0 end
           else coalesce(d.summary_seq, 0) end as done
  from sessions s
  left join tidied_sessions d on d.tenant = s.tenant and d.owner = s.owner and d.session = s.session
  where s.tenant = this_tenant() and s.last_seq > 0
    and (s.owner = any(%(owners)s::text[]) or (%(owners)s::text[] is null and not starts_with(s.owner, 'htm:')))) x
where x.last_seq > x.done
  and (%(quiet)s::float8 is null or is_quiet(this_tenant(), x.owner, x.session, x.last_seq, %(quiet)s))
order by x.turn, x.owner, x.session limit %(limit)s

-- name: count_unread
select coalesce(sum(s.last_seq - case when coalesce(d.profile_rules, 0) = %(rules)s then coalesce(d.profile_seq, 0) else 0 end), 0)::bigint as messages
from sessions s
left join tidied_sessions d on d.tenant = s.tenant and d.owner = s.owner and d.session = s.session
where s.tenant = this_tenant() and s.owner = %(owner)s

-- name: mark_profile
insert into tidied_sessions as t (tenant, owner, session, profile_seq, profile_rules)
values (this_tenant(), %(owner)s, %(session)s, %(seq)s, %(rules)s)
on conflict (tenant, owner, session) do update
set profile_seq = case when t.profile_rules = excluded.profile_rules then greatest(t.profile_seq, excluded.profile_seq) else excluded.profile_seq end,
    profile_rules = excluded.profile_rules

-- name: mark_merge
insert into tidied_sessions as t (tenant, owner, session, merge_seq, merge_rules)
values (this_tenant(), %(owner)s, %(session)s, %(seq)s, %(rules)s)
on conflict (tenant, owner, session) do update
set merge_seq = case when t.merge_rules = excluded.merge_rules then greatest(t.merge_seq, excluded.merge_seq) else excluded.merge_seq end,
    merge_rules = excluded.merge_rules

-- name: mark_summary
insert into tidied_sessions as t (tenant, owner, session, summary_seq)
values (this_tenant(), %(owner)s, %(session)s, %(seq)s)
on conflict (tenant, owner, session) do update set summary_seq = greatest(t.summary_seq, excluded.summary_seq)

-- name: own_words
-- What the user said in a session after a number. What is forgotten is read too, and shown by no profile until it is restored.
select m.id, m.node_id, m.seq, m.at, m.name, n.content
from mentions m join nodes n on n.tenant = m.tenant and n.id = m.node_id
where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s and m.seq > %(after)s and m.seq <= %(last)s
  and is_own_word(m)
order by m.seq limit %(limit)s

-- name: speakers
select array_agg(distinct x.name) as names from (
  select m.name from mentions m
  where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s and m.name is not null
    and coalesce(m.role, 'user') = 'user' limit 1000) x

-- name: drop_facts
delete from profile_facts f using mentions m
where f.tenant = this_tenant() and f.owner = %(owner)s and m.tenant = f.tenant and m.id = f.mention_id and m.session = %(session)s

-- name: insert_facts
insert into profile_facts (tenant, mention_id, key, retracts, owner, section, slot, value, line, model)
select this_tenant(), m.id, g.key, g.retracts, %(owner)s, g.section, g.slot, g.value, g.line, %(model)s
from unnest(%(mentions)s::uuid[], %(keys)s::text[], %(retracts)s::boolean[], %(sections)s::text[], %(slots)s::text[], %(values)s::text[],
            %(lines)s::text[])
     g(mention_id, key, retracts, section, slot, value, line)
cross join lateral (
  select m.id from mentions m where m.tenant = this_tenant() and m.id = g.mention_id and m.owner = %(owner)s and not m.purged offset 0) m
on conflict (tenant, mention_id, key, retracts) do update
set value = excluded.value, line = excluded.line, model = excluded.model

-- name: facts
-- Without what is forgotten or has expired, what a key no longer says, and what does not hold now; a plan may hold later. Of copies of
-- one message the first that is there counts.
select f.section, f.slot, f.value, f.line, f.retracts, m.id as mention_id, m.node_id, m.session, m.at, m.seq
from profile_facts f
join mentions m on m.tenant = f.tenant and m.id = f.mention_id
join nodes n on n.tenant = m.tenant and n.id = m.node_id
where f.tenant = this_tenant() and f.owner = %(owner)s and m.forgotten_at is null and n.live
  and (m.expires_at is null or m.expires_at > memory_time())
  and (m.valid is null or m.valid @> memory_time() or (f.section = 'plans' and coalesce(upper(m.valid) > memory_time(), true)))
  and (m.copy_of is null or not exists (
    select from mentions o where o.tenant = m.tenant and o.node_id = m.node_id and coalesce(o.copy_of, o.id) = m.copy_of and o.id < m.id
      and o.forgotten_at is null))
order by m.at, m.seq

-- name: nodes_of_session
-- The nodes that were mentioned in a session after a number, with all that their canonical form depends on.
select n.id, n.content, n.created_at,
       (select jsonb_agg(distinct jsonb_build_array(m.role, m.name, source_of(m.source, m.role), trust_of(m.trust, m.source, m.role))) from mentions m
        where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null) as voices,
       (select array_agg(distinct (m.at at time zone 'UTC')::date) from mentions m
        where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null) as days,
       (select array_agg(distinct m.session) from mentions m
        where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null) as sessions,
       n.live
         and not exists (select from keys k where k.tenant = n.tenant and k.node_id = n.id)
         and not exists (select from mentions m where m.tenant = n.tenant and m.node_id = n.id and (
           m.source_id is not null
           or exists (select from file_chunks c where c.tenant = m.tenant and c.mention_id = m.id)
           or exists (select from places p where p.tenant = m.tenant and p.mention_id = m.id))) as may_merge
from nodes n
where n.tenant = this_tenant() and n.owner = %(owner)s and n.id = any(array(
  select m.node_id from mentions m
  where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s and m.seq > %(after)s and m.seq <= %(last)s
    and m.node_id is not null))
order by n.id

-- name: known_forms
select c.node_id, c.digest from canonical_forms c where c.tenant = this_tenant() and c.node_id = any(%(nodes)s::uuid[])

-- name: drop_forms
delete from canonical_forms c where c.tenant = this_tenant() and c.node_id = any(%(nodes)s::uuid[])

-- name: separate
-- A node that no longer says the same as what it was merged with.
delete from merges g
where g.tenant = this_tenant() and (g.node_id = any(%(nodes)s::uuid[]) or g.into_id = any(%(nodes)s::uuid[])) and g.undone_at is null

-- name: insert_forms
insert into canonical_forms (tenant, owner, digest, node_id)
select this_tenant(), %(owner)s, g.digest, n.id
from unnest(%(nodes)s::uuid[], %(digests)s::bytea[]) g(id, digest)
cross join lateral (select n.id from nodes n where n.tenant = this_tenant() and n.id = g.id and n.owner = %(owner)s offset 0) n
on conflict do nothing

-- name: merge_same
-- Each node of a canonical form is represented by one: what others are merged into already, else the oldest. What was undone stays apart.
with same as materialized (
  select c.digest, n.id, n.content, n.created_at,
         exists (select from merges g where g.tenant = n.tenant and g.into_id = n.id and g.undone_at is null) as represents,
         exists (select from merges g where g.tenant = n.tenant and g.node_id = n.id) as was_merged
  from canonical_forms c join nodes n on n.tenant = c.tenant and n.id = c.node_id and n.live
  where c.tenant = this_tenant() and c.owner = %(owner)s and c.digest = any(%(digests)s::bytea[])),
chosen as (
  select distinct on (s.digest) s.digest, s.id, s.content from same s
  where not s.was_merged order by s.digest, s.represents desc, s.created_at, s.id)
insert into merges (tenant, node_id, into_id, owner, robot, merged_at)
select this_tenant(), s.id, c.id, %(owner)s, %(robot)s, %(at)s
from same s join chosen c on c.digest = s.digest
where s.id <> c.id and not s.was_merged and not s.represents
order by s.id
on conflict (tenant, node_id) do nothing
returning node_id, into_id

-- name: merges
select g.node_id, g.into_id, g.robot, g.merged_at, n.content, i.content as into_content
from merges g
join nodes n on n.tenant = g.tenant and n.id = g.node_id
join nodes i on i.tenant = g.tenant and i.id = g.into_id
where g.tenant = this_tenant() and g.owner = %(owner)s and g.undone_at is null and n.live and i.live
  and (%(nodes)s::uuid[] is null or g.node_id = any(%(nodes)s::uuid[]))
  and not exists (
    select from unnest(array[n.id, i.id]) x(id) where not exists (
      select from mentions m where m.tenant = this_tenant() and m.node_id = x.id and m.forgotten_at is null
        and (m.expires_at is null or m.expires_at > memory_time())))
order by g.merged_at desc, g.node_id limit %(limit)s

-- name: undo
update merges set undone_at = %(at)s
where tenant = this_tenant() and owner = %(owner)s and (node_id = %(node)s or into_id = %(node)s) and undone_at is null
returning node_id

-- name: group_of
-- All nodes that a node says the same as, itself too: those merged into it, or into what it is merged into.
select %(node)s::uuid as id
union
select g.node_id from merges g where g.tenant = this_tenant() and g.undone_at is null and g.into_id in (
  select %(node)s::uuid union
  select r.into_id from merges r where r.tenant = this_tenant() and r.node_id = %(node)s and r.undone_at is null)
union
select r.into_id from merges r where r.tenant = this_tenant() and r.node_id = %(node)s and r.undone_at is null
order by id

-- name: merged_among
-- Which of these nodes are represented by another live one, and which represent others.
select g.node_id, g.into_id from merges g
where g.tenant = this_tenant() and g.undone_at is null
  and (g.node_id = any(%(nodes)s::uuid[]) or g.into_id = any(%(nodes)s::uuid[]))
  and exists (select from nodes i where i.tenant = g.tenant and i.id = g.into_id and i.live)
  and exists (select from nodes n where n.tenant = g.tenant and n.id = g.node_id and n.live)

-- name: messages
-- The messages of a session up to a number, with words, in their order, and the first vector of each.
select m.id, m.seq, m.at, m.role, m.name, coalesce(n.content, m.content) as content, (
         select v.embedding::real[] from passages p
         join vectors v on v.tenant = p.tenant and v.passage_id = p.id
         join models l on l.tenant = v.tenant and l.space = v.space and l.active
         where p.tenant = m.tenant and p.node_id = m.node_id and p.ordinal = 0 and p.mention_id is null limit 1) as vector
from mentions m left join nodes n on n.tenant = m.tenant and n.id = m.node_id
where m.tenant = this_tenant() and m.owner = %(owner)s and m.session = %(session)s and m.seq <= %(last)s
  and m.forgotten_at is null and not m.purged and m.source_id is null and m.node_id is not null
  and coalesce(m.role, 'user') in ('user', 'assistant')
  and coalesce(m.source, m.role, 'user') in ('user', 'assistant') and (m.expires_at is null or m.expires_at > memory_time())
  and coalesce(n.live, true)
  and not exists (select from file_chunks c where c.tenant = m.tenant and c.mention_id = m.id)
order by m.seq desc limit %(limit)s

-- name: put_summary
insert into summaries (tenant, owner, session, lines, sources, messages, last_seq, first_at, last_at, made_at, model)
values (this_tenant(), %(owner)s, %(session)s, %(lines)s::text[], %(sources)s::uuid[], %(messages)s, %(last)s, %(first_at)s, %(last_at)s,
        %(at)s, %(model)s)
on conflict (tenant, owner, session) do update
set lines = excluded.lines, sources = excluded.sources, messages = excluded.messages, last_seq = excluded.last_seq,
    first_at = excluded.first_at, last_at = excluded.last_at, made_at = excluded.made_at, model = excluded.model

-- name: drop_summary
delete from summaries where tenant = this_tenant() and owner = %(owner)s and session = %(session)s

-- name: hidden_since
-- Whether one of these messages was forgotten or erased meanwhile; those that are there are locked against it.
select count(*) as there from (
  select from mentions m where m.tenant = this_tenant() and m.id = any(%(mentions)s::uuid[]) and m.forgotten_at is null and not m.purged
  for no key update) x

-- name: summaries
select s.session, s.lines, s.sources, s.messages, s.first_at, s.last_at, s.made_at, s.model
from summaries s
where s.tenant = this_tenant() and s.owner = %(owner)s and (%(session)s::text is null or s.session = %(session)s)
  and not exists (select from mentions m join nodes n on n.tenant = m.tenant and n.id = m.node_id
    where m.tenant = s.tenant and m.id = any(s.sources) and (not n.live or m.expires_at <= memory_time()))
order by s.last_at desc, s.session limit %(limit)s

-- name: queue
select queue_tidying(%(kind)s, %(rules)s, %(quiet)s) as queued

-- name: enqueue
insert into jobs (tenant, kind) values (this_tenant(), %(kind)s)
on conflict (tenant, node_id, kind, model)
do update set parked_at = null, run_at = now(), attempts = 0 where jobs.parked_at is not null
