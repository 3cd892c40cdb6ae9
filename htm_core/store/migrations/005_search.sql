-- Search. Under row-level security PostgreSQL uses neither GIN for @@ nor shows statistics, so these functions run as
-- the owner, with a fixed search_path, and take the tenant from the setting, never as an argument.

-- What must hold of a node, and of one and the same of its mentions. Null members are neutral.
create type filters as (
  owners   text[],                              -- null: everybody's
  robots   text[],
  session  text,
  windows  tstzmultirange,
  tags     text[],                              -- each of them, or one below it
  equal    jsonb,                               -- metadata @> equal
  metadata jsonb                                -- a compiled filter, for matches()
);

create function asks_of_mentions(f filters) returns boolean language sql immutable parallel safe as
$$ select (f).robots is not null or (f).session is not null or (f).windows is not null
          or (f).equal is not null or (f).metadata is not null $$;

-- The mentions of a node that satisfy the filters, newest first.
create function fitting_mentions(node uuid, f filters, most integer) returns setof mentions
language sql stable parallel safe rows 3 set search_path from current as $$
  select m.* from mentions m
  where m.tenant = this_tenant() and m.node_id = node and m.forgotten_at is null
    and (f.owners is null or m.owner = any(f.owners))
    and (f.robots is null or m.robot = any(f.robots))
    and (f.session is null or m.session = f.session)
    and (f.windows is null or m.at <@ f.windows)
    and (f.equal is null or m.metadata @> f.equal)
    and (f.metadata is null or matches(m.metadata, f.metadata))
  order by m.at desc, m.seq desc limit most
$$;

create function fits(node uuid, f filters) returns boolean
language plpgsql stable parallel safe set search_path from current as $$
declare me constant text := this_tenant();
begin
  if f.tags is not null and (
    select count(*) from tags t where t.tenant = me and t.node_id = node and t.tag = any(f.tags)
  ) < cardinality(f.tags) then return false; end if;
  return not asks_of_mentions(f) or exists (
    select 1 from mentions m
    where m.tenant = me and m.node_id = node and m.forgotten_at is null
      and (f.owners is null or m.owner = any(f.owners))
      and (f.robots is null or m.robot = any(f.robots))
      and (f.session is null or m.session = f.session)
      and (f.windows is null or m.at <@ f.windows)
      and (f.equal is null or m.metadata @> f.equal)
      and (f.metadata is null or matches(m.metadata, f.metadata)));
end $$;

-- The nodes that satisfy narrow filters, or null when there are more than `most`: then the scans check one by one.
-- Whether they are live, and whose they are, the scans see in their own rows.
create function chosen_nodes(f filters, most integer) returns uuid[]
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); few constant integer := 1000;
  tagged uuid[]; found uuid[]; lowest timestamptz; highest timestamptz;
begin
  if f.tags is not null then
    select array_agg(x.node_id) into tagged from (
      select t.node_id from tags t where t.tenant = me and t.tag = f.tags[1] limit most + 1) x;
    tagged := coalesce(tagged, '{}');
    if cardinality(tagged) <= few then
      select array_agg(n) into found from unnest(tagged) n where fits(n, f);
      return coalesce(found, '{}');
    end if;
  end if;
  if not asks_of_mentions(f) then
    if cardinality(tagged) > most then return null; end if;
    found := tagged;
  else
    lowest := coalesce(lower(f.windows), '-infinity'); highest := coalesce(upper(f.windows), 'infinity');
    select array_agg(x.node_id) into found from (
      select m.node_id from mentions m
      where m.tenant = me and m.node_id is not null and m.forgotten_at is null
        and (f.owners is null or m.owner = any(f.owners))
        and (f.robots is null or m.robot = any(f.robots))
        and (f.session is null or m.session = f.session)
        and (f.windows is null or (m.at >= lowest and m.at <= highest and m.at <@ f.windows))
        and (f.equal is null or m.metadata @> f.equal)
        and (f.metadata is null or matches(m.metadata, f.metadata))
      limit most + 1) x;
    if cardinality(found) > most then return null; end if;
  end if;
  if f.tags is not null and (asks_of_mentions(f) or cardinality(f.tags) > 1) then
    select array_agg(t.node_id) into found from (
      select t.node_id from tags t where t.tenant = me and t.node_id = any(found) and t.tag = any(f.tags)
      group by t.node_id having count(*) = cardinality(f.tags)) t;
  end if;
  return coalesce(found, '{}');
