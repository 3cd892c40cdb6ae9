-- The two searches of recall, by vector and by text, and how they go about it.
--
-- Under row-level security PostgreSQL uses neither GIN for @@ nor shows statistics. So the functions that statements call run
-- as the owner (security definer), with a fixed search_path, and take the tenant from the setting, never as an argument.

-- The words of a query as they weigh in this tenant, the rarest first. Null without memories.
create or replace function htm.weigh_query(words text) returns htm.weighted_query
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  few constant integer := 2000;                 -- below so many passages all counts are made now
  rare constant integer := 200;                 -- a lexeme that is not in lexeme_counts is counted up to here
  compared constant integer := 16;              -- so many terms are compared one by one
  lex htm.lexicon; total bigint; answer htm.weighted_query;
begin
  select * into lex from htm.lexicon l where l.tenant = htm.this_tenant();
  if not found then return null; end if;
  total := lex.documents;
  if total < few then
    select greatest(count(*), total) into total from (select 1 from htm.passages p where p.tenant = lex.tenant limit few) x;
  end if;
  -- Without accents each term is one lexeme. Two of them have the same dimension once in many millions of queries: below.
  if htm.fold_accents(words) = words then
    select array_agg(lex.prefix || w.lexeme order by w.documents, w.lexeme), array_agg(w.documents order by w.documents, w.lexeme),
           ('{' || string_agg(w.entry, ',') || '}/268435456')::pgvector.sparsevec, sum(w.idf) * (lex.k1 + 1),
           (array_agg(('{' || w.entry || '}/268435456')::pgvector.sparsevec order by w.idf::real desc, w.dimension))[:compared]
    into answer
    from (
      select i.lexeme, i.documents, i.idf, i.dimension, i.dimension || ':' || i.idf::real as entry from (
        select c.lexeme, c.documents, htm.lexeme_dimension(c.lexeme) as dimension,
               ln(1 + (greatest(total, c.documents) - c.documents + 0.5::float8) / (c.documents + 0.5::float8)) as idf
        from (
          select q.lexeme, coalesce(
                   (select c.documents from htm.lexeme_counts c
                    where lex.documents >= few and c.tenant = lex.tenant and c.lexeme = q.lexeme),
                   (select count(*) from (
                      select 1 from (
                        select p.tenant from htm.passages p where p.lexemes @@ htm.quote_lexeme(lex.prefix || q.lexeme)::tsquery offset 0) p
                      where p.tenant = lex.tenant limit case when lex.documents >= few then rare else few end) x)) as documents
          from unnest(htm.to_lexemes(lex.config, words)) q offset 0) c offset 0) i offset 0) w
    having count(distinct w.dimension) = count(*);
    if answer.weights is not null then return answer; end if;
  end if;
  with
  -- Each lexeme of the query, also as it is written with its accents, and in how many passages it occurs.
  written as (
    select q.lexeme as term, unnest(array_remove(array[q.lexeme, q.as_written], null)) as lexeme
    from htm.query_lexemes(lex.config, words) q),
  counted as (
    select term, lexeme, coalesce(
             (select c.documents from htm.lexeme_counts c
              where lex.documents >= few and c.tenant = lex.tenant and c.lexeme = u.lexeme),
             (select count(*) from (
                select 1 from (
                  select p.tenant from htm.passages p where p.lexemes @@ htm.quote_lexeme(lex.prefix || lexeme)::tsquery offset 0) p
                where p.tenant = lex.tenant limit case when lex.documents >= few then rare else few end) x)) as documents
    from written u),
  -- Inverse document frequency as in Lucene: ln(1 + (N - n + 0.5) / (n + 0.5)). Both ways to write a term share one.
  terms as materialized (
    select c.term, sum(c.documents)::bigint as documents,
           ln(1 + (greatest(total, sum(c.documents)::bigint) - sum(c.documents)::bigint + 0.5::float8)
              / (sum(c.documents)::bigint + 0.5::float8)) as idf
    from counted c group by c.term),
  dimensions as materialized (
    select distinct t.term, t.idf::real as weight, htm.lexeme_dimension(c.lexeme) as dimension
    from terms t join counted c on c.term = t.term),
  -- The sparse vector of each term, the heaviest first.
  entries as (
    select '{' || string_agg(d.dimension || ':' || d.weight, ',') || '}/268435456' as entry,
           row_number() over (order by d.weight desc, min(d.dimension)) as place
    from dimensions d group by d.term, d.weight)
  select (select array_agg(lex.prefix || c.lexeme order by c.documents, c.lexeme) from counted c),
         (select array_agg(c.documents order by c.documents, c.lexeme) from counted c),
         (select ('{' || string_agg(d.dimension || ':' || d.weight, ',') || '}/268435456')::pgvector.sparsevec
          from (select x.dimension, max(x.weight) as weight from dimensions x group by x.dimension) d),
         (select sum(t.idf) * (lex.k1 + 1) from terms t),
         (select array_agg(e.entry::pgvector.sparsevec order by e.place) from entries e where e.place <= compared)
    into answer;
  return answer;
