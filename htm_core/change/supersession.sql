-- name: subjects
-- Live nodes, each with who said it last and when; nothing for what a file says.
select n.id, n.content, n.owner, m.role, m.name, m.at, m.id as mention_id,
       trust_of(m.trust, m.source, m.role) as trust, null::float8 as cosine
from nodes n, lateral (
  select s.* from mentions s where s.tenant = n.tenant and s.node_id = n.id and s.forgotten_at is null
    and (s.expires_at is null or s.expires_at > memory_time())
  order by trust_of(s.trust, s.source, s.role) desc, s.at desc, s.id desc limit 1) m
where n.tenant = this_tenant() and n.id = any(array(select each_id(%(nodes)s::uuid[]))) and n.live
  and not exists (select 1 from file_chunks k where k.tenant = m.tenant and k.mention_id = m.id)

-- name: candidates
select * from supersession_candidates(%(node)s, %(words)s, %(limit)s)

-- name: insert
-- An edge that is there stays as it is, undone or not; said again, it holds from then. One that the rules made before they knew
-- all that the newer saying may be about gets the higher confidence, unless somebody has decided about it. What was forgotten or erased
-- while it was judged gets none.
with given as (
  select * from unnest(%(ids)s::uuid[], %(newer)s::uuid[], %(older)s::uuid[], %(relations)s::text[], %(confidences)s::float8[],
                       %(reasons)s::text[], %(holds_from)s::timestamptz[])
    as g(id, newer, older, relation, confidence, reason, holds_from)),
made as (
  insert into supersessions as s (tenant, id, newer, older, owner, relation, confidence, reason, judge, state, holds_from)
  select this_tenant(), g.id, g.newer, g.older, %(owner)s, g.relation, g.confidence, g.reason, %(judge)s, %(state)s, g.holds_from
  from given g
  join nodes a on a.tenant = this_tenant() and a.id = g.newer and a.live
  join nodes b on b.tenant = this_tenant() and b.id = g.older and b.live
  order by g.newer, g.older
  on conflict (tenant, newer, older) do update set
    holds_from = greatest(s.holds_from, excluded.holds_from),
    relation = case when s.state = 'standing' and s.judge = 'reader' and s.confidence < excluded.confidence then excluded.relation else s.relation end,
    reason = case when s.state = 'standing' and s.judge = 'reader' and s.confidence < excluded.confidence then excluded.reason else s.reason end,
    judge = case when s.state = 'standing' and s.judge = 'reader' and s.confidence < excluded.confidence then excluded.judge else s.judge end,
    state = case when s.state = 'standing' and s.judge = 'reader' and s.confidence < excluded.confidence then excluded.state else s.state end,
    confidence = case when s.state = 'standing' and s.judge = 'reader' then greatest(s.confidence, excluded.confidence) else s.confidence end
    where s.holds_from < excluded.holds_from or (s.state = 'standing' and s.judge = 'reader' and s.confidence < excluded.confidence)
  returning s.id, s.relation, s.confidence, s.reason)
insert into supersession_audit (tenant, id, supersession, owner, action, by, reason)
select this_tenant(), gen_random_uuid(), m.id, %(owner)s, 'made', %(judge)s, m.reason from made m join given g on g.id = m.id
returning supersession

-- name: is_compared
-- Whether the rules have compared a node: until then its vector, or the comparison, is pending.
select not exists (
  select 1 from jobs j where j.tenant = this_tenant() and j.node_id = %(node)s and j.kind in ('embed', 'supersede') and j.parked_at is null)
  as compared

-- name: make_judge_due
update jobs set run_at = now(), error = null
where tenant = this_tenant() and node_id = any(array(select each_id(%(nodes)s::uuid[]))) and kind = 'judge' and claimed_until is null and parked_at is null

-- name: undecided
-- What the rules have found of a node and are not sure of, with the words of both.
select s.id, s.relation, s.newer as newer_id, s.older as older_id, a.content as newer, b.content as older
from supersessions s
join nodes a on a.tenant = s.tenant and a.id = s.newer join nodes b on b.tenant = s.tenant and b.id = s.older
where s.tenant = this_tenant() and (s.newer = %(node)s or s.older = %(node)s) and s.state = 'standing' and s.judge = 'reader'
  and (s.confidence < %(threshold)s or s.relation = 'contradicts') and a.live and b.live
order by s.confidence desc, s.id limit 20

-- name: decide
-- What a judge says of an edge that still stands as the rules made it, with its row in the audit.
with decided as (
  update supersessions s set state = %(state)s, relation = coalesce(%(relation)s, s.relation), judge = %(judge)s,
         reason = case when %(reason)s = '' then s.reason else %(reason)s end
  where s.tenant = this_tenant() and s.id = %(id)s and s.state = 'standing' and s.judge = 'reader' returning s.id, s.owner)
insert into supersession_audit (tenant, id, supersession, owner, action, by, reason)
select this_tenant(), gen_random_uuid(), d.id, d.owner, %(action)s, %(judge)s, %(reason)s from decided d

-- name: touching
-- Whether any edge that counts begins or ends at one of these nodes: two look-ups, before the walk below.
select exists (
    select 1 from unnest(%(ids)s::uuid[]) x(id), lateral (
      select 1 from supersessions s where s.tenant = this_tenant() and s.older = x.id and s.relation = 'supersedes'
        and s.state <> 'undone' and (s.state = 'confirmed' or s.confidence >= %(threshold)s) offset 0) e)
  or exists (
    select 1 from unnest(%(ids)s::uuid[]) x(id), lateral (
      select 1 from supersessions s where s.tenant = this_tenant() and s.newer = x.id and s.relation = 'supersedes'
        and s.state <> 'undone' and (s.state = 'confirmed' or s.confidence >= %(threshold)s) offset 0) e) as there

