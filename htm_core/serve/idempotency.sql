-- name: forget_expired
delete from idempotent_requests where tenant = this_tenant() and expires_at <= now()

-- name: begin
-- One that is new, or whose process has stopped before it answered.
insert into idempotent_requests as r (tenant, token_id, key, owner, fingerprint, locked_until, expires_at)
values (this_tenant(), %(token)s, %(key)s, %(owner)s, %(fingerprint)s, now() + make_interval(secs => %(lease)s),
        now() + make_interval(secs => %(keep)s))
on conflict (tenant, token_id, key) do update set locked_until = excluded.locked_until
where r.status is null and r.locked_until <= now() and r.fingerprint = excluded.fingerprint
returning locked_until

-- name: read
select fingerprint, status, headers, answer from idempotent_requests
where tenant = this_tenant() and token_id = %(token)s and key = %(key)s

-- name: finish
-- Unless its lease was over and another has taken it.
update idempotent_requests set status = %(status)s, headers = %(headers)s, answer = %(answer)s
where tenant = this_tenant() and token_id = %(token)s and key = %(key)s and status is null and locked_until = %(locked_until)s

-- name: abandon
delete from idempotent_requests
where tenant = this_tenant() and token_id = %(token)s and key = %(key)s and status is null and locked_until = %(locked_until)s
