-- Facts follow the nodes that they were taken from.

-- A fact is hidden and shown with its source; what its owner hid stays hidden.
create or replace function htm.hide_or_show_facts() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare touched uuid[]; hidden_at timestamptz;
begin
  if htm.is_moving() then return null; end if;
  if new.live then
    with shown as (
      update htm.mentions m set forgotten_at = null, forgotten_by = null
      where m.tenant = new.tenant and m.source_id = new.id and m.forgotten_by = '' and not m.purged returning m.node_id)
    select array_agg(node_id order by node_id) into touched from shown where node_id is not null;
  else
    -- The moment of its source, so that both are purged together.
    select max(m.forgotten_at) into hidden_at from htm.mentions m where m.tenant = new.tenant and m.node_id = new.id;
    with hidden as (
      update htm.mentions m set forgotten_at = coalesce(hidden_at, now()), forgotten_by = ''
      where m.tenant = new.tenant and m.source_id = new.id and m.forgotten_at is null returning m.node_id)
    select array_agg(node_id order by node_id) into touched from hidden where node_id is not null;
  end if;
  if touched is null then return null; end if;
  perform htm.refresh_live(touched), htm.refresh_metadata(touched);
  perform htm.evict_from_all_sets(array(
    select n.id from htm.nodes n where n.tenant = new.tenant and n.id = any(touched) and not n.live), null::uuid);
  return null;
end $$;

-- A fact goes with its source, unless somebody said it as well.
create or replace function htm.delete_facts() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare touched uuid[];
begin
  if htm.is_moving() then return null; end if;
  with taken as (
    select m.id, m.node_id from htm.mentions m where m.tenant = old.tenant and m.source_id = old.id and m.node_id is not null),
  emptied as (
    update htm.mentions m set node_id = null, content = null, payload = null, metadata = '{}', name = null, external_id = null,
           key = null, log_position = null, purged = true, forgotten_at = coalesce(m.forgotten_at, now()),
           valid = null, valid_words = null, expires_at = null, source = null, trust = null
    from taken t where m.tenant = old.tenant and m.id = t.id)
  select array_agg(distinct node_id order by node_id) into touched from taken;
  if touched is null then return null; end if;
  perform htm.mark_sets_pruned(touched);
  delete from htm.nodes n where n.tenant = old.tenant and n.id = any(touched)
    and not exists (select 1 from htm.mentions m where m.tenant = n.tenant and m.node_id = n.id);
  perform htm.refresh_live(touched), htm.refresh_metadata(touched);
  perform htm.evict_from_all_sets(array(
    select n.id from htm.nodes n where n.tenant = old.tenant and n.id = any(touched) and not n.live), null::uuid);
  return null;
end $$;
