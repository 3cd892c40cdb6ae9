-- The audit: entries are written and verified by functions of the owner, so that who serves verbs can add entries and change none.
--
-- The digest of an entry is SHA-256 of: the digest before it in its chain, in hexadecimal digits (of the first one, the chain's id), a line
-- feed, and the entry's body. docs/why/erasure.md says what that proves.

-- HMAC-SHA-256 (RFC 2104), for keys of 32 bytes.
create or replace function htm.hmac_sha256(key bytea, message bytea) returns bytea
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare inside bytea := key || decode(repeat('00', 32), 'hex'); outside bytea := inside;
begin
  for place in 0 .. 63 loop
    inside := set_byte(inside, place, get_byte(inside, place) # 54);      -- 0x36
    outside := set_byte(outside, place, get_byte(outside, place) # 92);   -- 0x5c
  end loop;
  return sha256(outside || sha256(inside || message));
end $$;

-- The chain that the tenant writes on; made with the first entry. Whoever has written on it keeps others waiting until its commit.
create or replace function htm.open_audit_chain() returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); found uuid;
begin
  select c.chain into found from htm.audit_chains c where c.tenant = me and c.open;
  if found is null then
    insert into htm.audit_chains (tenant, chain, key, open)
    values (me, gen_random_uuid(), sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8')), true)
    on conflict do nothing;
    select c.chain into strict found from htm.audit_chains c where c.tenant = me and c.open;
  end if;
  return found;
end $$;

-- Names as entries have them: by the key of a chain, so that no list of names tells whose they are. What a name is of ("user", "session",
-- "key") is a part of it. '' is no name, and stays so.
create or replace function htm.audit_names(of_chain uuid, kinds text[], names text[]) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(array_agg(case when g.name = '' then '' else
           encode(htm.hmac_sha256(c.key, convert_to(g.kind || chr(31) || g.name, 'UTF8')), 'hex') end order by g.place), '{}')
  from htm.audit_chains c, unnest(kinds, names) with ordinality g(kind, name, place)
  where c.tenant = htm.this_tenant() and c.chain = of_chain;
end;

-- The digests of one name in all the chains of the tenant.
create or replace function htm.audit_digests(kind text, name text) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(array_agg((htm.audit_names(c.chain, array[audit_digests.kind], array[audit_digests.name]))[1]), '{}')
  from htm.audit_chains c where c.tenant = htm.this_tenant();
end;

-- The owners that this transaction claims, as entries have them: what the wall between users asks.
create or replace function htm.claimed_audit_owners() returns text[]
language sql stable security definer parallel restricted set search_path = pg_catalog, pg_temp
begin atomic
  select array_append(coalesce(array_agg(d.digest), '{}'), '')
  from unnest(htm.claimed('owners')) o, unnest(htm.audit_digests('user', o)) d(digest);
end;

-- Writes an entry behind the last one of a chain, and answers with its digest. To be called last in a transaction: others of this tenant
-- wait for its end. `owner` is whose memory did it; `body` has no names in it.
create or replace function htm.record_audit(of_chain uuid, entry uuid, owner text, kind text, at timestamptz, body text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); written htm.audit_chains;
begin
  if not htm.owner_is_claimed(record_audit.owner) then
    raise exception 'an entry of the audit is of an owner that this transaction does not claim' using errcode = 'insufficient_privilege';
  end if;
  update htm.audit_chains c set entries = c.entries + 1,
         digest = sha256(convert_to(coalesce(encode(c.digest, 'hex'), c.chain::text) || chr(10) || record_audit.body, 'UTF8'))
  where c.tenant = me and c.chain = of_chain and c.open returning c.* into strict written;
  insert into htm.audit (tenant, chain, seq, id, owner, kind, at, body, digest)
  values (me, of_chain, written.entries, entry, (htm.audit_names(of_chain, array['user'], array[record_audit.owner]))[1],
          record_audit.kind, record_audit.at, record_audit.body, written.digest);
  return encode(written.digest, 'hex');
end $$;

-- Whether the columns of an entry say what its body says.
create or replace function htm.audit_columns_match(body text, entry uuid, kind text, owner text, at timestamptz) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare written jsonb;
begin
  written := body::jsonb;
  return written ->> 'id' is not distinct from entry::text and written ->> 'kind' is not distinct from kind
     and coalesce(written ->> 'user', '') = owner and (written ->> 'at')::timestamptz is not distinct from at;
exception when data_exception then                -- it is no JSON any more
  return false;
end $$;

-- Every entry of the tenant's that is not as it was written, and every chain that lost its end; no row where all is well.
create or replace function htm.audit_problems() returns table (chain uuid, seq bigint, problem text)
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  with entries as (
    select a.*, lag(a.seq, 1, 0) over w as seq_before, lag(a.digest) over w as digest_before
    from htm.audit a where a.tenant = htm.this_tenant() window w as (partition by a.chain order by a.seq)),
  ends as (select e.chain, max(e.seq) as last_seq from entries e group by e.chain)
  select e.chain, e.seq, 'missing' from entries e where e.seq <> e.seq_before + 1
  union all
  select e.chain, e.seq, 'changed' from entries e
  where (e.seq = e.seq_before + 1 and e.digest is distinct from
         sha256(convert_to(coalesce(encode(e.digest_before, 'hex'), e.chain::text) || chr(10) || e.body, 'UTF8')))
     or not htm.audit_columns_match(e.body, e.id, e.kind, e.owner, e.at)
  union all
  select c.chain, c.entries, 'cut' from htm.audit_chains c left join ends l on l.chain = c.chain
  left join entries e on e.chain = l.chain and e.seq = l.last_seq
  where c.tenant = htm.this_tenant() and (coalesce(l.last_seq, 0) <> c.entries or c.digest is distinct from e.digest)
  order by 1, 2, 3;
end;

-- How many entries the tenant has, of all its owners.
create or replace function htm.audit_size() returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select count(*) from htm.audit a where a.tenant = htm.this_tenant();
end;

-- The chains of the tenant as a backup has them.
create or replace function htm.export_audit_chains() returns table (part jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not htm.owner_is_claimed('' || chr(1)) then   -- a name that nobody has: claimed by who claims everybody
    raise exception 'the chains of the audit are for who works for everybody' using errcode = 'insufficient_privilege';
  end if;
  return query select jsonb_build_object('chain', c.chain, 'key', encode(c.key, 'hex'), 'entries', c.entries,
                                         'digest', encode(c.digest, 'hex'))
  from htm.audit_chains c where c.tenant = htm.this_tenant() order by c.chain;
end $$;

-- Takes the chains and entries of a backup. A chain that is here already gets the entries that it lacks; others are closed: here another
-- one is written on. Answers with an entry that is another one here.
create or replace function htm.import_audit_chains(rows jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not htm.owner_is_claimed('' || chr(1)) then
    raise exception 'the audit of a backup is for who works for everybody' using errcode = 'insufficient_privilege';
  end if;
  insert into htm.audit_chains as c (tenant, chain, key, entries, digest, open)
  select htm.this_tenant(), (r ->> 'chain')::uuid, decode(r ->> 'key', 'hex'), (r ->> 'entries')::bigint, decode(r ->> 'digest', 'hex'), false
  from jsonb_array_elements(rows) r
  on conflict (tenant, chain) do update set entries = excluded.entries, digest = excluded.digest where c.entries < excluded.entries;
end $$;

-- The entries of those chains; answers with the number of one that is another one here.
create or replace function htm.import_audit(rows jsonb) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); other bigint;
begin
  if not htm.owner_is_claimed('' || chr(1)) then
    raise exception 'the audit of a backup is for who works for everybody' using errcode = 'insufficient_privilege';
  end if;
  insert into htm.audit (tenant, chain, seq, id, owner, kind, at, body, digest)
  select me, (r ->> 'chain')::uuid, (r ->> 'seq')::bigint, (r ->> 'id')::uuid, r ->> 'owner', r ->> 'kind', (r ->> 'at')::timestamptz,
         r ->> 'body', decode(r ->> 'digest', 'hex')
  from jsonb_array_elements(rows) r on conflict do nothing;
  select (r ->> 'seq')::bigint into other from jsonb_array_elements(rows) r
  where not exists (select from htm.audit a where a.tenant = me and a.chain = (r ->> 'chain')::uuid and a.seq = (r ->> 'seq')::bigint
                    and a.digest = decode(r ->> 'digest', 'hex')) limit 1;
  return other;
end $$;