end $$;

-- A query for any of these lexemes.
create function any_of(lexemes text[]) returns tsquery language sql immutable strict parallel safe as $$
  select string_agg('''' || replace(replace(l, '\', '\\'), '''', '''''') || '''', '|')::tsquery from unnest(lexemes) l
$$;

-- A question as its words weigh in this tenant: rarest first, with how many passages have each.
create type question as (lexemes text[], documents bigint[], weights sparsevec, best float8);

create function weigh(asked text) returns question
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  few constant integer := 2000; rare constant integer := 200;
  lex lexicon; total bigint; word text; df bigint; answer question;
  words text[] := '{}'; counts bigint[] := '{}';
begin
  select * into lex from lexicon l where l.tenant = this_tenant();
  if not found then return null; end if;
  total := lex.documents;
  if total < few then
    select greatest(count(*), total) into total from (select 1 from passages p where p.tenant = lex.tenant limit few) x;
  end if;
  for word in select unnest(tsvector_to_array(cut(lex.config, asked))) loop
    df := null;
    if lex.documents >= few then
      select t.documents into df from terms t where t.tenant = lex.tenant and t.lexeme = word;
    end if;
    if df is null then
      execute 'select count(*) from (select 1 from passages where lexemes @@ $1 and tenant = $2 limit $3) x' into df
      using any_of(array[lex.code || word]), lex.tenant, case when lex.documents >= few then rare else few end;
    end if;
    words := words || word; counts := counts || df;
  end loop;
  -- Inverse document frequency as in Lucene: ln(1 + (N - n + 0.5) / (n + 0.5)).
  with terms as (
    select w as word, n, ln(1 + (greatest(total, n) - n + 0.5::float8) / (n + 0.5::float8)) as idf
    from unnest(words, counts) u(w, n)),
  entries as (select dimension_of(t.word) as d, max(idf)::real as w from terms t group by 1)
  select array_agg(lex.code || t.word order by t.n, t.word), array_agg(t.n order by t.n, t.word),
         (select ('{' || string_agg(d || ':' || w, ',') || '}/268435456')::sparsevec from entries),
         sum(t.idf) * (lex.k1 + 1)
    into answer from terms t;
  return answer;
end $$;

-- Candidates of one arm, best first.
create type candidate as (node_id uuid, passage_id uuid, place bigint);

-- How the arms look: through chosen nodes one by one, through all rows of the owners, or through the index; and then,
-- where there are filters, either for chosen nodes or checking each.
create type route as (chosen uuid[], probe boolean, small boolean, narrow boolean, enough integer);

create function vector_arm(meaning halfvec, space spaces, f filters, way route, pool integer)
returns setof candidate
language plpgsql stable rows 60 set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners; chosen constant uuid[] := way.chosen;
  narrow constant boolean := way.narrow and way.chosen is null; found candidate[];
begin
  if not way.probe and not way.small and space.indexed then
    -- Only integers of the space's row are formatted: a cast needs a literal dimension, a partial index a literal space.
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(1000, greatest(100, pool))::text, true);
    execute format(
      'select array_agg(row(n, p, place)::candidate) from ('
      'select n, p, row_number() over (order by d) as place from ('
      'select distinct on (n) n, p, d from ('
      'select node_id n, passage_id p, embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) d from vectors '
      'where space = %2$s and tenant = $2 and live and ($4 is null or owner = any($4)) '
      'and ($7 is null or node_id = any($7)) and (not $6 or fits(node_id, $5)) '
      'order by embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) limit $3) near order by n, d) best) x',
      space.dimension, space.id)
    into found using meaning, me, pool, owners, f, narrow, chosen;
    if cardinality(found) >= pool / 2 then return query select * from unnest(found); return; end if;
    -- Others' vectors, or one node's many passages, stood in front: ours alone are looked at, one by one.
  end if;
  return query select x.n, x.p, row_number() over (order by x.d) from (
    select distinct on (v.node_id) v.node_id n, v.passage_id p, v.embedding <=> meaning d from vectors v
    where v.tenant = me and v.space = space.id and v.live and (owners is null or v.owner = any(owners))
      and (chosen is null or v.node_id = any(chosen)) and (not narrow or fits(v.node_id, f))
    order by v.node_id, (v.embedding <=> meaning) + 0) x order by x.d limit pool;
