-- name: memories
-- With `hidden` those that were forgotten, too.
select n.id, left(n.content, 200) as about from nodes n
where n.tenant = this_tenant() and n.owner = any(%(owners)s::text[]) and (n.live or %(hidden)s)
  and n.id between %(first)s::uuid and %(last)s::uuid
order by n.id limit %(limit)s

-- name: mentions
select m.id, left(coalesce(m.content, ''), 200) as about from mentions_with_content m
where m.tenant = this_tenant() and m.owner = any(%(owners)s::text[]) and (m.forgotten_at is null or %(hidden)s)
  and m.id between %(first)s::uuid and %(last)s::uuid
order by m.id limit %(limit)s

-- name: changes
select s.id, s.relation as about from supersessions s
where s.tenant = this_tenant() and s.owner = any(%(owners)s::text[])
  and s.id between %(first)s::uuid and %(last)s::uuid
order by s.id limit %(limit)s

-- name: jobs
-- Jobs without an owner are the whole tenant's.
select j.id, j.kind as about from jobs j
where j.tenant = this_tenant() and (j.owner = any(%(owners)s::text[]) or j.node_id is null)
  and j.id between %(first)s::uuid and %(last)s::uuid
order by j.id limit %(limit)s