end $$;

-- How the two searches go about it: looking up the nodes that pass the filters, reading all rows of the owners, or following an index.
-- Without words, so many nodes are gathered as are worth looking up: the index of vectors is followed with the filters checked on
-- the way, and the more nodes pass them the sooner it is through.
create or replace function htm.plan_search(f htm.conditions, pool integer, without_words boolean) returns htm.search_plan
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := htm.this_tenant(); owners constant text[] := f.owners;
  few constant integer := 5000;                 -- so many passages are read about as fast as an index is followed
  many constant integer := 20000;               -- so many nodes that pass the filters are gathered before the searches
  often constant integer := 3;                  -- a filter that so many of 64 pass is passed by some 5 % or more
  anywhere uuid; worth_looking_up integer; plan htm.search_plan; total bigint; messages bigint; passages integer; are_many boolean; passed_often boolean := false;
begin
  plan.filtered := f.tags is not null or htm.filters_mentions(f);
  -- In one statement, which costs less than two. Owners with that many messages have more passages than few.
  select (select greatest(l.documents, 1) from htm.lexicon l where l.tenant = me),
         case when owners is not null then (
           select sum(s.last_seq) from (
             select s.last_seq from htm.sessions s where s.tenant = me and s.owner = any(owners) limit 20) s) end
  into total, messages;
  are_many := case when owners is null then coalesce(total > 2 * few, false) else coalesce(messages, 0) > 2 * few end;
  -- To look c nodes up costs c. To find them through an index among n, it must be followed for pool * n / c. The cheaper is taken.
  worth_looking_up := greatest(1000, sqrt(pool::float8 * coalesce(total, 1)))::integer;
  if without_words and are_many and f.tags is null and htm.filters_mentions(f) then
    -- An index of metadata is read to its end before the first row comes. Ids of nodes are made of hashes: from a random one on,
    -- they are a random sample. How many have tags is soon seen, and says how many can pass with them.
    anywhere := gen_random_uuid();
    select count(*) >= often into passed_often from (
      select s.* from htm.mentions s where s.tenant = me and s.node_id >= anywhere order by s.node_id, s.at desc limit 64) m
    where htm.mention_matches(m, owners, f.robots, f.session, f.windows, f.equal, f.metadata, f.as_of, f.valid_at, f.sources, f.min_trust);
  end if;
  if plan.filtered and not passed_often then
    plan.node_ids := htm.filtered_nodes(f, case when without_words and are_many then worth_looking_up else many end);
  end if;
  plan.by_node := plan.node_ids is not null and cardinality(plan.node_ids) <= worth_looking_up;
  -- With words, so many passages that have them are compared. Without, an index of vectors is followed so far: further for an owner
  -- who has less than a quarter of what it has, of which most is passed over; and the further, the more rows there are: to find as
  -- many of the nearest, 20 more each time they double.
  plan.candidates := case when without_words then case when owners is null or 4 * messages >= total
      then least(200, 40 + 20 * ln(greatest(total, few)::float8 / few) / ln(2::float8))::integer else 160 end
    else greatest(1000, least(8000, 1000 * coalesce(total::float8 / nullif(cardinality(plan.node_ids), 0), 1)))::int end;
  plan.exact := not plan.by_node and not are_many;
  -- Two statements, so that each is planned once a session: a plan for both would not follow the index of owners.
  if plan.exact and owners is null then
    select count(*) into passages from (
      select 1 from htm.passages p where p.tenant = me and htm.owner_is_visible(null::text[], p.owner) limit few + 1) x;
  elsif plan.exact then
    select count(*) into passages from (
      select 1 from htm.passages p where p.tenant = me and p.owner = any(owners) limit few + 1) x;
  end if;
  -- All that the owners have is read, or as many passages with the words.
  if passages > few then plan.exact := false; elsif plan.exact then plan.candidates := passages; end if;
  return plan;
