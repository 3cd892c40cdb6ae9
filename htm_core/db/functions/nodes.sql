-- What is derived of a node from its mentions.

-- A node is live while a mention of it is neither forgotten nor only the old value of a key. Where words were the value of a key and are
-- that of none any more, it does not matter whether a mention named the key: what was said before the new value is old, what was said
-- again afterwards is not.
-- Statement by statement, so that each sees what the writers it waited for have committed.
create or replace function htm.refresh_live(ids uuid[]) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare said uuid[]; turned uuid[]; replaced uuid[]; replaced_at timestamptz[];
begin
  perform 1 from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(ids) order by n.id for no key update;
  select array_agg(r.id), array_agg(r.at) into replaced, replaced_at from (
    select g.id, (
      select case when bool_or(k.current) then null else max((
        select next.at from htm.keys next
        where next.tenant = htm.this_tenant() and next.owner = k.owner and next.key = k.key and next.version > k.version
        order by next.version limit 1)) end
      from htm.keys k where k.tenant = htm.this_tenant() and k.node_id = g.id) as at
    from (select htm.each_id(ids) as id offset 0) g offset 0) r
  where r.at is not null;
  -- By lists and sets, without joins: with the statistics of a tenant of one row PostgreSQL would go through all that the tenant has for
  -- each node. A set inside an expression is a hash table, whatever the statistics say.
  said := array(
    select m.node_id from htm.mentions m
    where m.tenant = htm.this_tenant() and m.node_id = any(array(select htm.each_id(ids))) and m.forgotten_at is null
      and case when m.key is null then (m.at < replaced_at[array_position(replaced, m.node_id)]) is not true else (
        select k.node_id = m.node_id from htm.keys k             -- one of them is current at most
        where k.tenant = htm.this_tenant() and k.owner = m.owner and k.key between m.key and m.key and k.current
        order by k.key limit 1) end);
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

-- The tenants after a name, and what each has. Only workers may know; to anybody else there are none.
--
-- Rows are counted up to `counted` of a kind; of more, the statistics of PostgreSQL say about how many there are. Bytes are a tenant's share of
-- the tables and their indexes by its rows: nobody reads the rows. Users are those who have said something, without robots' notes.
create or replace function htm.tenant_sizes(after text, few integer, counted integer)
returns table (tenant text, users bigint, nodes bigint, mentions bigint, pending bigint, parked bigint, bytes bigint, estimated boolean, tenants bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if current_setting('role') <> 'htm_worker' then return; end if;
  return query
  with tables as materialized (                    -- a table with partitions has no rows of its own
    select c.relname::text as name, parts.bytes, greatest(parts.rows, 1) as rows, c.relnamespace::regnamespace::text as place
    from pg_class c cross join lateral (
      select sum(pg_total_relation_size(p.oid)) as bytes, sum(greatest(p.reltuples::float8, pg_stat_get_live_tuples(p.oid), 0)) as rows
      from pg_class p where p.oid = c.oid or p.oid in (select t.relid from pg_partition_tree(c.oid) t)) parts
    where c.oid = any(array['htm.nodes', 'htm.mentions', 'htm.passages', 'htm.vectors']::regclass[])),
  common as materialized (                         -- the tenants with the most rows, and their shares
    select s.tablename::text as name, f.tenant, f.share from pg_stats s
    cross join unnest(s.most_common_vals::text::text[], s.most_common_freqs) f(tenant, share)
    where s.attname = 'tenant' and (s.schemaname::text, s.tablename::text) in (select replace(t.place, '"', ''), t.name from tables t)),
  shown as materialized (
    select t.tenant from htm.tenants t where after is null or t.tenant > after order by t.tenant limit few),
  found as (
    select s.tenant, u.n as users, n.n as nodes, m.n as mentions, p.n as passages, j.pending, j.parked
    from shown s
    cross join lateral (select count(*) from (
      select from htm.nodes b where b.tenant = s.tenant and b.live limit counted + 1) x) n(n)
    cross join lateral (select count(*) from (
      select from htm.mentions b where b.tenant = s.tenant and b.forgotten_at is null limit counted + 1) x) m(n)
    cross join lateral (select count(*) from (select from htm.passages b where b.tenant = s.tenant limit counted + 1) x) p(n)
    cross join lateral (
      select count(*) filter (where x.parked_at is null), count(*) filter (where x.parked_at is not null)
      from (select b.parked_at from htm.jobs b where b.tenant = s.tenant limit counted + 1) x) j(pending, parked)
    cross join lateral (
      with recursive each(owner, place) as (       -- from owner to owner, by the key
        (select b.owner, 1 from htm.sessions b where b.tenant = s.tenant order by b.owner limit 1)
        union all
        select (select b.owner from htm.sessions b where b.tenant = s.tenant and b.owner > e.owner order by b.owner limit 1), e.place + 1
        from each e where e.owner is not null and e.place <= counted)
      select count(*) filter (where e.owner <> '' and not e.owner ^@ 'htm:') from each e) u(n)),
  guessed as (                                     -- more than what is counted: as many as the statistics say, and no fewer than that
    select f.*, greatest(f.nodes, (select (c.share * t.rows)::bigint from common c join tables t using (name)
                                   where f.nodes > counted and c.name = 'nodes' and c.tenant = f.tenant)) as all_nodes,
           greatest(f.mentions, (select (c.share * t.rows)::bigint from common c join tables t using (name)
                                 where f.mentions > counted and c.name = 'mentions' and c.tenant = f.tenant)) as all_mentions,
           greatest(f.passages, (select (c.share * t.rows)::bigint from common c join tables t using (name)
                                 where f.passages > counted and c.name = 'passages' and c.tenant = f.tenant)) as all_passages
    from found f)
  select g.tenant, g.users, g.all_nodes, g.all_mentions, g.pending, g.parked,
         -- Statistics of new tables may know of fewer rows than were counted here. Vectors are in proportion to passages.
         (select coalesce(sum(t.bytes * r.rows / greatest(r.total, r.all_shown, 1)), 0)::bigint
          from tables t cross join lateral (
            select (case t.name when 'nodes' then g.all_nodes when 'mentions' then g.all_mentions else g.all_passages end)::float8 as rows,
                   (select sum(case t.name when 'nodes' then o.all_nodes when 'mentions' then o.all_mentions else o.all_passages end)
                    from guessed o)::float8 as all_shown,
                   (select p.rows from tables p where p.name = case t.name when 'vectors' then 'passages' else t.name end) as total) r),
         greatest(g.nodes, g.mentions, g.pending + g.parked, g.users) > counted, (select count(*) from htm.tenants)
  from guessed g order by g.tenant;
end $$;

-- Node metadata is that of its mentions merged; the latest wins.
create or replace function htm.refresh_metadata(ids uuid[]) returns void language sql
begin atomic
  update htm.node_state s set metadata = coalesce((
    select jsonb_object_agg(e.key, e.value order by m.at, m.seq) from htm.mentions m, jsonb_each(m.metadata) e
    where m.tenant = s.tenant and m.node_id = s.node_id and m.forgotten_at is null), '{}')
  where s.tenant = htm.this_tenant() and s.node_id = any(ids);
end;
