-- name: insert
insert into places (tenant, mention_id, owner, session, kind, room, drawer, filed_at, expires_at, uri, facts)
select this_tenant(), given.id, %(owner)s, m.session, %(kind)s, given.room, given.drawer, %(at)s, %(expires)s, given.uri, given.facts
from unnest(%(mentions)s::uuid[], %(rooms)s::text[], %(drawers)s::text[], %(uris)s::text[], %(facts)s::jsonb[])
  as given(id, room, drawer, uri, facts)
join mentions m on m.tenant = this_tenant() and m.id = given.id
on conflict (tenant, mention_id) do nothing

-- name: list_places
-- Places that are neither forgotten nor expired, newest first.
select p.*, m.node_id, m.at, m.robot, n.content, n.tokens, s.importance
from places p
join mentions m on m.tenant = p.tenant and m.id = p.mention_id
join nodes n on n.tenant = m.tenant and n.id = m.node_id
join node_state s on s.tenant = n.tenant and s.node_id = n.id
where p.tenant = this_tenant() and p.owner = any(%(owners)s::text[]) and p.kind = any(%(kinds)s::text[])
  and m.forgotten_at is null
  and (%(room)s::text is null or p.room = %(room)s)
  and (%(drawer)s::text is null or p.drawer = %(drawer)s)
  and (p.expires_at is null or p.expires_at > %(now)s)
  and (%(uri)s::text is null or p.uri = %(uri)s)
order by p.filed_at desc, p.mention_id desc limit %(limit)s

-- name: by_mentions
select p.*, m.node_id, m.at, m.robot, n.content, n.tokens, s.importance
from places p
join mentions m on m.tenant = p.tenant and m.id = p.mention_id
join nodes n on n.tenant = m.tenant and n.id = m.node_id
join node_state s on s.tenant = n.tenant and s.node_id = n.id
where p.tenant = this_tenant() and p.mention_id = any(%(mentions)s::uuid[]) and p.owner = any(%(owners)s::text[])
  and m.forgotten_at is null and (p.expires_at is null or p.expires_at > %(now)s)

-- name: by_nodes
-- The newest place of each node.
select distinct on (m.node_id) p.*, m.node_id, m.at, m.robot, n.content, n.tokens, s.importance
from mentions m
join places p on p.tenant = m.tenant and p.mention_id = m.id
join nodes n on n.tenant = m.tenant and n.id = m.node_id
join node_state s on s.tenant = n.tenant and s.node_id = n.id
where m.tenant = this_tenant() and m.node_id = any(%(nodes)s::uuid[]) and m.forgotten_at is null
  and p.owner = any(%(owners)s::text[]) and p.kind = any(%(kinds)s::text[])
  and (p.expires_at is null or p.expires_at > %(now)s)
  and (%(room)s::text is null or p.room = %(room)s) and (%(drawer)s::text is null or p.drawer = %(drawer)s)
order by m.node_id, p.filed_at desc, p.mention_id

-- name: rooms
select p.room, p.drawer, count(*) as places, max(p.filed_at) as filed_at
from places p join mentions m on m.tenant = p.tenant and m.id = p.mention_id
where p.tenant = this_tenant() and p.owner = any(%(owners)s::text[]) and p.kind = 'filed' and m.forgotten_at is null
group by p.room, p.drawer order by p.room, p.drawer

-- name: names
-- The names of rooms and drawers, each found in the index from the one before it: what lies in them is not read.
with recursive names as (
  (select p.owner, p.room, p.drawer from places p
   where p.tenant = this_tenant() and p.owner = any(%(owners)s::text[]) and p.kind = 'filed'
   order by p.owner, p.room, p.drawer limit 1)
  union all
  select next.owner, next.room, next.drawer from names n cross join lateral (
    select p.owner, p.room, p.drawer from places p
    where p.tenant = this_tenant() and p.owner = any(%(owners)s::text[]) and p.kind = 'filed'
      and (p.owner, p.room, p.drawer) > (n.owner, n.room, n.drawer)
    order by p.owner, p.room, p.drawer limit 1) next)
select distinct n.room, n.drawer from names n limit %(limit)s

-- name: survey
-- Which layers have anything, and whether notes have to be swept.
select exists (select 1 from places p where p.tenant = this_tenant() and p.owner = %(note_owner)s and p.kind = 'note') as notes,
       exists (select 1 from places p where p.tenant = this_tenant() and p.expires_at <= %(now)s
               and exists (select 1 from mentions m where m.tenant = p.tenant and m.id = p.mention_id and m.forgotten_at is null)) as expired

-- name: contradicted
-- What is joined to these nodes by "contradicts", in either direction, with the newest place that each has.
select distinct on (e.node_id, e.other) e.node_id as against, p.*, m.node_id, m.at, m.robot, n.content, n.tokens, s.importance
from (
  select r.source as node_id, r.target as other from relations r
  where r.tenant = this_tenant() and r.source = any(%(nodes)s::uuid[]) and r.kind = 'contradicts' and r.owner = any(%(owners)s::text[])
  union
  select r.target, r.source from relations r
  where r.tenant = this_tenant() and r.target = any(%(nodes)s::uuid[]) and r.kind = 'contradicts' and r.owner = any(%(owners)s::text[])) e
