-- What is derived of a node from its mentions.

-- A node is live while a mention of it is neither forgotten nor only the old value of a key.
-- Statement by statement, so that each sees what the writers it waited for have committed.
create or replace function htm.refresh_live(ids uuid[]) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare said uuid[]; turned uuid[];
begin
  perform 1 from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(ids) order by n.id for no key update;
  -- By lists and sets, without joins: with the statistics of a tenant of one row PostgreSQL would go through all that the tenant has for
  -- each node. A set inside an expression is a hash table, whatever the statistics say.
  said := array(
    select m.node_id from htm.mentions m
    where m.tenant = htm.this_tenant() and m.node_id = any(array(select htm.each_id(ids))) and m.forgotten_at is null
      and (m.key is null or (
        select k.node_id = m.node_id from htm.keys k             -- one of them is current at most
        where k.tenant = htm.this_tenant() and k.owner = m.owner and k.key between m.key and m.key and k.current
        order by k.key limit 1)));
  turned := array(
    select n.id from htm.nodes n
    where n.tenant = htm.this_tenant() and n.id = any(ids) and n.live <> (n.id in (select htm.each_id(said))));
  if cardinality(turned) = 0 then return; end if;
  update htm.nodes n set live = not n.live where n.tenant = htm.this_tenant() and n.id = any(turned);
  -- What is live is read again: facts are hidden and shown with their sources, by a trigger.
  said := array(select n.id from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(turned) and n.live);
  update htm.passages p set live = p.node_id in (select htm.each_id(said))
  where p.tenant = htm.this_tenant() and p.node_id = any(turned);
  update htm.vectors v set live = v.node_id in (select htm.each_id(said))
  where v.tenant = htm.this_tenant() and v.node_id = any(turned);
end $$;

-- The tenants in which something has expired and is not hidden yet, or was hidden as expired before a time and is not erased yet.
-- Only workers may know what tenants there are; to anybody else there are none.
create or replace function htm.tenants_with_expired(before timestamptz, by_expiry text) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(t.tenant order by t.tenant), '{}') from htm.tenants t
  where current_setting('role') = 'htm_worker' and (
    exists (select from htm.mentions m where m.tenant = t.tenant and m.expires_at <= htm.memory_time() and m.forgotten_at is null)
    or exists (select from htm.mentions m where m.tenant = t.tenant and m.forgotten_at < before and m.forgotten_by = by_expiry
               and not m.purged));
$$;

-- Node metadata is that of its mentions merged; the latest wins.
create or replace function htm.refresh_metadata(ids uuid[]) returns void language sql
begin atomic
  update htm.node_state s set metadata = coalesce((
    select jsonb_object_agg(e.key, e.value order by m.at, m.seq) from htm.mentions m, jsonb_each(m.metadata) e
    where m.tenant = s.tenant and m.node_id = s.node_id and m.forgotten_at is null), '{}')
  where s.tenant = htm.this_tenant() and s.node_id = any(ids);
end;