end $$;

-- The filters as a condition on the nodes of vectors "v", for a statement of which $1 is the tenant and $2 the filters: each is looked
-- up by its node. The offsets keep the planner from turning that into a join, for which it would read all that passes the filters.
create or replace function htm.node_condition(f htm.conditions) returns text language sql immutable set search_path = pg_catalog, pg_temp
begin atomic
  select case cardinality(f.tags) when 0 then '' when 1 then
      ' and exists (select from htm.tags t where t.tenant = $1 and t.node_id = v.node_id and t.tag = ($2).tags[1] offset 0)' else coalesce(
      ' and (select count(*) from htm.tags t where t.tenant = $1 and t.node_id = v.node_id and t.tag = any(($2).tags)) = '
      || cardinality(f.tags), '') end
    || case when not htm.filters_mentions(f) then '' else
      ' and exists (select from htm.mentions m where m.tenant = $1 and m.node_id = v.node_id'
      || case when f.windows is null then '' else      -- most are outside of them, which this says sooner
      ' and m.at >= coalesce(lower(($2).windows), ''-infinity'') and m.at <= coalesce(upper(($2).windows), ''infinity'')' end ||
      ' and htm.mention_matches('
      'm, ($2).owners, ($2).robots, ($2).session, ($2).windows, ($2).equal, ($2).metadata, ($2).as_of, ($2).valid_at, ($2).sources, ($2).min_trust) offset 0)' end;
end;

-- Makes `nearest_in_index` anew: with a statement for each space whose vectors have an index of their numbers. PostgreSQL uses an index
-- of a part of a table, and of a cast, only where the statement has both as literals; and what a function has as its own statement is
-- planned once a session, which takes longer than to follow the index. The owner runs it, whenever a space gets an index, or loses it.
create or replace procedure htm.make_nearest_in_index() language plpgsql set search_path = pg_catalog, pg_temp as $make$
declare statements text := '';
begin
  select coalesce(string_agg(format($statement$
  if space_id = %1$s then
    with near as materialized (
      select v.node_id, v.passage_id, v.embedding::pgvector.halfvec(%2$s) operator(pgvector.<=>) query_vector::pgvector.halfvec(%2$s) as distance
      from htm.vectors v
      where v.space = %1$s and v.tenant = me and v.live and htm.owner_is_visible(owners, v.owner)
      order by v.embedding::pgvector.halfvec(%2$s) operator(pgvector.<=>) query_vector::pgvector.halfvec(%2$s) limit most)
    select array_agg(x.node_id order by x.distance, x.node_id), array_agg(x.passage_id order by x.distance, x.node_id),
           array_agg(x.distance order by x.distance, x.node_id), (select count(*) from near)
    into nodes, passages, distances, passages_read
    from (
      select y.* from (select distinct on (n.node_id) n.* from near n order by n.node_id, n.distance, n.passage_id) y
      order by y.distance, y.node_id limit pool) x;
    return;
  end if;$statement$, s.id, s.dimension), '' order by s.id), '') into statements
  from htm.vector_spaces s where s.indexed and not s.quantized;
  -- Nothing is sorted before it is found: only the index gives the nearest in their order.
  execute format($function$
create or replace function htm.nearest_in_index(
  space_id integer, query_vector pgvector.halfvec, owners text[], most integer, pool integer,
  out nodes uuid[], out passages uuid[], out distances float8[], out passages_read bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_sort = off as $body$
#variable_conflict use_column
declare me constant text := htm.this_tenant();
begin%s
end $body$ $function$, statements);
end $make$;
revoke execute on procedure htm.make_nearest_in_index() from public;

create or replace function htm.vector_spaces_changed() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  call htm.make_nearest_in_index();
  return null;
end $$;

call htm.make_nearest_in_index();

-- The nodes whose passages are nearest to the query's vector. Without words there is nothing that finds again what the index missed:
-- then it is followed further. An index of signs alone says roughly what is near: more of that is read, and compared by its numbers.
create or replace function htm.vector_search(
  query_vector pgvector.halfvec, space htm.vector_spaces, f htm.conditions, plan htm.search_plan, pool integer, without_words boolean)
returns htm.vector_matches
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  check_each constant boolean := plan.filtered and plan.node_ids is null;
  followed constant integer := case
    when space.quantized then case when check_each then greatest(200, 4 * pool) when without_words then greatest(400, 10 * pool)
                                   else greatest(200, 5 * pool) end
    when without_words then greatest(case when check_each then 160 else plan.candidates end, 2 * pool)
    else greatest(64, pool * 5 / 3) end;
  -- Each that passes is paid for with many that do not, the more the fewer pass: no more are looked for than are needed.
  enough constant integer := greatest(1, case when not without_words then pool when check_each then pool * 3 / 5
                                              when f.owners is not null then pool * 7 / 10 else pool end);
  answer htm.vector_matches; most integer; passages_read bigint;
begin
  if not plan.by_node and not plan.exact and space.indexed then
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(1000, followed)::text, true);
    foreach most in array array[case when space.quantized then 2 * pool else enough end, 4 * pool] loop
      if not check_each and plan.node_ids is null and f.as_of is null and not space.quantized then
        select n.nodes, n.passages, n.distances, n.passages_read into answer.nodes, answer.passages, answer.distances, passages_read
        from htm.nearest_in_index(space.id, query_vector, f.owners, most, pool) n;
      end if;
      if passages_read is null then
        select n.nodes, n.passages, n.distances, n.passages_read into answer.nodes, answer.passages, answer.distances, passages_read
        from htm.filtered_in_index(query_vector, space, f, plan.node_ids, check_each, followed, most, pool) n;
      end if;
      if cardinality(answer.nodes) >= pool / 2 then return answer; end if;
      exit when passages_read < most;
      passages_read := null;
      -- Many passages of one node were nearer than others: more of them are read.
    end loop;
    -- Vectors of others were nearer: only the rows of these owners are read, one by one.
  end if;
  if not check_each then return htm.exact_vector_search(query_vector, space.id, f.owners, plan.node_ids, pool, f.as_of is not null); end if;
  return htm.exact_filtered_search(query_vector, space.id, f, pool);
