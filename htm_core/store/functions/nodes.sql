-- What is derived of a node from its mentions.

-- A node is live while a mention of it is neither forgotten nor only the old value of a key.
-- Statement by statement, so that each sees what the writers it waited for have committed.
create or replace function htm.refresh_live(ids uuid[]) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare turned uuid[];
begin
  perform 1 from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(ids) order by n.id for no key update;
  with wanted as (
    select n.id, n.live as was, exists (
      select 1 from htm.mentions m
      where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null
        and (m.key is null or exists (select 1 from htm.keys k where k.tenant = m.tenant and k.owner = m.owner
                                      and k.key = m.key and k.current and k.node_id = m.node_id))) as live
    from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(ids)),
  done as (
    update htm.nodes n set live = w.live from wanted w
    where n.tenant = htm.this_tenant() and n.id = w.id and w.live <> w.was returning n.id)
  select array_agg(id) into turned from done;
  if turned is null then return; end if;
  update htm.passages p set live = n.live from htm.nodes n
  where n.tenant = htm.this_tenant() and n.id = any(turned) and p.tenant = n.tenant and p.node_id = n.id;
  update htm.vectors v set live = n.live from htm.nodes n
  where n.tenant = htm.this_tenant() and n.id = any(turned) and v.tenant = n.tenant and v.node_id = n.id;
end $$;

-- Node metadata is that of its mentions merged; the latest wins.
create or replace function htm.refresh_metadata(ids uuid[]) returns void language sql
begin atomic
  update htm.node_state s set metadata = coalesce((
    select jsonb_object_agg(e.key, e.value order by m.at, m.seq) from htm.mentions m, jsonb_each(m.metadata) e
    where m.tenant = s.tenant and m.node_id = s.node_id and m.forgotten_at is null), '{}')
  where s.tenant = htm.this_tenant() and s.node_id = any(ids);
end;
