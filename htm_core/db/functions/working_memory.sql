-- Changes of working sets.

-- A shared memory may be in the sets of all users. So what follows changes sets of others too, as the owner, and only for nodes that
-- the transaction may touch.

-- Those of these nodes that the wall between users lets this transaction touch.
create or replace function htm.claimed_nodes(ids uuid[]) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if not (select w.enabled from htm.user_walls w) then return ids; end if;
  return array(select n.id from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(ids) and htm.owner_is_claimed(n.owner));
end $$;

-- The sets that hold these nodes now, or that have a row of them.
create or replace function htm.sets_with(ids uuid[], holding boolean) returns uuid[] language sql stable
begin atomic
  select coalesce(array_agg(distinct w.set_id), '{}') from htm.each_id(ids) as given(id)
  cross join lateral (                             -- by the node: "offset 0" keeps PostgreSQL from reading all that the tenant has
    select i.set_id, i.evicted_at from htm.working_items i
    where i.tenant = htm.this_tenant() and i.node_id = given.id offset 0) w
  where not holding or w.evicted_at is null;
end;

-- Takes nodes out of every set but one, each set a version on. All writers lock nodes first and then sets in order.
create or replace function htm.evict_from_all_sets(ids uuid[], besides uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare one uuid; reached bigint;
begin
  ids := htm.claimed_nodes(ids);
  for one in
    select s.id from htm.working_sets s
    where s.tenant = htm.this_tenant() and s.id is distinct from besides
      and s.id = any(array(select htm.each_id(htm.sets_with(ids, true))))
    order by s.id for no key update of s
  loop
    update htm.working_sets s set version = s.version + 1 where s.tenant = htm.this_tenant() and s.id = one
    returning s.version into reached;
    update htm.working_items w set evicted_at = now(), policy = null, score = null, version = reached
    where w.tenant = htm.this_tenant() and w.set_id = one and w.node_id = any(array(select htm.each_id(ids))) and w.evicted_at is null;
  end loop;
end $$;

-- Says to all who hold these nodes, or have held them, that rows are about to be deleted.
create or replace function htm.mark_sets_pruned(ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  ids := htm.claimed_nodes(ids);
  perform 1 from htm.working_sets s
  where s.tenant = htm.this_tenant() and s.id = any(array(select htm.each_id(htm.sets_with(ids, false))))
  order by s.id for no key update of s;
  update htm.working_sets s set version = s.version + 1, pruned = s.version + 1
  where s.tenant = htm.this_tenant() and s.id = any(array(select htm.each_id(htm.sets_with(ids, false))));
  -- What is deleted leaves the record of their changes, too. Lists of keep-scores go with those of nodes, place by place.
  update htm.working_changes c
  set recalled = array(select r.id from unnest(c.recalled) with ordinality r(id, place) where r.id <> all(ids) order by r.place),
      evicted = array(select e.id from unnest(c.evicted) with ordinality e(id, place) where e.id <> all(ids) order by e.place),
      scores = array(select e.score from unnest(c.evicted, c.scores) with ordinality e(id, score, place) where e.id <> all(ids) order by e.place)
  where c.tenant = htm.this_tenant() and c.set_id = any(array(select htm.each_id(htm.sets_with(ids, false))))
    and (c.recalled && ids or c.evicted && ids);
  delete from htm.working_changes c
  where c.tenant = htm.this_tenant() and c.set_id = any(array(select htm.each_id(htm.sets_with(ids, false))))
    and c.recalled = '{}' and c.evicted = '{}';
end $$;

-- Locks a set and all others that hold some of these nodes, in order.
create or replace function htm.lock_sets_holding(ids uuid[], besides uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  ids := htm.claimed_nodes(ids);
  perform 1 from htm.working_sets s
  where s.tenant = htm.this_tenant() and s.id = any(array(select htm.each_id(htm.sets_with(ids, true) || besides)))
  order by s.id for no key update of s;
end $$;

-- Writes down one change of a set: who left and came, and nodes that are no longer live, which leave every set.
--
-- Answers with the version that it made, and with those who were forgotten meanwhile and did not come; with nothing where
-- `expected` is given and the set has moved on from it, and where there is no set and nothing that it would hold: what was
-- held before its owner was erased leaves no row of that owner.
--
-- With `noted` the change is recorded. Where it was `recalled`, it may be written a moment after it happened, and is recorded with the turn
-- of that time: `added` says when each came, `gone_ats` when each left.
create or replace function htm.change_working_set(of_owner text, is_shared boolean, of_holder text, of_session text, expected bigint,
                           gone uuid[], scores float8[], gone_at timestamptz, by_policy text,
                           came uuid[], added timestamptz[], accessed timestamptz[], counts bigint[], dead uuid[],
                           noted boolean default false, recalled boolean default false, gone_ats timestamptz[] default null)
returns table (set_id uuid, reached bigint, refused uuid[]) language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare mine uuid; made bigint; held integer; left_it integer := 0;
begin
  perform 1 from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(array(select htm.each_id(came))) order by n.id for share of n;
  if cardinality(dead) > 0 then  -- all of the sets' locks at once, in order
    perform htm.lock_sets_holding(dead, (
      select s.id from htm.working_sets s
      where s.tenant = htm.this_tenant() and (s.owner, s.shared, s.holder, s.session) = (of_owner, is_shared, of_holder, of_session)));
  end if;
  if cardinality(dead) = 0
    and (select true from htm.nodes n where n.tenant = htm.this_tenant() and n.id = any(array(select htm.each_id(came))) and n.live limit 1) is null
    and (select true from htm.working_sets o
         where o.tenant = htm.this_tenant() and (o.owner, o.shared, o.holder, o.session) = (of_owner, is_shared, of_holder, of_session)) is null
  then return; end if;
  if expected is null then
    insert into htm.working_sets as s (tenant, owner, shared, holder, session)
    values (htm.this_tenant(), of_owner, is_shared, of_holder, of_session)
    on conflict (tenant, owner, shared, holder, session) do update set version = s.version + 1
    returning s.id, s.version into mine, made;
  else
    update htm.working_sets s set version = s.version + 1
    where s.tenant = htm.this_tenant() and (s.owner, s.shared, s.holder, s.session) = (of_owner, is_shared, of_holder, of_session)
      and s.version = expected
    returning s.id, s.version into mine, made;
    if mine is null then return; end if;
  end if;
  if cardinality(gone) > 0 then
    -- No join: that could be planned to go through all that the set holds for each that leaves.
    update htm.working_items w
    set evicted_at = gone_at, policy = by_policy, score = scores[array_position(gone, w.node_id)], version = made
    where w.tenant = htm.this_tenant() and w.set_id = mine and w.node_id = any(gone) and w.evicted_at is null;
    get diagnostics left_it = row_count;
  end if;
  -- After the evictions: what left and came back within one plan is held. What was forgotten meanwhile is not.
  insert into htm.working_items as w (tenant, set_id, node_id, version, added_at, accessed_at, access_count)
  select htm.this_tenant(), mine, d.id, made, d.added_at, d.accessed_at, d.access_count
  from unnest(came, added, accessed, counts) as d(id, added_at, accessed_at, access_count)
  cross join lateral (select from htm.nodes o where o.tenant = htm.this_tenant() and o.id = d.id and o.live offset 0) n
  on conflict (tenant, set_id, node_id) do update
  set added_at = case when w.evicted_at is null then w.added_at else excluded.added_at end,
      accessed_at = greatest(w.accessed_at, excluded.accessed_at),
      access_count = greatest(w.access_count, case when w.evicted_at is null then w.access_count else excluded.access_count end),
      evicted_at = null, policy = null, score = null, version = made;
  get diagnostics held = row_count;
  if cardinality(dead) > 0 then
    update htm.working_items w set evicted_at = now(), policy = null, score = null, version = made
    where w.tenant = htm.this_tenant() and w.set_id = mine and w.node_id = any(array(select htm.each_id(dead))) and w.evicted_at is null;
    perform htm.evict_from_all_sets(dead, mine);
  end if;
  -- Only nodes of which the set has a row are on record: by that row they are found when the node is deleted.
  if noted and not recalled and left_it > 0 and left_it = cardinality(gone) then
    insert into htm.working_changes (tenant, set_id, version, seq, at, recalled, evicted, scores, policy)
    values (htm.this_tenant(), mine, made, coalesce((
              select s.last_seq from htm.sessions s
              where s.tenant = htm.this_tenant() and s.owner = of_owner and s.session = of_session), 0),
            gone_at, '{}', gone, coalesce(scores, array_fill(null::float8, array[left_it])), by_policy);
  elsif noted and (cardinality(gone) > 0 or recalled and held > 0) then
    insert into htm.working_changes (tenant, set_id, version, seq, at, recalled, evicted, scores, policy)
    select htm.this_tenant(), mine, made, t.seq, min(e.at), coalesce(array_agg(e.id order by e.place) filter (where not e.left_it), '{}'),
           coalesce(array_agg(e.id order by e.place) filter (where e.left_it), '{}'),
           coalesce(array_agg(e.score order by e.place) filter (where e.left_it), '{}'), by_policy
    from (select c.id, c.at, c.place, null::float8 as score, false as left_it from unnest(came, added) with ordinality c(id, at, place)
          where change_working_set.recalled
          union all
          select g.id, coalesce(g.at, gone_at), g.place, g.score, true
          from unnest(gone, change_working_set.scores, gone_ats) with ordinality g(id, score, at, place)) e
    cross join lateral (
      select coalesce(
        -- What is written later belongs to the last message before it, among the latest: those may have times that somebody gave them.
        case when change_working_set.recalled then (
          select coalesce(max(l.seq) filter (where l.at <= e.at), min(l.seq) - 1) from (
            select m.seq, m.at from htm.mentions m where m.tenant = htm.this_tenant() and m.owner = of_owner and m.session = of_session
            order by m.seq desc limit 50) l) end,
        (select s.last_seq from htm.sessions s where s.tenant = htm.this_tenant() and s.owner = of_owner and s.session = of_session),
        0) as seq) t
    where (select true from htm.working_items w where w.tenant = htm.this_tenant() and w.set_id = mine and w.node_id = e.id)
    group by t.seq;
  end if;
  if noted and made > 10000 and (cardinality(gone) > 0 or recalled) then
    delete from htm.working_changes c where c.tenant = htm.this_tenant() and c.set_id = mine and c.version <= made - 10000;
  end if;
  return query select mine, made, case when held = cardinality(came) then '{}' else array(
    select d.id from unnest(came) as d(id)
    where (select true from htm.nodes n where n.tenant = htm.this_tenant() and n.id = d.id and n.live) is null) end;
end $$;

-- Adds to the access counts of what a set holds, and answers with what they are now; with nothing where it holds none of it.
create or replace function htm.count_accesses(of_owner text, is_shared boolean, of_holder text, of_session text,
                          ids uuid[], times bigint[], ats timestamptz[])
returns table (set_id uuid, reached bigint, node uuid, count bigint, at timestamptz) language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare mine uuid; made bigint;
begin
  update htm.working_sets s set version = s.version + 1
  where s.tenant = htm.this_tenant() and (s.owner, s.shared, s.holder, s.session) = (of_owner, is_shared, of_holder, of_session)
    and exists (select from htm.each_id(ids) as given(id) cross join lateral (
                  select w.evicted_at from htm.working_items w
                  where w.tenant = htm.this_tenant() and w.set_id = s.id and w.node_id = given.id offset 0) w
                where w.evicted_at is null)
  returning s.id, s.version into mine, made;
  if mine is null then return; end if;
  return query
    update htm.working_items w
    set access_count = w.access_count + times[array_position(ids, w.node_id)],
        accessed_at = greatest(w.accessed_at, ats[array_position(ids, w.node_id)]), version = made
    where w.tenant = htm.this_tenant() and w.set_id = mine and w.node_id = any(ids) and w.evicted_at is null
    returning mine, made, w.node_id, w.access_count, w.accessed_at;
end $$;

-- Deletes the records of all tenants that are from before a time, and says how many. Only workers may; to anybody else there are none.
create or replace function htm.drop_working_changes(before timestamptz) returns bigint
language sql security definer set search_path = pg_catalog, pg_temp as $$
  with dropped as (delete from htm.working_changes c where current_setting('role') = 'htm_worker' and c.at < before returning 1)
  select count(*) from dropped;
$$;