end $$;

-- The nodes among nearest vectors, which `near` names: each with its nearest passage, nearest first; $6 of them.
create or replace function htm.nodes_of_nearest() returns text language sql immutable
begin atomic
  select ' select array_agg(x.node_id order by x.distance, x.node_id) as nodes, array_agg(x.passage_id order by x.distance, x.node_id) as passages, '
    'array_agg(x.distance order by x.distance, x.node_id) as distances, (select count(*) from near) as passages_read from ('
    'select y.* from (select distinct on (n.node_id) n.* from near n order by n.node_id, n.distance, n.passage_id) y '
    'order by y.distance, y.node_id limit $6) x';
end;

-- The same as `nearest_in_index`, with filters on the way, or by an index of signs. Its statement has the filters that are given and no
-- others, and is planned for them.
create or replace function htm.filtered_in_index(
  query_vector pgvector.halfvec, space htm.vector_spaces, f htm.conditions, allowed_nodes uuid[], check_each boolean, followed integer,
  most integer, pool integer,
  out nodes uuid[], out passages uuid[], out distances float8[], out passages_read bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  me constant text := htm.this_tenant();
  nearest constant text := case when space.quantized then
    ' select b.node_id, b.passage_id, b.embedding operator(pgvector.<=>) $3 as distance from ('
    'select v.node_id, v.passage_id, v.embedding from htm.vectors v '
    'where v.space = %2$s and v.tenant = $1 and (v.live or ($2).as_of is not null) and htm.owner_is_visible(($2).owners, v.owner) '
    'and ($4 is null or (v.node_id in (select unnest($4))) is true)%3$s '
    'order by (pgvector.binary_quantize(v.embedding)::bit(%1$s)) operator(pgvector.<~>) (pgvector.binary_quantize($3)::bit(%1$s)) '
    'limit greatest($5, %4$s)) b order by distance limit $5'
  else
    ' select v.node_id, v.passage_id, v.embedding::pgvector.halfvec(%1$s) operator(pgvector.<=>) $3::pgvector.halfvec(%1$s) distance '
    'from htm.vectors v where v.space = %2$s and v.tenant = $1 and (v.live or ($2).as_of is not null) and htm.owner_is_visible(($2).owners, v.owner) '
    'and ($4 is null or (v.node_id in (select unnest($4))) is true)%3$s '
    'order by v.embedding::pgvector.halfvec(%1$s) operator(pgvector.<=>) $3::pgvector.halfvec(%1$s) limit $5' end;
begin
  -- Only integers of the space's row are formatted: a cast needs a literal dimension, a partial index a literal space.
  execute format('with near as materialized (' || nearest || ')' || htm.nodes_of_nearest(), space.dimension, space.id,
                 case when check_each then htm.node_condition(f) else '' end, followed)
  into nodes, passages, distances, passages_read using me, f, query_vector, allowed_nodes, most, pool;
end $$;

-- The same by comparing every vector of these owners whose node passes the filters, each of which is checked.
create or replace function htm.exact_filtered_search(
  query_vector pgvector.halfvec, space_id integer, f htm.conditions, pool integer) returns htm.vector_matches
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); answer htm.vector_matches; most integer; passages_read bigint;
begin
  foreach most in array array[4 * pool, null] loop
    execute format(
      'with near as materialized ('
      'select v.node_id, v.passage_id, v.embedding operator(pgvector.<=>) $3 as distance from htm.vectors v '
      'where v.tenant = $1 and v.space = %1$s and (v.live or ($2).as_of is not null) and htm.owner_is_visible(($2).owners, v.owner)%2$s '
      'order by (v.embedding operator(pgvector.<=>) $3) + 0, v.node_id limit $5)' || htm.nodes_of_nearest(), space_id, htm.node_condition(f))
    into answer.nodes, answer.passages, answer.distances, passages_read using me, f, query_vector, null::uuid[], most, pool;
    exit when cardinality(answer.nodes) >= pool or passages_read < most;
  end loop;
  return answer;
