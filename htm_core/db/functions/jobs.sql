-- Which jobs a worker does next: tenants and their owners take turns, and of each owner the newest job comes first.
--
-- A claim reads about as many rows as it takes, however many jobs wait: it steps through the index jobs_by_turn from one tenant
-- to the next and from one owner to the next. What it reads in vain are jobs that are claimed already or put off.
--
-- The statistics may be those of an empty table that is full a second later. So no statement here leaves a choice: no other index has the
-- order that is asked for (a step compares whole rows, since an order by what is known to be equal would be dropped, and the keys, which
-- begin with the tenant, have the rest), sorting and reading the table are off, and a job is claimed where the cursor stands.

-- Whether a job may be claimed now. Without settings, so that PostgreSQL inlines it.
create or replace function htm.is_due(j htm.jobs) returns boolean language sql stable
begin atomic
  select j.parked_at is null and j.run_at <= now() and (j.claimed_until is null or j.claimed_until < now());
end;

-- Owners of a tenant with due jobs, the first of them after `after`, which is null at first, and from the beginning again.
create or replace function htm.due_owners(
  of_kind text, of_model text, of_bulk boolean, of_tenant text, after text, at_most integer) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
declare found text[] := '{}'; last text := after; next text; again boolean := false;
begin
  while cardinality(found) < at_most loop
    if last is null then
      select j.owner into next from htm.jobs j
      where (j.kind, j.model, j.bulk, j.tenant) >= (of_kind, of_model, of_bulk, of_tenant)
        and (j.kind, j.model, j.bulk, j.tenant) <= (of_kind, of_model, of_bulk, of_tenant) and htm.is_due(j)
      order by j.kind, j.model, j.bulk, j.tenant, j.owner limit 1;
    else
      select j.owner into next from htm.jobs j
      where (j.kind, j.model, j.bulk, j.tenant, j.owner) > (of_kind, of_model, of_bulk, of_tenant, last)
        and (j.kind, j.model, j.bulk, j.tenant) <= (of_kind, of_model, of_bulk, of_tenant) and htm.is_due(j)
      order by j.kind, j.model, j.bulk, j.tenant, j.owner limit 1;
    end if;
    if again and (next is null or next > after) then exit; end if;
    if next is not null then found := found || next; last := next;
    elsif after is null then exit;
    else again := true; last := null;
    end if;
  end loop;
  return found;
end $$;