join mentions m on m.tenant = this_tenant() and m.node_id = e.other and m.forgotten_at is null
join places p on p.tenant = m.tenant and p.mention_id = m.id
join nodes n on n.tenant = m.tenant and n.id = m.node_id
join node_state s on s.tenant = n.tenant and s.node_id = n.id
where p.owner = any(%(owners)s::text[]) and p.kind = 'filed' and (p.expires_at is null or p.expires_at > %(now)s)
order by e.node_id, e.other, p.filed_at desc

-- name: move
update places set room = %(room)s, drawer = %(drawer)s
where tenant = this_tenant() and mention_id = %(mention)s and owner = %(owner)s and kind = 'filed'
returning mention_id

-- name: hide
-- Hides these mentions only. A node is hidden with its last mention.
update mentions m set forgotten_at = %(at)s, forgotten_by = %(by)s
where m.tenant = this_tenant() and m.id = any(%(mentions)s::uuid[]) and m.owner = %(owner)s and m.forgotten_at is null
returning m.id, m.node_id

-- name: sweep
-- Hides expired notes, as of the time of their expiry.
with due as (
  select p.mention_id, p.expires_at from places p join mentions m on m.tenant = p.tenant and m.id = p.mention_id
  where p.tenant = this_tenant() and p.expires_at <= %(now)s and m.forgotten_at is null
  order by p.expires_at limit 1000 for update of m skip locked)
update mentions m set forgotten_at = d.expires_at, forgotten_by = %(by)s
from due d where m.tenant = this_tenant() and m.id = d.mention_id
returning m.node_id

-- name: mark_promoted
update places set promoted_at = %(at)s where tenant = this_tenant() and mention_id = %(mention)s

-- name: add_decision
insert into decisions (tenant, id, owner, robot, session, at, note_id, mention_id, room, drawer, reason, summary, outcome, against, undoes)
values (this_tenant(), %(id)s, %(owner)s, %(robot)s, %(session)s, %(at)s, %(note)s, %(mention)s, %(room)s, %(drawer)s,
        %(reason)s, %(summary)s, %(outcome)s, %(against)s, %(undoes)s)

-- name: decisions
-- Without the words of what was forgotten since: of what was filed, unless it was taken back, and of what that repeats or contradicts.
select d.id, d.outcome, d.note_id, d.mention_id, d.room, d.drawer, d.undoes, d.robot, d.session, d.at,
       case when not g.is_forgotten then d.reason else '' end as reason, case when not g.is_forgotten then d.summary else '' end as summary,
       q.against
from decisions d
cross join lateral (
  select coalesce(jsonb_agg(case when n.live then a.quote else jsonb_set(a.quote, '{content}', '""') end order by a.place), '[]') as against,
         coalesce(bool_or(n.live is not true), false) as any_forgotten
  from jsonb_array_elements(d.against) with ordinality a(quote, place)
  left join nodes n on n.tenant = d.tenant and n.id = (a.quote ->> 'node_id')::uuid) q
cross join lateral (
  select d.outcome = 'duplicate' and q.any_forgotten
         or d.outcome <> 'undone' and not exists (select from decisions u where u.tenant = d.tenant and u.undoes = d.id)
            and exists (select from mentions m where m.tenant = d.tenant and m.id = d.mention_id and m.forgotten_at is not null)
         as is_forgotten) g
where d.tenant = this_tenant() and d.owner = %(owner)s and (%(id)s::uuid is null or d.id = %(id)s)
order by d.at desc, d.id desc limit %(limit)s

-- name: is_undone
select 1 from decisions where tenant = this_tenant() and undoes = %(id)s

-- name: add_consultation
insert into consultations (tenant, id, owner, robot, session, at, prompt, recall, rule, verdict, layers)
values (this_tenant(), %(id)s, %(owner)s, %(robot)s, %(session)s, %(at)s, %(prompt)s, %(recall)s, %(rule)s, %(verdict)s, %(layers)s)
on conflict do nothing

-- name: consultations
-- Without prompts that repeat, or are a part of, what was forgotten since.
select c.id, c.recall, c.rule, c.verdict, c.layers, c.robot, c.session, c.at,
       case when exists (
         select from mentions m join nodes n on n.tenant = m.tenant and n.id = m.node_id and not n.live
         where m.tenant = c.tenant and m.owner = c.owner and m.forgotten_at is not null and not m.purged
           and (strpos(c.prompt, n.content) > 0 or strpos(n.content, c.prompt) > 0)) then '' else c.prompt end as prompt
from consultations c where c.tenant = this_tenant() and c.owner = %(owner)s order by c.at desc, c.id desc limit %(limit)s

-- name: last_wake
select at from wakings where tenant = this_tenant() and owner = %(owner)s and robot = %(robot)s

-- name: set_wake
insert into wakings (tenant, owner, robot, at) values (this_tenant(), %(owner)s, %(robot)s, %(at)s)
on conflict (tenant, owner, robot) do update set at = greatest(wakings.at, excluded.at)

-- name: note_owners
select distinct owner from sessions where tenant = this_tenant() and starts_with(owner, %(prefix)s::text)

-- name: erase_audit
with decided as (
  delete from decisions where tenant = this_tenant() and owner = %(owner)s and (%(session)s::text is null or session = %(session)s)),
woken as (
  delete from wakings where tenant = this_tenant() and owner = %(owner)s and %(session)s::text is null)
delete from consultations where tenant = this_tenant() and owner = %(owner)s and (%(session)s::text is null or session = %(session)s)