-- name: around
-- The edges that hold at a moment among these nodes and whatever is joined to them: at most six steps away, so that a value that
-- changed often is found with those before it. Each mention comes once as the newer one and once as the older one, with the first edge
-- of its node. An edge holds while nobody who is trusted as much has said the older one again since, be it
-- in the words that it was merged with, and while what the newer one says holds and has not expired.
with recursive near as (
  select x.id, 0 as steps from unnest(%(ids)s::uuid[]) x(id)
  union
  select e.other, n.steps + 1 from near n
  cross join lateral (
    select s.newer as other, s.* from supersessions s where s.tenant = this_tenant() and s.older = n.id
    union all
    select s.older, s.* from supersessions s where s.tenant = this_tenant() and s.newer = n.id) e
  where n.steps < 6 and e.relation = 'supersedes' and e.state <> 'undone'
    and (e.state = 'confirmed' or e.confidence >= %(threshold)s)),
joined as (
  select distinct s.* from (select distinct n.id from near n) x
  join supersessions s on s.tenant = this_tenant() and s.older = x.id
  where s.relation = 'supersedes' and s.state <> 'undone' and (s.state = 'confirmed' or s.confidence >= %(threshold)s)
    and (%(owners)s::text[] is null or s.owner = any(%(owners)s::text[]))
    and s.holds_from <= coalesce(%(moment)s::timestamptz, 'infinity')),
said as materialized (
  select x.id, m.* from (select newer as id from joined union select older from joined) x
  cross join lateral (
    select to_jsonb(m) || jsonb_build_object('valid', span_json(m.valid)) as whole, m.valid, trust_of(m.trust, m.source, m.role) as trust
    from mentions_with_content m where m.tenant = this_tenant() and m.node_id = x.id and m.forgotten_at is null
      and (m.expires_at is null or m.expires_at > coalesce(%(moment)s::timestamptz, memory_time()))
    order by trust_of(m.trust, m.source, m.role) desc, m.at desc, m.id desc limit 1) m),
again as materialized (  -- all sayings of the older ones, be it in the words that they were merged with
  select o.id, m.at, m.trust from (select distinct older as id from joined) o
  left join merges r on r.tenant = this_tenant() and r.node_id = o.id and r.undone_at is null
  cross join lateral (
    select o.id as node union all select r.into_id union all
    select g.node_id from merges g where g.tenant = this_tenant() and g.undone_at is null and g.into_id in (o.id, r.into_id)) k
  cross join lateral (
    select m.at, trust_of(m.trust, m.source, m.role) as trust from mentions m
    where m.tenant = this_tenant() and m.node_id = k.node and m.forgotten_at is null
      and m.at <= coalesce(%(moment)s::timestamptz, 'infinity')
      and (m.expires_at is null or m.expires_at > coalesce(%(moment)s::timestamptz, memory_time())) offset 0) m)
select s.id, s.relation, s.confidence, s.reason, s.judge, s.state, s.holds_from, s.at, s.newer as newer_id, s.older as older_id,
       case when row_number() over (partition by s.newer order by s.holds_from desc, s.id) = 1 then a.whole end as newer,
       case when row_number() over (partition by s.older order by s.holds_from desc, s.id) = 1 then b.whole end as older
from joined s join said a on a.id = s.newer join said b on b.id = s.older
where coalesce(upper(a.valid) > coalesce(%(moment)s::timestamptz, memory_time()), true)
  and coalesce(lower(a.valid) <= coalesce(%(moment)s::timestamptz, memory_time()), true)
  and not exists (select 1 from again g where g.id = s.older and g.at > s.holds_from and g.trust >= a.trust)
order by s.holds_from desc, s.id

-- name: list
select s.id, s.relation, s.confidence, s.reason, s.judge, s.state, s.holds_from, s.at,
       to_jsonb(a) || jsonb_build_object('valid', span_json(a.valid)) as newer,
       to_jsonb(b) || jsonb_build_object('valid', span_json(b.valid)) as older
from supersessions s
cross join lateral (
  select m.* from mentions_with_content m where m.tenant = this_tenant() and m.node_id = s.newer and m.forgotten_at is null
    and (m.expires_at is null or m.expires_at > memory_time())
  order by m.at desc, m.id desc limit 1) a
cross join lateral (
  select m.* from mentions_with_content m where m.tenant = this_tenant() and m.node_id = s.older and m.forgotten_at is null
    and (m.expires_at is null or m.expires_at > memory_time())
  order by m.at desc, m.id desc limit 1) b
where s.tenant = this_tenant() and s.owner = any(%(owners)s::text[])
  and (%(node)s::uuid is null or s.newer = %(node)s or s.older = %(node)s)
  and (%(relation)s::text is null or s.relation = %(relation)s)
  and (%(state)s::text is null or s.state = %(state)s)
  and (%(id)s::uuid is null or s.id = %(id)s)
  and s.confidence >= %(min_confidence)s
order by s.at desc, s.id desc limit %(limit)s

-- name: change
-- Another state of an edge of this owner, with its row in the audit.
with changed as (
  update supersessions s set state = %(state)s
  where s.tenant = this_tenant() and s.id = %(id)s and s.owner = %(owner)s and s.state <> %(state)s returning s.id, s.owner)
insert into supersession_audit (tenant, id, supersession, owner, action, by, reason, at)
select this_tenant(), gen_random_uuid(), c.id, c.owner, %(state)s, %(by)s, %(reason)s, %(at)s from changed c returning supersession

-- name: audit
select a.action, a.by, a.reason, a.at from supersession_audit a
where a.tenant = this_tenant() and a.supersession = %(id)s and a.owner = any(%(owners)s::text[]) order by a.at, a.id