end $$;

-- The same by comparing every vector: of these nodes, else of all that these owners have. Of the three reads one is done, by an index
-- of its own; so the statement is planned once a session. The nearest are kept while the rest is read, which is faster than to sort
-- all by node. Mostly a node has one passage or two. Where a few nodes have all that is kept, it is read once more and all is kept.
create or replace function htm.exact_vector_search(
  query_vector pgvector.halfvec, space_id integer, owners text[], allowed_nodes uuid[], pool integer, also_hidden boolean) returns htm.vector_matches
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant text := htm.this_tenant();
  by_owners constant text[] := case when allowed_nodes is null then array(select distinct o from unnest(owners) o) end;
  of_everybody constant boolean := allowed_nodes is null and owners is null;
  most bigint := 4 * pool; compared bigint; answer htm.vector_matches;
begin
  loop
    with compared as (
      select x.node_id, x.passage_id, x.embedding operator(pgvector.<=>) query_vector as distance
      from htm.each_id(allowed_nodes) g(id) cross join lateral (
        select v.* from htm.vectors v where v.tenant = me and v.node_id = g.id offset 0) x
      where x.space = space_id and (x.live or also_hidden) and htm.owner_is_visible(owners, x.owner)
      union all
      select x.* from unnest(by_owners) g(owner) cross join lateral (
        select v.node_id, v.passage_id, v.embedding operator(pgvector.<=>) query_vector from htm.vectors v
        where v.tenant = me and v.space = space_id and v.owner = g.owner and (v.live or also_hidden) offset 0) x
      union all
      select v.node_id, v.passage_id, v.embedding operator(pgvector.<=>) query_vector from htm.vectors v
      where of_everybody and v.tenant = me and v.space = space_id and (v.live or also_hidden) and htm.owner_is_visible(null, v.owner)),
    nearest as materialized (
      select c.* from compared c order by c.distance, c.node_id limit most),
    -- Each node with its nearest passage.
    best as (
      select y.* from (select distinct on (n.node_id) n.* from nearest n order by n.node_id, n.distance, n.passage_id) y
      order by y.distance, y.node_id limit pool)
    select array_agg(b.node_id order by b.distance, b.node_id), array_agg(b.passage_id order by b.distance, b.node_id),
           array_agg(b.distance order by b.distance, b.node_id), (select count(*) from nearest)
    into answer.nodes, answer.passages, answer.distances, compared from best b;
    exit when cardinality(answer.nodes) >= pool or compared < most or most is null;
    most := null;
  end loop;
  return answer;
