-- Which nodes pass the filters of a query.

-- Whose an owner's rows may be: of these owners, or everybody's. A session's notes are nobody else's, so not even everybody's.
create or replace function owner_is_visible(owners text[], owner text) returns boolean language sql immutable parallel safe as
$$ select case when owners is null then not starts_with(owner, 'htm:notes:') else owner = any(owners) end $$;

create or replace function filters_mentions(f filters) returns boolean language sql immutable parallel safe as
$$ select (f).robots is not null or (f).session is not null or (f).windows is not null
          or (f).equal is not null or (f).metadata is not null $$;

create or replace function node_matches(node uuid, f filters) returns boolean
language plpgsql stable parallel safe set search_path from current as $$
declare me constant text := this_tenant();
begin
  if f.tags is not null and (
    select count(*) from tags t where t.tenant = me and t.node_id = node and t.tag = any(f.tags)
  ) < cardinality(f.tags) then return false; end if;
  return not filters_mentions(f) or exists (
    select 1 from mentions m
    where m.tenant = me and m.node_id = node and m.forgotten_at is null
      and owner_is_visible(f.owners, m.owner)
      and (f.robots is null or m.robot = any(f.robots))
      and (f.session is null or m.session = f.session)
      and (f.windows is null or m.at <@ f.windows)
      and (f.equal is null or m.metadata @> f.equal)
      and (f.metadata is null or matches(m.metadata, f.metadata)));
end $$;

-- The nodes that satisfy narrow filters, or null when there are more than `most`: then the scans check one by one.
-- Whether they are live, and whose they are, the scans see in their own rows.
create or replace function filtered_nodes(f filters, most integer) returns uuid[]
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); few constant integer := 1000;
  tagged uuid[]; among uuid[]; found uuid[]; lowest timestamptz; highest timestamptz;
begin
  if f.tags is not null then
    select array_agg(x.node_id) into tagged from (
      select t.node_id from tags t                -- with the rest of them, lest many have one and none has all
      where t.tenant = me and t.tag = f.tags[1] and (cardinality(f.tags) = 1 or cardinality(f.tags) = (
        select count(*) from tags u where u.tenant = me and u.node_id = t.node_id and u.tag = any(f.tags)))
      limit most + 1) x;
    tagged := coalesce(tagged, '{}');
  end if;
  if not filters_mentions(f) then return case when cardinality(tagged) <= most then tagged end; end if;
  if cardinality(tagged) <= few then among := tagged; end if;   -- only their mentions are looked at
  lowest := coalesce(lower(f.windows), '-infinity'); highest := coalesce(upper(f.windows), 'infinity');
  select array_agg(x.node_id) into found from (
    select m.node_id from mentions m
    where m.tenant = me and m.node_id is not null and m.forgotten_at is null
      and owner_is_visible(f.owners, m.owner)
      and (among is null or m.node_id = any(among))
      and (f.robots is null or m.robot = any(f.robots))
      and (f.session is null or m.session = f.session)
      and (f.windows is null or (m.at >= lowest and m.at <= highest and m.at <@ f.windows))
      and (f.equal is null or m.metadata @> f.equal)
      and (f.metadata is null or matches(m.metadata, f.metadata))
    limit case when among is null then most + 1 end) x;
  if among is null and cardinality(found) > most then return null; end if;
  if f.tags is not null and among is null then
    select array_agg(t.node_id) into found from (
      select t.node_id from tags t where t.tenant = me and t.node_id = any(found) and t.tag = any(f.tags)
      group by t.node_id having count(*) = cardinality(f.tags)) t;
  end if;
  return coalesce(found, '{}');
end $$;
