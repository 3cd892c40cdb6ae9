-- Tokens for the HTTP API, and the answers to requests that may be sent twice. docs/why/http.md says why.
-- oldest client: 18

-- Who has a secret may do what is written here. Of the secret there is only its digest, so a copy of this table opens nothing.
create table tokens (
  tenant     text not null,
  id         uuid not null,
  digest     bytea not null,                    -- SHA-256 of the secret, which has 256 random bits
  name       text not null,                     -- what people call it
  owner      text not null,                     -- the user whose memories it is for; '' is what everyone in the tenant shares
  robot      text,                              -- who remembers; null: the request says it
  scopes     text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,                       -- null: never
  revoked_at timestamptz,
  primary key (tenant, id),
  check (length(digest) = 32),
  check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin'])
);
call add_tenant_policy('tokens');
create unique index tokens_by_digest on tokens (digest);
create unique index tokens_by_name on tokens (tenant, name) where revoked_at is null;

-- Requests with an Idempotency-Key: what was answered, so that the same request gets the same answer. While `status` is null, the request is
-- being worked on until `locked_until`; who finds it so later does it again.
create table idempotent_requests (
  tenant       text not null,
  token_id     uuid not null,                   -- 00000000-… for requests without a token; tokens go while their answers stay
  key          bytea not null,                  -- SHA-256 of the key
  owner        text not null,
  fingerprint  bytea not null,                  -- SHA-256 of the request: another request with this key is refused
  locked_until timestamptz not null,
  expires_at   timestamptz not null,
  status       integer,
  headers      jsonb,
  answer       bytea,                           -- null once something of its owner was forgotten or erased
  primary key (tenant, token_id, key)
);
call add_tenant_policy('idempotent_requests');
create index idempotent_requests_by_expiry on idempotent_requests (tenant, expires_at);
create index idempotent_requests_by_owner on idempotent_requests (tenant, owner) where answer is not null;
