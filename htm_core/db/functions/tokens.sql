-- Tokens are looked up before it is known whose they are, so by the owner. Who has no secret of 256 random bits has no digest to ask for.

create or replace function htm.token_by_digest(given bytea)
returns table (id uuid, tenant text, owner text, robot text, name text, scopes text[], expires_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select t.id, t.tenant, t.owner, t.robot, t.name, t.scopes, t.expires_at
  from htm.tokens t
  where t.digest = token_by_digest.given and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp());
end;

-- Whether anybody could sign in at all.
create or replace function htm.has_tokens() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select exists (select from htm.tokens t where t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp()));
end;

-- An answer that is kept for a retry may hold what has just been forgotten, purged or erased.
create or replace function htm.drop_kept_answers() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if htm.is_moving() then return null; end if;
  update htm.idempotent_requests r set answer = null where r.tenant = old.tenant and r.owner = old.owner and r.answer is not null;
  return null;
end $$;
