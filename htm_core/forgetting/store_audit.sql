-- name: open_chain
select open_audit_chain() as chain

-- name: names
select audit_names(%(chain)s, %(kinds)s::text[], %(names)s::text[]) as digests

-- name: record
select record_audit(%(chain)s, %(id)s, %(owner)s, %(kind)s, %(at)s, %(body)s) as digest

-- name: entries
-- Newest first. Owners and subjects are given by their digests; null is everybody's, or about anything. Behind the wall between users its
-- policy leaves out what is of others.
select a.id, a.kind, a.at, a.owner, a.body, encode(a.digest, 'hex') as digest
from audit a
where a.tenant = this_tenant()
  and (%(owners)s::text[] is null or a.owner = any(%(owners)s::text[]))
  and (%(kind)s::text is null or a.kind = %(kind)s)
  and (%(about)s::text is null or a.body::jsonb -> 'about' ->> %(about)s = any(%(subjects)s::text[]))
  and (%(before)s::uuid is null
       or (a.at, a.id) < (select b.at, b.id from audit b where b.tenant = this_tenant() and b.id = %(before)s))
order by a.at desc, a.id desc limit %(limit)s

-- name: digests
-- One name in all the chains that this tenant has: its own, and those that came with backups.
select audit_digests(%(kind)s, %(name)s) as digests

-- name: problems
select chain, seq, problem from audit_problems()

-- name: size
select audit_size() as entries

-- name: has_digests
select encode(digest, 'hex') as digest from audit where tenant = this_tenant() and digest = any(%(digests)s::bytea[])

-- name: exists
select from audit where tenant = this_tenant() and id = %(id)s
