-- The two searches of recall, by vector and by text, and how they go about it.
--
-- Under row-level security PostgreSQL uses neither GIN for @@ nor shows statistics. So the functions that statements call run
-- as the owner (security definer), with a fixed search_path, and take the tenant from the setting, never as an argument.

create or replace function weigh_query(asked text) returns weighted_query
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  few constant integer := 2000; rare constant integer := 200; compared constant integer := 16;
  lex lexicon; total bigint; answer weighted_query;
begin
  select * into lex from lexicon l where l.tenant = this_tenant();
  if not found then return null; end if;
  total := lex.documents;
  if total < few then
    select greatest(count(*), total) into total from (select 1 from passages p where p.tenant = lex.tenant limit few) x;
  end if;
  with counted as (                             -- those that are too rare to be listed are counted now
    select w as word, coalesce(
             (select t.documents from lexeme_counts t where lex.documents >= few and t.tenant = lex.tenant and t.lexeme = w),
             (select count(*) from (
                select 1 from (select p.tenant from passages p where p.lexemes @@ quote_lexeme(lex.prefix || w)::tsquery offset 0) p
                where p.tenant = lex.tenant limit case when lex.documents >= few then rare else few end) x)) as n
    from unnest(tsvector_to_array(to_lexemes(lex.config, asked))) w),
  -- Inverse document frequency as in Lucene: ln(1 + (N - n + 0.5) / (n + 0.5)).
  terms as materialized (
    select c.word, c.n, lexeme_dimension(c.word) as d,
           ln(1 + (greatest(total, c.n) - c.n + 0.5::float8) / (c.n + 0.5::float8)) as idf
    from counted c),
  entries as (
    select e.d || ':' || e.w as entry, row_number() over (order by e.w desc, e.d) as place
    from (select t.d, max(t.idf)::real as w from terms t group by t.d) e),
  sparse as materialized (
    select ('{' || string_agg(e.entry, ',') || '}/268435456')::sparsevec as together,
           array_agg(('{' || e.entry || '}/268435456')::sparsevec order by e.place) filter (where e.place <= compared) as apart
    from entries e)
  select array_agg(lex.prefix || t.word order by t.n, t.word), array_agg(t.n order by t.n, t.word),
         (select s.together from sparse s), sum(t.idf) * (lex.k1 + 1), (select s.apart from sparse s)
    into answer from terms t;
  return answer;
end $$;

-- Where the arms look, and how.
create or replace function plan_search(f filters, pool integer) returns search_plan
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners;
  few constant integer := 5000;                 -- so many are scanned exactly about as fast as through an index
  many constant integer := 20000;               -- so many filtered nodes are gathered before the scans
  way search_plan; total bigint; said bigint;
begin
  way.filtered := f.tags is not null or filters_mentions(f);
  select greatest(l.documents, 1) into total from lexicon l where l.tenant = me;
  if way.filtered then way.node_ids := filtered_nodes(f, many); end if;
  -- Looking c nodes up costs c; an index among n has to be followed for pool * n / c. The lesser of the two is taken.
  way.by_node := way.node_ids is not null and (cardinality(way.node_ids) <= 1000
               or cardinality(way.node_ids)::float8 ^ 2 < pool::float8 * total);
  way.candidates := greatest(2000, least(8000, 2000 * coalesce(total::float8 / nullif(cardinality(way.node_ids), 0), 1)))::int;
  way.exact := not way.by_node;
  if way.exact and owners is null then
    way.exact := total <= 2 * few;
  elsif way.exact then
    -- Who has said so much has more passages than few; only of the others they are counted.
    select sum(s.last_seq) into said from (
      select s.last_seq from sessions s where s.tenant = me and s.owner = any(owners) limit 20) s;
    way.exact := coalesce(said, 0) <= 4 * few;
  end if;
  if way.exact then
    execute 'select count(*) <= $3 from ('
      'select 1 from passages p where p.tenant = $1 and owner_is_visible($2, p.owner) limit $3 + 1) x' into way.exact using me, owners, few;
  end if;
  return way;
end $$;

create or replace function vector_search(meaning halfvec, space vector_spaces, f filters, way search_plan, pool integer) returns vector_matches
language plpgsql stable set search_path from current set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners; chosen constant uuid[] := way.node_ids;
  narrow constant boolean := way.filtered and way.node_ids is null; answer vector_matches;
