-- The audit: what was erased, replaced or undone, when and by whom, without any of its words. Rows are only ever added.
-- oldest client: 16

-- Entries stand in chains: each digest is made of the one before it, so an entry that was changed or taken away shows. A tenant
-- writes one chain; those that came with a backup stay beside it as they were. Here is where each chain ends.
create table audit_chains (
  tenant  text not null,
  chain   uuid not null,
  key     bytea not null,                       -- 32 random bytes: names are in entries as HMAC-SHA-256 by this key
  entries bigint not null default 0,
  digest  bytea,                                -- of its last entry
  open    boolean not null,                     -- it is the one that is written on
  primary key (tenant, chain)
);
call add_tenant_policy('audit_chains');
create unique index audit_chains_open on audit_chains (tenant) where open;
-- Nobody but the owner reads the key, nor moves the end of a chain: functions do both (functions/audit.sql).
revoke select, insert, update, delete on audit_chains from htm_app, htm_worker;

create table audit (
  tenant text not null,
  chain  uuid not null,
  seq    bigint not null,                       -- counts from 1 within its chain, without gaps
  id     uuid not null,
  owner  text not null,                         -- whose memory did it: '' is everyone's, a user is named by a digest
  kind   text not null,
  at     timestamptz not null,
  body   text not null,                         -- the entry as canonical JSON, exactly as it was hashed
  digest bytea not null,                        -- SHA-256 of the digest before it in hexadecimal digits, a line feed, and the body
  primary key (tenant, chain, seq),
  unique (tenant, id),
  foreign key (tenant, chain) references audit_chains (tenant, chain)
);
call add_tenant_policy('audit');
create index audit_by_time on audit (tenant, at desc, id desc);
revoke insert, update, delete on audit from htm_app, htm_worker;
