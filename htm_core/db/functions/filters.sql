-- Which nodes pass the filters of a query.

-- Whether rows of an owner may be seen: of these owners, or of everybody where none are given. The notes of a session belong to
-- that session alone, and so does what is said in a session whose user is not known: "everybody" includes neither.
create or replace function htm.owner_is_visible(owners text[], owner text) returns boolean language sql immutable parallel safe
begin atomic
  select case when owners is null then not (starts_with(owner, 'htm:notes:') or starts_with(owner, 'htm:session:'))
              else owner = any(owners) end;
end;

-- Where a mention came from, as base/trust.py says it: its source, else its role; '' is the program itself.
create or replace function htm.source_of(source text, role text) returns text language sql immutable parallel safe
begin atomic
  select coalesce(source, case when role in ('user', 'assistant', 'tool') then role end, '');
end;

-- How far to trust a mention: as it says, else as its source.
create or replace function htm.trust_of(trust smallint, source text, role text) returns integer language sql immutable parallel safe
begin atomic
  select coalesce(trust, case htm.source_of(source, role) when 'web' then 0 when 'tool' then 1 when 'file' then 2 when 'import' then 2
                              when 'assistant' then 3 else 4 end);
end;

-- Whether a key had this node as its value at a time.
create or replace function htm.key_had(of_owner text, of_key text, node uuid, as_of timestamptz) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((
    select k.node_id = node from htm.keys k
    where k.tenant = htm.this_tenant() and k.owner = of_owner and k.key = of_key and k.at <= as_of order by k.version desc limit 1), true);
$$;

-- Whether a mention counts for a query: it is not forgotten and has not expired, and it passes all the filters. Null filters are
-- neutral.
--
-- One expression without settings, so that PostgreSQL inlines it: the plan is that of the conditions written out, and indexes
-- serve them.
create or replace function htm.mention_matches(
  m htm.mentions, owners text[], robots text[], session text, windows tstzmultirange, metadata_equal jsonb, metadata_filter jsonb,
  as_of timestamptz, valid_at timestamptz, sources text[], min_trust smallint)
returns boolean language sql stable parallel safe
begin atomic
  select (m.forgotten_at is null or (as_of is not null and m.forgotten_by = 'htm:expiry' and not m.purged))
     and (m.expires_at is null or m.expires_at > coalesce(as_of, htm.memory_time()))
     and (as_of is null or (m.at <= as_of and (m.key is null or htm.key_had(m.owner, m.key, m.node_id, as_of))))
     and (valid_at is null or m.valid is null or m.valid @> valid_at)
     and (sources is null or htm.source_of(m.source, m.role) = any(sources))
     and (min_trust is null or htm.trust_of(m.trust, m.source, m.role) >= min_trust)
     and htm.owner_is_visible(owners, m.owner)
     and (robots is null or m.robot = any(robots))
     and (mention_matches.session is null or m.session = mention_matches.session)
     and (windows is null or m.at <@ windows)
     and (metadata_equal is null or m.metadata @> metadata_equal)
     and (metadata_filter is null or htm.matches(m.metadata, metadata_filter));
end;

-- Whether there are filters that only mentions can pass.
create or replace function htm.filters_mentions(f htm.conditions) returns boolean language sql immutable parallel safe
begin atomic
  select (f).robots is not null or (f).session is not null or (f).windows is not null
          or (f).equal is not null or (f).metadata is not null or (f).as_of is not null or (f).valid_at is not null
          or (f).sources is not null or (f).min_trust is not null;
end;

-- Whether a node passes: it has all the tags, and one of its mentions passes the rest.
create or replace function htm.node_matches(node uuid, f htm.conditions) returns boolean
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant();
begin
  if f.tags is not null and (
    select count(*) from htm.tags t where t.tenant = me and t.node_id = node and t.tag = any(f.tags)
  ) < cardinality(f.tags) then return false; end if;
  return not htm.filters_mentions(f) or exists (
    select 1 from htm.mentions m
    where m.tenant = me and m.node_id = node
      and htm.mention_matches(m, f.owners, f.robots, f.session, f.windows, f.equal, f.metadata, f.as_of, f.valid_at, f.sources, f.min_trust));
end $$;

-- The nodes that pass, or null when there are more than `max_nodes`: then the searches check one by one. Whether a node is live,
-- and who owns it, the searches see in their own rows.
create or replace function htm.filtered_nodes(f htm.conditions, max_nodes integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := htm.this_tenant();
  few constant integer := 1000;
  tagged_nodes uuid[];
  look_in uuid[];                               -- the only nodes whose mentions have to be read; null: all
  found uuid[];
  earliest timestamptz;
  latest timestamptz;
begin
  if f.tags is not null then
    select array_agg(x.node_id) into tagged_nodes from (
      select t.node_id from htm.tags t              -- the other tags are checked here: many nodes may have the first, and none all
      where t.tenant = me and t.tag = f.tags[1] and (cardinality(f.tags) = 1 or cardinality(f.tags) = (
        select count(*) from htm.tags u where u.tenant = me and u.node_id = t.node_id and u.tag = any(f.tags)))
      limit max_nodes + 1) x;
    tagged_nodes := coalesce(tagged_nodes, '{}');
  end if;
  if not htm.filters_mentions(f) then return case when cardinality(tagged_nodes) <= max_nodes then tagged_nodes end; end if;
  if cardinality(tagged_nodes) <= few then look_in := tagged_nodes; end if;
  earliest := coalesce(lower(f.windows), '-infinity'); latest := coalesce(upper(f.windows), 'infinity');
  select array_agg(x.node_id) into found from (
    select m.node_id from htm.mentions m
    where m.tenant = me and m.node_id is not null
      and (look_in is null or m.node_id = any(look_in))
      and htm.mention_matches(m, f.owners, f.robots, f.session, f.windows, f.equal, f.metadata, f.as_of, f.valid_at, f.sources, f.min_trust)
      and (f.windows is null or (m.at >= earliest and m.at <= latest))    -- what an index by time can serve
    limit case when look_in is null then max_nodes + 1 end) x;
  if look_in is null and cardinality(found) > max_nodes then return null; end if;
  if f.tags is not null and look_in is null then
    select array_agg(t.node_id) into found from (
      select t.node_id from htm.tags t where t.tenant = me and t.node_id = any(found) and t.tag = any(f.tags)
      group by t.node_id having count(*) = cardinality(f.tags)) t;
  end if;
  return coalesce(found, '{}');
end $$;