-- Tenants with due jobs, the first of them after `after`, and from the beginning again: of `only_tenants`, or of all (null) but
-- `besides`, whose jobs are another client's.
create or replace function htm.due_tenants(
  of_kind text, of_model text, of_bulk boolean, after text, at_most integer, only_tenants text[], besides text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
declare found text[] := '{}'; last text := after; next text; again boolean := false;
begin
  if only_tenants is not null then
    return (select coalesce(array_agg(x.tenant order by x.is_after desc, x.tenant), '{}') from (
      select o.tenant, o.tenant > after as is_after from unnest(only_tenants) o(tenant)
      where htm.due_owners(of_kind, of_model, of_bulk, o.tenant, null, 1) <> '{}'
      order by is_after desc, o.tenant limit at_most) x);
  end if;
  while cardinality(found) < at_most loop
    select j.tenant into next from htm.jobs j
    where (j.kind, j.model, j.bulk, j.tenant) > (of_kind, of_model, of_bulk, last)
      and (j.kind, j.model, j.bulk) <= (of_kind, of_model, of_bulk) and htm.is_due(j)
    order by j.kind, j.model, j.bulk, j.tenant limit 1;
    if again and (next is null or next > after) then exit; end if;
    if next is not null then
      if next <> all(besides) then found := found || next; end if;
      last := next;
    elsif after = '' then exit;
    else again := true; last := '';
    end if;
  end loop;
  return found;
end $$;

-- Claims up to `at_most` due jobs of a kind and a model for `lease` seconds: first those of the first of `classes` (bulk or not), then
-- those of the next. In each, every tenant with due jobs has a turn, then their owners, and each gets an equal share; what some do not
-- need goes to the others. Only the jobs of `only_tenants`, or those of all tenants (null) but `besides`. `after_tenants` says
-- for each class which tenant had the last turn, `after_owners` which owner of a tenant.
create or replace function htm.claim_jobs(
  of_kind text, of_model text, at_most integer, lease float8, classes boolean[], after_tenants text[], after_owners jsonb,
  only_tenants text[] default null, besides text[] default '{}')
returns table (tenant text, id uuid, kind text, model text, node_id uuid, attempts integer, owner text, bulk boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
#variable_conflict use_column
declare
  tenants text[]; turn_tenants text[]; turn_owners text[]; more_tenants text[]; more_owners text[];
  wanted integer := at_most; share integer; taken integer;
  newest cursor (of_class boolean, of_tenant text, of_owner text, most integer) for
    select from htm.jobs j
    where j.kind = of_kind and j.model = of_model and j.bulk = of_class and j.tenant = of_tenant and j.owner = of_owner and htm.is_due(j)
    order by j.run_at desc limit most for update skip locked;
begin
  for class in 1 .. cardinality(classes) loop
    tenants := htm.due_tenants(of_kind, of_model, classes[class], after_tenants[class], wanted, only_tenants, besides);
    select coalesce(array_agg(x.tenant order by x.owner_place, x.tenant_place), '{}'),
           coalesce(array_agg(x.owner order by x.owner_place, x.tenant_place), '{}')
      into turn_tenants, turn_owners from (
      select t.tenant, o.owner, t.place as tenant_place, o.place as owner_place
      from unnest(tenants) with ordinality t(tenant, place), lateral unnest(htm.due_owners(
        of_kind, of_model, classes[class], t.tenant, after_owners ->> t.tenant,
        ceil(wanted / cardinality(tenants)::float8)::integer)) with ordinality o(owner, place)
      order by o.place, t.place limit wanted) x;
    while wanted > 0 and cardinality(turn_tenants) > 0 loop
      share := greatest(1, wanted / cardinality(turn_tenants));
      more_tenants := '{}'; more_owners := '{}';
      for turn in 1 .. cardinality(turn_tenants) loop
        exit when wanted = 0;
        taken := 0;
        for job in newest(classes[class], turn_tenants[turn], turn_owners[turn], least(share, wanted)) loop
          update htm.jobs j set claimed_until = now() + make_interval(secs => lease) where current of newest
          returning j.tenant, j.id, j.kind, j.model, j.node_id, j.attempts, j.owner, j.bulk
            into tenant, id, kind, model, node_id, attempts, owner, bulk;
          taken := taken + 1;
          return next;
        end loop;
        wanted := wanted - taken;
        if taken = share then
          more_tenants := more_tenants || turn_tenants[turn]; more_owners := more_owners || turn_owners[turn];
        end if;
      end loop;
      turn_tenants := more_tenants; turn_owners := more_owners;
    end loop;
  end loop;
end $$;

-- The same for several lanes, each an object, in their order; none of a lane whose model's `status` says that it failed so often in a row.
-- Most lanes have nothing most of the time, which one look into the index says. `lane` is the place of each.
create or replace function htm.claim_lanes(lanes jsonb, lease float8, failures integer)
returns table (
  lane bigint, tenant text, id uuid, kind text, model text, node_id uuid, attempts integer, owner text, bulk boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
#variable_conflict use_column
declare given record; there boolean;
begin
  for given in
    select * from rows from (jsonb_to_recordset(lanes) as (
      kind text, model text, status text, most integer, classes boolean[], after_tenants text[], after_owners jsonb, only_tenants text[],
      besides text[])) with ordinality
      as x(kind, model, status, most, classes, after_tenants, after_owners, only_tenants, besides, lane)
  loop
    there := false;
    select (j.kind, j.model) = (given.kind, given.model) into there from htm.jobs j
    where (j.kind, j.model) >= (given.kind, given.model) and j.parked_at is null order by j.kind, j.model limit 1;
    continue when there is not true;
    continue when exists (select from htm.model_status s where s.model = given.status and s.failures >= claim_lanes.failures);
    return query select given.lane, c.* from htm.claim_jobs(
      given.kind, given.model, given.most, lease, given.classes, given.after_tenants, given.after_owners, given.only_tenants, given.besides) c;
  end loop;
end $$;

-- Claims the due jobs of these nodes, as far as nobody has them: `tenants` names the tenant of each.
create or replace function htm.claim_jobs_of(
  of_kind text, of_model text, tenants text[], nodes uuid[], at_most integer, lease float8)
returns table (tenant text, id uuid, kind text, model text, node_id uuid, attempts integer, owner text, bulk boolean)
language plpgsql volatile set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
#variable_conflict use_column
declare
  taken integer := 0;
  -- "between" and the order name one index: by the node. A node has one job of a kind and a model.
  due cursor (of_tenant text, of_node uuid) for
    select from htm.jobs j
    where j.tenant = of_tenant and j.node_id between of_node and of_node and j.kind = of_kind and j.model = of_model and htm.is_due(j)
    order by j.node_id limit 1 for update skip locked;
begin
  for place in 1 .. cardinality(nodes) loop
    exit when taken = at_most;
    for job in due(tenants[place], nodes[place]) loop
      update htm.jobs j set claimed_until = now() + make_interval(secs => lease) where current of due
      returning j.tenant, j.id, j.kind, j.model, j.node_id, j.attempts, j.owner, j.bulk
        into tenant, id, kind, model, node_id, attempts, owner, bulk;
      taken := taken + 1;
      return next;
    end loop;
  end loop;
end $$;

-- Seconds until the next job is due: of each lane the jobs of one tenant, or those of all (null) but the tenants in the list `besides_tenants`;
-- null when none is pending. At most 10,000 jobs of each are looked at, since nobody waits for the answer longer than a worker rests anyway.
create or replace function htm.seconds_until_due(
  kinds text[], models text[], tenants text[], besides_kinds text[], besides_models text[], besides_tenants text[]) returns float8
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
begin
  return (
    select extract(epoch from min(x.due) - now())
    from unnest(kinds, models, tenants) given(kind, model, tenant)
    cross join lateral (
      select min(greatest(w.run_at, coalesce(w.claimed_until, w.run_at))) as due
      from (select j.run_at, j.claimed_until, j.tenant from htm.jobs j
            where given.tenant is null and j.parked_at is null
              and (j.kind, j.model) >= (given.kind, given.model) and (j.kind, j.model) <= (given.kind, given.model)
            order by j.kind, j.model, j.bulk limit 10000) w
      where (given.kind, given.model, w.tenant) not in (
        select b.kind, b.model, b.tenant from unnest(besides_kinds, besides_models, besides_tenants) b(kind, model, tenant))
      union all
      select min(greatest(w.run_at, coalesce(w.claimed_until, w.run_at)))
      from (values (false), (true)) classes(bulk)
      cross join lateral (
        select j.run_at, j.claimed_until from htm.jobs j
        where j.parked_at is null and (j.kind, j.model, j.bulk, j.tenant) >= (given.kind, given.model, classes.bulk, given.tenant)
          and (j.kind, j.model, j.bulk, j.tenant) <= (given.kind, given.model, classes.bulk, given.tenant)
        order by j.kind, j.model, j.bulk, j.tenant limit 5000) w) x);
end $$;

-- How many jobs wait in each lane and class, how many were given up, and for how many seconds the oldest has waited. Of each at most
-- `at_most` are counted; `more` says that more wait. In a lane with more, the oldest is that of a thousand owners: the last to be due of each,
-- besides those that were counted.
create or replace function htm.job_backlog(at_most integer)
returns table (kind text, model text, bulk boolean, pending bigint, parked bigint, oldest float8, more boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set enable_incremental_sort = off set jit = off as $$
#variable_conflict use_column
declare
  of_kind text := ''; of_model text := ''; of_class boolean := false; lane record;
  since timestamptz; last timestamptz; of_tenant text; of_owner text;
begin
  loop
    select x.kind, x.model, x.bulk into lane from (
      (select j.kind, j.model, j.bulk from htm.jobs j
       where (j.kind, j.model, j.bulk) > (of_kind, of_model, of_class) and j.parked_at is null
       order by j.kind, j.model, j.bulk limit 1)
      union all
      (select j.kind, j.model, j.bulk from htm.jobs j
       where (j.kind, j.model, j.bulk) > (of_kind, of_model, of_class) and j.parked_at is not null
       order by j.kind, j.model, j.bulk limit 1)) x
    order by x.kind, x.model, x.bulk limit 1;
    exit when not found;
    of_kind := lane.kind; of_model := lane.model; of_class := lane.bulk;
    select count(*), min(x.created_at) into pending, since from (
      select j.created_at from htm.jobs j
      where (j.kind, j.model, j.bulk) >= (of_kind, of_model, of_class) and (j.kind, j.model, j.bulk) <= (of_kind, of_model, of_class)
        and j.parked_at is null
      order by j.kind, j.model, j.bulk limit at_most + 1) x;
    select count(*) into parked from (
      select from htm.jobs j
      where (j.kind, j.model, j.bulk) >= (of_kind, of_model, of_class) and (j.kind, j.model, j.bulk) <= (of_kind, of_model, of_class)
        and j.parked_at is not null
      order by j.kind, j.model, j.bulk limit at_most) x;
    more := pending > at_most;
    pending := least(pending, at_most);
    if more then
      of_tenant := ''; of_owner := '';
      for turn in 1 .. 1000 loop
        select j.tenant, j.owner into of_tenant, of_owner from htm.jobs j
        where (j.kind, j.model, j.bulk, j.tenant, j.owner) > (of_kind, of_model, of_class, of_tenant, of_owner)
          and (j.kind, j.model, j.bulk) <= (of_kind, of_model, of_class) and j.parked_at is null
        order by j.kind, j.model, j.bulk, j.tenant, j.owner limit 1;
        exit when not found;
        select j.created_at into last from htm.jobs j
        where (j.kind, j.model, j.bulk, j.tenant, j.owner) >= (of_kind, of_model, of_class, of_tenant, of_owner)
          and (j.kind, j.model, j.bulk, j.tenant, j.owner) <= (of_kind, of_model, of_class, of_tenant, of_owner) and j.parked_at is null
        order by j.kind desc, j.model desc, j.bulk desc, j.tenant desc, j.owner desc, j.run_at limit 1;
        since := least(since, last);
      end loop;
    end if;
    kind := of_kind; model := of_model; bulk := of_class; oldest := extract(epoch from now() - since)::float8;
    return next;
  end loop;
end $$;