begin
  if not way.by_node and not way.exact and space.indexed then
    -- Only integers of the space's row are formatted: a cast needs a literal dimension, a partial index a literal space.
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(1000, greatest(64, pool * 5 / 3))::text, true);
    execute format(
      'select array_agg(n order by d, n), array_agg(p order by d, n), array_agg(d order by d, n) from ('
      'select distinct on (n) n, p, d from ('
      'select node_id n, passage_id p, embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) d from vectors '
      'where space = %2$s and tenant = $2 and live and owner_is_visible($4, owner) '
      'and ($7 is null or (node_id in (select unnest($7))) is true) and (not $6 or node_matches(node_id, $5)) '
      'order by embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) limit $3) near order by n, d) x',
      space.dimension, space.id)
    into answer.nodes, answer.passages, answer.distances using meaning, me, pool, owners, f, narrow, chosen;
    if cardinality(answer.nodes) >= pool / 2 then return answer; end if;
    -- Others' vectors, or one node's many passages, stood in front: ours alone are looked at, one by one.
  end if;
  select array_agg(x.n order by x.d, x.n), array_agg(x.p order by x.d, x.n), array_agg(x.d order by x.d, x.n)
    into answer.nodes, answer.passages, answer.distances from (
    select y.* from (
      select distinct on (v.node_id) v.node_id n, v.passage_id p, v.embedding <=> meaning d from vectors v
      where v.tenant = me and v.space = space.id and v.live and owner_is_visible(owners, v.owner)
        and (chosen is null or v.node_id = any(chosen)) and (not narrow or node_matches(v.node_id, f))
      order by v.node_id, (v.embedding <=> meaning) + 0) y
    order by y.d, y.n limit pool) x;
  return answer;
end $$;

-- The words that drive the index, as queries to try in turn. The rarest come first, as many as have `enough` passages
-- between them; where one that half of the passages have is needed for a pool, it drives together with another word first.
create or replace function driving_queries(asked weighted_query, enough integer, pool integer) returns tsquery[]
language plpgsql immutable set search_path from current as $$
declare rare text; common text; others text; before bigint := 0; through bigint; word text;
begin
  for i in 1 .. cardinality(asked.lexemes) loop
    through := before + asked.documents[i]; word := quote_lexeme(asked.lexemes[i]);
    if through <= enough then rare := concat_ws('|', rare, word);
    elsif before < pool then common := concat_ws('|', common, word);
    else others := concat_ws('|', others, word);
    end if;
    before := through;
  end loop;
  if common is null then return array[rare::tsquery]; end if;
  if others is null then return array[concat_ws('|', rare, common)::tsquery]; end if;
  return array[concat_ws('|', rare, '(' || common || ')&(' || others || ')')::tsquery, concat_ws('|', rare, common)::tsquery];
end $$;

-- The nodes whose passages have the words of a question, the best first.
create or replace function text_search(asked weighted_query, f filters, way search_plan, pool integer) returns uuid[]
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare
  me constant text := this_tenant(); owners constant text[] := f.owners; chosen constant uuid[] := way.node_ids;
  narrow constant boolean := way.filtered and way.node_ids is null; pattern constant sparsevec := asked.weights;
  most constant integer := case when narrow then null else 4 * pool end; told uuid[]; seen bigint; wanted tsquery;
begin
  if way.by_node or way.exact then
    -- Planned for what is asked, since few nodes may be looked up, or few rows of the owners.
    execute 'select array_agg(x.n order by x.d, x.n) from ('
      'select p.node_id n, min(p.weights <#> $1) d from passages p '
      'where p.tenant = $2 and owner_is_visible($4, p.owner) and p.live and p.lexemes @@ $3 '
      'and ($5 is null or p.node_id = any($5)) and (not $6 or node_matches(p.node_id, $7)) '
      'group by p.node_id order by 2, 1 limit $8) x'
    into told using pattern, me, any_lexeme(asked.lexemes), owners,
                    chosen, narrow, f, pool;
    return told;
  end if;
  foreach wanted in array driving_queries(asked, way.candidates, pool) loop
    for round in 1 .. 2 loop
      -- All words score. The lexemes carry the tenant's code: alone in there, so that nothing but their index is taken.
      with near as (
        select p.node_id as n, p.weights <#> pattern as d from (
          select q.tenant, q.node_id, q.owner, q.live, q.weights from passages q where q.lexemes @@ wanted offset 0) p
        where p.tenant = me and p.live and owner_is_visible(owners, p.owner)
          and (chosen is null or p.node_id in (select unnest(chosen)))
        order by d limit case when round = 1 then most end),
      best as (                                 -- filters that are checked one by one are checked best candidate first
        select b.n, b.d from (select n.n, min(n.d) as d from near n group by n.n order by 2, 1 offset 0) b
        where not narrow or node_matches(b.n, f) limit pool)
      select array_agg(b.n order by b.d, b.n), (select count(*) from near) into told, seen from best b;
      exit when cardinality(told) >= pool / 2 or seen < most or most is null;
      -- One node's many passages stood in front.
    end loop;
    exit when cardinality(told) >= pool / 2;
  end loop;
  return told;
end $$;