end $$;

-- The words that drive the index, as queries to try in turn. The rarest come first, as many as have `candidates` passages
-- together. Where a common word is needed to fill the pool, it first drives only together with another word.
create or replace function htm.driving_queries(query_terms htm.weighted_query, candidates integer, pool integer) returns tsquery[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare rare text; common text; others text; before bigint := 0; through bigint; word text;
begin
  for i in 1 .. cardinality(query_terms.lexemes) loop
    through := before + query_terms.documents[i]; word := htm.quote_lexeme(query_terms.lexemes[i]);
    if through <= candidates then rare := concat_ws('|', rare, word);
    elsif before < pool then common := concat_ws('|', common, word);
    else others := concat_ws('|', others, word);
    end if;
    before := through;
  end loop;
  if common is null then return array[rare::tsquery]; end if;
  if others is null then return array[concat_ws('|', rare, common)::tsquery]; end if;
  return array[concat_ws('|', rare, '(' || common || ')&(' || others || ')')::tsquery, concat_ws('|', rare, common)::tsquery];
end $$;

-- The nodes whose passages have the words of the query, the best first.
create or replace function htm.text_search(query_terms htm.weighted_query, f htm.conditions, plan htm.search_plan, pool integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := htm.this_tenant(); owners constant text[] := f.owners; allowed_nodes constant uuid[] := plan.node_ids;
  check_each constant boolean := plan.filtered and plan.node_ids is null;
  query_weights constant pgvector.sparsevec := query_terms.weights;
  -- The index of words has all that have them sooner than all passages of the owners are read, unless others of the tenant have many more.
  by_words constant boolean := plan.exact and (select sum(d) from unnest(query_terms.documents) d) <= 2 * plan.candidates;
  max_passages constant integer := case when check_each or plan.exact then null else 4 * pool end;
  found uuid[]; passages_read bigint; driving tsquery;
begin
  if plan.by_node or (plan.exact and not by_words) then
    return htm.exact_text_search(query_weights, htm.any_lexeme(query_terms.lexemes), f, allowed_nodes, check_each, pool);
  end if;
  foreach driving in array case when by_words then array[htm.any_lexeme(query_terms.lexemes)]
                                else htm.driving_queries(query_terms, plan.candidates, pool) end loop
    for round in 1 .. 2 loop
      with
      -- The best passages. All words score. The lexemes carry the tenant's prefix and stand in a subquery of their own, so that
      -- no other index is taken.
      near as (
        select p.node_id, p.weights operator(pgvector.<#>) query_weights as distance from (
          select q.tenant, q.node_id, q.owner, q.live, q.weights from htm.passages q where q.lexemes @@ driving offset 0) p
        where p.tenant = me and (p.live or f.as_of is not null) and htm.owner_is_visible(owners, p.owner)
          and (allowed_nodes is null or p.node_id in (select unnest(allowed_nodes)))
        order by distance limit case when round = 1 then max_passages end),
      -- Their nodes. Filters that are checked one by one are checked from the best on.
      best as (
        select b.node_id, b.distance from (
          select n.node_id, min(n.distance) as distance from near n group by n.node_id order by 2, 1 offset 0) b
        where not check_each or htm.node_matches(b.node_id, f) limit pool)
      select array_agg(b.node_id order by b.distance, b.node_id), (select count(*) from near) into found, passages_read from best b;
      exit when cardinality(found) >= pool / 2 or passages_read < max_passages or max_passages is null;
      -- Many passages of one node took the places: the second round has no limit.
    end loop;
    exit when cardinality(found) >= pool / 2;
  end loop;
  return found;
end $$;

-- The same by reading every passage: of these nodes, else of all that these owners have. Of the three reads one is done, as above.
-- The words are compared outside of the reads, so that the index of all tenants' words is not taken.
create or replace function htm.exact_text_search(
  query_weights pgvector.sparsevec, any_word tsquery, f htm.conditions, allowed_nodes uuid[], check_each boolean, pool integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := htm.this_tenant(); owners constant text[] := f.owners;
  by_owners constant text[] := case when allowed_nodes is null then array(select distinct o from unnest(owners) o) end;
  of_everybody constant boolean := allowed_nodes is null and owners is null;
  found uuid[];
begin
  with looked_in as (
    select x.* from htm.each_id(allowed_nodes) g(id) cross join lateral (
      select p.* from htm.passages p where p.tenant = me and p.node_id = g.id offset 0) x
    where (x.live or f.as_of is not null) and htm.owner_is_visible(owners, x.owner)
    union all
    select x.* from unnest(by_owners) g(owner) cross join lateral (
      select p.* from htm.passages p where p.tenant = me and p.owner = g.owner offset 0) x
    where x.live or f.as_of is not null
    union all
    select x.* from (
      select p.* from htm.passages p
      where of_everybody and p.tenant = me and (p.live or f.as_of is not null) and htm.owner_is_visible(null, p.owner) offset 0) x),
  best as (
    select l.node_id, min(l.weights operator(pgvector.<#>) query_weights) as distance from looked_in l
    where l.lexemes @@ any_word and (not check_each or htm.node_matches(l.node_id, f)) group by l.node_id order by 2, 1 limit pool)
  select array_agg(b.node_id order by b.distance, b.node_id) into found from best b;
  return found;
end $$;

-- A phrase as a pattern: its words in this order, with any white space between them, and not as a part of longer words.
create or replace function htm.phrase_pattern(phrase text) returns text language sql immutable strict parallel safe
begin atomic
  select case when p ~ '^[A-Za-z0-9]' then '(?<![A-Za-z0-9])' else '' end
         || regexp_replace(regexp_replace(p, '([^\w\s])', '\\\1', 'g'), '\s+', '\\s+', 'g')
         || case when p ~ '[A-Za-z0-9]$' then '(?![A-Za-z0-9])' else '' end
  from translate(htm.fold_accents(phrase), '‘’', '''''') p;
end;

-- The passages that have some of these phrases, and which share of them: among the nodes that the searches found, and among at most a
-- thousand others that have all words of a phrase.
create or replace function htm.phrase_search(phrases text[], f htm.conditions, plan htm.search_plan, found_nodes uuid[])
returns table (node_id uuid, passage_id uuid, share float8)
language plpgsql stable rows 10 set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  me constant text := htm.this_tenant(); most constant integer := 1000;
  check_each constant boolean := plan.filtered and plan.node_ids is null;
  lex htm.lexicon; with_all_words tsquery; patterns text[];
begin
  select * into lex from htm.lexicon l where l.tenant = me;
  select array_agg(htm.phrase_pattern(p)) into patterns from unnest(phrases) p;
  select string_agg('(' || w.lexemes || ')', '|')::tsquery into with_all_words
  from unnest(phrases) p, lateral (
    select string_agg('(' || concat_ws('|', htm.quote_lexeme(lex.prefix || q.lexeme), htm.quote_lexeme(lex.prefix || q.as_written)) || ')', '&')
    from htm.query_lexemes(lex.config, p) q) w(lexemes);
  return query
  with considered as materialized (
    select p.id, p.node_id, p.body, p.starts, p.stops from htm.passages p
    where p.tenant = me and p.node_id = any(found_nodes)
    union all
    select w.* from (
      select x.id, x.node_id, x.body, x.starts, x.stops from (
        select q.* from htm.passages q where q.lexemes @@ with_all_words offset 0) x
      where x.tenant = me and (x.live or f.as_of is not null) and htm.owner_is_visible(f.owners, x.owner) and (x.node_id = any(found_nodes)) is not true
        and (plan.node_ids is null or x.node_id = any(plan.node_ids)) limit most) w)
  select c.node_id, c.id, m.share
  from considered c join htm.nodes n on n.tenant = me and n.id = c.node_id
  cross join lateral (
    select count(*)::float8 / cardinality(patterns) as share from unnest(patterns) pattern
    where translate(htm.fold_accents(coalesce(c.body, substr(n.content, c.starts + 1, c.stops - c.starts))), '‘’', '''''') ~* pattern) m
  where m.share > 0 and (not check_each or htm.node_matches(c.node_id, f));
end $$;
