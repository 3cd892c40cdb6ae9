-- The second wall, between the users of a tenant: policies by owner, and the signed claim that they ask. docs/why/walls.md says why.
--
-- A transaction says for which owners it works by the setting htm.claim: a signature (HMAC-SHA-256 in 64 hexadecimal digits) and then a
-- JSON object with `tenant`, `backend`, `started`, `owners` and `prefixes`. `backend` and `started` are the process and the beginning of this
-- very transaction, so that a claim is worth nothing in any other. `prefixes` are what the names of more owners begin with; '' is everybody.

-- The owners, or the prefixes, that this transaction claims. Raises an error where there is no claim, or not this transaction's.
-- The signature is compared by its hash, so that the time that this takes says nothing of it. Restricted, since a parallel
-- worker is another process.
create or replace function htm.claimed(what text) returns text[]
language plpgsql stable security definer parallel restricted set search_path = pg_catalog, pg_temp as $$
declare
  given constant text := current_setting('htm.claim', true);
  body constant bytea := convert_to(substr(given, 65), 'UTF8');
  walls htm.user_walls;
  claim jsonb;
begin
  if given is null or given = '' then
    raise exception 'this transaction claims no owners' using errcode = 'insufficient_privilege',
      hint = 'user walls are on: this process signs a claim in each transaction from its next call on';
  end if;
  select * into walls from htm.user_walls;
  if sha256(convert_to(left(given, 64), 'UTF8')) is distinct from
     sha256(convert_to(encode(sha256(walls.outer_pad || sha256(walls.inner_pad || body)), 'hex'), 'UTF8')) then
    raise exception 'the claim of owners is not signed with the key of this database' using errcode = 'insufficient_privilege',
      hint = 'compare Settings.user_walls_key with what htm migrate --user-walls key prints';
  end if;
  claim := substr(given, 65)::jsonb;
  if claim ->> 'tenant' is distinct from coalesce(current_setting('htm.tenant', true), '')
     or claim ->> 'backend' is distinct from pg_backend_pid()::text
     or claim ->> 'started' is distinct from extract(epoch from now())::text then
    raise exception 'the claim of owners is of another transaction' using errcode = 'insufficient_privilege',
      hint = 'a claim is signed for one transaction, by its process and its beginning';
  end if;
  return array(select jsonb_array_elements_text(claim -> what));
end $$;

-- What a transaction is told, before it can have a claim.
create or replace function htm.claim_terms(out backend text, out started text) language sql stable
begin atomic
  select pg_backend_pid()::text, extract(epoch from now())::text;
end;

-- Whether the wall lets this transaction touch what belongs to an owner. For functions that run as the owner, whom no policy binds.
create or replace function htm.owner_is_claimed(owner text) returns boolean
language plpgsql stable parallel restricted security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not (select w.enabled from htm.user_walls w) then return true; end if;
  return owner = any(htm.claimed('owners')) or owner ^@ any(htm.claimed('prefixes'));
end $$;

-- The same of a list of owners: those of it that are claimed. Null stays everybody where everybody is claimed; else it is who is.
create or replace function htm.owners_in_claim(owners text[]) returns text[]
language plpgsql stable parallel restricted security definer set search_path = pg_catalog, pg_temp as $$
declare claimed text[]; prefixes text[];
begin
  if not (select w.enabled from htm.user_walls w) then return owners; end if;
  claimed := htm.claimed('owners');
  if owners <@ claimed then return owners; end if;
  prefixes := htm.claimed('prefixes');
  if '' = any(prefixes) then return owners; end if;
  return array(select o from unnest(coalesce(owners, claimed)) o
               where (o = any(claimed) or o ^@ any(prefixes)) and (owners is not null or htm.owner_is_visible(null, o)));
end $$;

-- A key that was made anew, in the two blocks of HMAC.
create or replace procedure htm.set_user_walls_key(new_key bytea) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare inside bytea := new_key || decode(repeat('00', 32), 'hex'); outside bytea := inside;
begin
  if length(new_key) <> 32 then raise exception 'expected a key of 32 bytes, got %', length(new_key); end if;
  for place in 0 .. 63 loop
    inside := set_byte(inside, place, get_byte(inside, place) # 54);      -- 0x36
    outside := set_byte(outside, place, get_byte(outside, place) # 92);   -- 0x5c
  end loop;
  update htm.user_walls set key = new_key, inner_pad = inside, outer_pad = outside;
end $$;

-- Puts the wall up, or takes it down. The owner runs it; each table is locked for a moment. Up, it makes every policy anew.
create or replace procedure htm.set_user_walls(up boolean) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- The tables with an owner of their own, and those whose rows belong to a row of such a table.
  by_owner constant text[] := array['nodes', 'mentions', 'keys', 'relations', 'sessions', 'passages', 'vectors', 'working_sets', 'jobs', 'files',
                                    'file_chunks', 'places', 'decisions', 'consultations', 'wakings', 'supersessions',
                                    'supersession_audit', 'tidied_sessions', 'profile_facts', 'canonical_forms', 'merges', 'summaries',
                                    'tokens', 'idempotent_requests'];
  by_parent constant text[] := array[array['node_state', 'nodes', 'node_id'], array['tags', 'nodes', 'node_id'],
                                     array['working_items', 'working_sets', 'set_id'],
                                     array['working_changes', 'working_sets', 'set_id']];
  own constant text := '(owner = any((select htm.claimed(''owners''))::text[]) or owner ^@ any((select htm.claimed(''prefixes''))::text[]))';
  place constant text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = (select w.tableoid from htm.user_walls w));
  guarded text; parent text[]; condition text;
begin
  if up and (select w.key is null from htm.user_walls w) then
    call htm.set_user_walls_key(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid() || gen_random_uuid(), 'UTF8')));
  end if;
  update htm.user_walls set enabled = up, key = case when up then key end, inner_pad = case when up then inner_pad end,
         outer_pad = case when up then outer_pad end;
  foreach guarded in array by_owner loop
    execute format('drop policy if exists user_wall on %s.%I', place, guarded);
    if up then
      execute format('create policy user_wall on %s.%I as restrictive to htm_app, htm_worker using %s with check %s',
                     place, guarded, own, own);
    end if;
  end loop;
  foreach parent slice 1 in array by_parent loop
    execute format('drop policy if exists user_wall on %s.%I', place, parent[1]);
    if up then
      condition := format('(exists (select from %1$s.%3$I parent where parent.tenant = %2$I.tenant and parent.id = %2$I.%4$I))',
                          place, parent[1], parent[2], parent[3]);
      execute format('create policy user_wall on %s.%I as restrictive to htm_app, htm_worker using %s with check %s',
                     place, parent[1], condition, condition);
    end if;
  end loop;
  -- Entries of the audit name their owner by a digest. Nobody but the owner of the schema writes them.
  execute format('drop policy if exists user_wall on %s.audit', place);
  if up then
    execute format('create policy user_wall on %s.audit as restrictive to htm_app, htm_worker using '
                   '(owner = any((select htm.claimed_audit_owners())::text[]) or '''' = any((select htm.claimed(''prefixes''))::text[]))', place);
  end if;
end $$;
revoke execute on procedure htm.set_user_walls(boolean), htm.set_user_walls_key(bytea) from public;
