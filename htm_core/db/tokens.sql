-- name: find
-- By the digest of a secret, whoever's it is. Expired and revoked ones are not found.
select id, tenant, owner, robot, name, scopes, expires_at from token_by_digest(%(digest)s)

-- name: any
select has_tokens() as found

-- name: create
insert into tokens (tenant, id, digest, name, owner, robot, scopes, created_at, expires_at)
values (this_tenant(), %(id)s, %(digest)s, %(name)s, %(owner)s, %(robot)s, %(scopes)s, %(created_at)s, %(expires_at)s)
on conflict (tenant, name) where revoked_at is null do nothing
returning id

-- name: list
select id, tenant, name, owner, robot, scopes, created_at, expires_at, revoked_at
from tokens where tenant = this_tenant() and (%(revoked)s or revoked_at is null)
order by created_at, name

-- name: revoke
update tokens set revoked_at = %(at)s
where tenant = this_tenant() and revoked_at is null and (name = %(name)s or id::text = %(name)s)
returning id, tenant, name, owner, robot, scopes, created_at, expires_at, revoked_at