end $$;

-- The words that drive the index, as queries to try in turn. The rarest come first, as many as have `enough` passages
-- between them; where one that half of the passages have is needed for a pool, it drives together with another word first.
create function driving(asked question, enough integer, pool integer) returns tsquery[]
language sql immutable set search_path from current as $$
  with words as (
    select l, n, sum(n) over sorted as through, sum(n) over sorted - n as before
    from unnest(asked.lexemes, asked.documents) t(l, n) window sorted as (order by n, l)),
  drivers as (select l, through > enough as common from words where through <= enough or before < pool),
  parts as (
    select (select any_of(array_agg(l)) from drivers where not common) as rare,
           (select any_of(array_agg(l)) from drivers where common) as common,
           (select any_of(array_agg(l)) from words where l not in (select l from drivers)) as others)
  select array_remove(array[
    case when common is not null and others is not null then coalesce(rare || (common && others), common && others) end,
    coalesce(rare || common, rare, common)], null) from parts
$$;

create function text_arm(asked question, f filters, way route, pool integer)
returns setof candidate
language plpgsql stable rows 60 set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners; chosen constant uuid[] := way.chosen;
  narrow constant boolean := way.narrow and way.chosen is null; pattern constant sparsevec := asked.weights;
  wanted tsquery := any_of(asked.lexemes); most integer := case when narrow then null else 4 * pool end;
  found candidate[]; seen bigint;
  -- All words score. Filters that are checked one by one are checked best candidate first, until there are enough.
  best_of constant text :=
    'select array_agg(row(n, p, place)::candidate), max(seen) from ('
    'select n, p, row_number() over (order by d) as place, seen from ('
    'select * from ('
    'select distinct on (n) n, p, d, seen from ('
    'select *, count(*) over () as seen from ('
    'select node_id n, id p, weights <#> $1 d from passages '
    'where lexemes @@ $2 and tenant = $3 and live and ($5 is null or owner = any($5)) and ($8 is null or node_id = any($8)) '
    'order by d limit $9) near) counted order by n, d) best order by d offset 0) ordered '
    'where not $7 or fits(n, $6) limit $4) x';
