-- Copies: by what a message is known that was said once and comes again, from a forked conversation or a transcript that is read again.

-- What a mention's copies are known by: its id, which is unique everywhere or in its session, and its time; each with who said which words.
create or replace function htm.sayings(m htm.mentions) returns text[]
language sql stable parallel safe set search_path = pg_catalog, pg_temp
begin atomic
  select array_remove(array[
    case when m.external_id is not null then concat_ws(chr(31), 'id', m.role, m.name, coalesce(
      substring(m.external_id from '[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32}'),
      m.session || chr(31) || m.external_id), m.node_id) end,
    concat_ws(chr(31), 'at', m.role, m.name, extract(epoch from m.at), m.node_id)], null);
end;
grant execute on function htm.sayings(htm.mentions) to htm_app, htm_worker;

-- Digests by the keys of the tenant's chains of the audit, or of one of them: nobody who lacks the keys can try words.
create or replace function htm.saying_digests(of_chain uuid, sayings text[]) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(array_agg(encode(sha256(c.key || convert_to(s.saying, 'UTF8')), 'hex') order by s.place), '{}')
  from htm.audit_chains c, unnest(saying_digests.sayings) with ordinality s(saying, place)
  where c.tenant = htm.this_tenant() and (of_chain is null or c.chain = of_chain);
end;

-- What a purged mention keeps: the digest of the first of these. Purging writes an entry of the audit, so the chain is needed anyway.
create or replace function htm.purged_as(sayings text[]) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare written constant uuid := htm.open_audit_chain();
begin
  return (htm.saying_digests(written, purged_as.sayings))[1];
end $$;
grant execute on function htm.purged_as(text[]) to htm_app, htm_worker;

-- Hides those of just written mentions that copy what was purged; answers with their nodes, which are not live any more.
create or replace function htm.hide_copies_of_purged(of_owner text, mentions uuid[]) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare me constant text := htm.this_tenant(); hidden uuid[];
begin
  if not exists (select from htm.mentions p where p.tenant = me and p.owner = of_owner and p.purged_as is not null) then return '{}'; end if;
  with found as (
    update htm.mentions m set forgotten_at = htm.memory_time(), forgotten_by = 'htm:purged'
    where m.tenant = me and m.id = any(hide_copies_of_purged.mentions) and m.node_id is not null and m.forgotten_at is null and exists (
      select from htm.mentions p
      where p.tenant = me and p.owner = of_owner and p.purged_as = any(htm.saying_digests(null, htm.sayings(m))))
    returning m.node_id)
  select array_agg(distinct f.node_id order by f.node_id) into hidden from found f;
  if hidden is null then return '{}'; end if;
  perform htm.refresh_live(hidden), htm.refresh_metadata(hidden);
  return hidden;
end $$;
grant execute on function htm.hide_copies_of_purged(text, uuid[]) to htm_app, htm_worker;