begin
  if way.probe or way.small then
    return query select x.n, x.p, row_number() over (order by x.d) from (
      select distinct on (p.node_id) p.node_id n, p.id p, p.weights <#> pattern d from passages p
      where p.tenant = me and (owners is null or p.owner = any(owners)) and p.live and p.lexemes @@ wanted
        and (chosen is null or p.node_id = any(chosen)) and (not narrow or fits(p.node_id, f))
      order by p.node_id, p.weights <#> pattern) x order by x.d limit pool;
    return;
  end if;
  foreach wanted in array driving(asked, way.enough, pool) loop
    execute best_of into found, seen using pattern, wanted, me, pool, owners, f, narrow, chosen, most;
    exit when cardinality(found) >= pool / 2;
  end loop;
  if coalesce(cardinality(found), 0) < pool / 2 and seen = most then  -- one node's many passages stood in front
    execute best_of into found, seen using pattern, wanted, me, pool, owners, f, narrow, chosen, null::integer;
  end if;
  return query select * from unnest(found);
end $$;

-- The vector space of the tenant's model; another model than the question's is refused.
create function space_of(model text, meaning halfvec) returns spaces
language plpgsql stable set search_path from current as $$
declare known text; answer spaces;
begin
  select m.name into known from models m where m.tenant = this_tenant() and m.active;
  if known <> model then
    raise exception 'these memories are embedded with %, the question with %', known, model using errcode = 'HT001';
  end if;
  select s.* into answer from models m join spaces s on s.id = m.space where m.tenant = this_tenant() and m.active;
  if answer.dimension <> vector_dims(meaning) then
    raise exception 'the stored vectors have % dimensions, the question''s has %', answer.dimension, vector_dims(meaning)
      using errcode = 'HT001';
  end if;
  return answer;
end $$;

-- Where the arms look, and how.
create function route_of(f filters, pool integer) returns route
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant();
  few constant integer := 5000;                 -- so many are scanned exactly about as fast as through an index
  many constant integer := 20000;               -- so many filtered nodes are gathered before the scans
  way route; total bigint;
begin
  way.narrow := f.tags is not null or asks_of_mentions(f);
  select greatest(l.documents, 1) into total from lexicon l where l.tenant = me;
  if way.narrow then way.chosen := chosen_nodes(f, many); end if;
  -- Looking c nodes up costs c; an index among n has to be followed for pool * n / c. The lesser of the two is taken.
  way.probe := way.chosen is not null and (cardinality(way.chosen) <= 1000
               or cardinality(way.chosen)::float8 ^ 2 < pool::float8 * total);
  way.enough := greatest(2000, least(20000, 2000 * coalesce(total::float8 / nullif(cardinality(way.chosen), 0), 1)))::int;
  way.small := true;
  if not way.probe then
    select count(*) <= few into way.small from (
      select 1 from passages p where p.tenant = me and (f.owners is null or p.owner = any(f.owners)) limit few + 1) x;
  end if;
  return way;
end $$;

-- A candidate of either arm, with the best of its passages, its place in each arm, what each arm makes of it, and how many
-- words it has in all.
create type found as (
  node_id uuid, passage_id uuid, near bigint, told bigint, vector float8, words float8, length bigint);

-- The candidates of both arms, `pool` of each, scored by both. Scores are normalised absolutely, so that they compare
-- between questions: a cosine counts in full from 0.8, words against the best that any passage could score for this
-- question. `share` is the vector's weight where the best passage of a node is picked.
create function candidates(asked question, meaning halfvec, space spaces, f filters, pool integer, share float8)
returns setof found
language plpgsql stable rows 100 set search_path from current set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  me constant text := this_tenant(); pattern constant sparsevec := asked.weights; best constant float8 := nullif(asked.best, 0);
  way constant route := route_of(f, pool); within constant integer := space.id;
begin
  return query
  with arms as (
    select 1 as arm, v.node_id as n, v.place from vector_arm(meaning, space, f, way, pool) v where within is not null
    union all
    select 2, t.node_id, t.place from text_arm(asked, f, way, pool) t where pattern is not null),
  nodes_found as materialized (
    select n, min(place) filter (where arm = 1) as near, min(place) filter (where arm = 2) as told from arms group by n),
  parts as (
    select r.n, r.near, r.told, p.id as p,
           case when v.distance is null then w.t    -- what waits for its vector is taken to mean what its words say
                else coalesce(least(1, greatest(0, 1 - nullif(v.distance, 'NaN')) / 0.8), 0) end as v,   -- zeroes have no cosine
           w.t, sum(p.length) over (partition by r.n) as length
    from nodes_found r, lateral (
      select q.id, q.weights, q.length from passages q where q.tenant = me and q.node_id = r.n offset 0) p
    left join lateral (
      select e.embedding <=> meaning as distance from vectors e
      where e.tenant = me and e.space = within and e.passage_id = p.id offset 0) v on true
    cross join lateral (select coalesce(greatest(0, least(1, -(p.weights <#> pattern) / best)), 0) as t) w),
  picked as (                                   -- a node scores by its best passage
    select distinct on (x.n) x.* from parts x order by x.n, share * x.v + (1 - share) * x.t desc, x.p)
  select x.n, x.p, case when x.near is not null then dense_rank() over (order by x.near) end,
         case when x.told is not null then dense_rank() over (order by x.told) end, x.v, x.t,
         x.length
  from picked x where share * x.v + (1 - share) * x.t > 0;
end $$;

-- Counts a tenant's passages, their mean length and its commoner lexemes, for the weights of words.
create function count_words() returns bigint language plpgsql security definer set search_path from current as $$
declare me constant text := this_tenant(); total bigint; mean real; prefix text;
begin
  select count(*), avg(length) into total, mean from passages where tenant = me;
  select code into prefix from lexicon where tenant = me;
  delete from terms where tenant = me;
  insert into terms (tenant, lexeme, documents)
  select me, substr(word, length(prefix) + 1), ndoc
  from ts_stat(format('select lexemes from passages where tenant = %L', me)) where ndoc >= 20;
  update lexicon set documents = total, average = coalesce(mean, average) where tenant = me;
  return total;
end $$;
