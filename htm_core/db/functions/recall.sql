-- Recall in two messages: what a query could mean (`recall_candidates`), and all that the chosen hits show (`recall_hits`). How
-- the candidates are scored in between is in recall/scoring.py. Without words and signals the nearest are the hits, in one message
-- (`recall_nearest`).

-- What a query could mean: the nodes that either search found, those that stand beside them in a conversation, and what their scores
-- are made of.
--
-- The vector search and the text search bring `pool` candidates each. Each candidate is scored by both; as many of the best as one
-- search brings go on. Their latest mentions are looked up, and around the best of them what was said before and after.
--
-- `words` is what words are found by, `embedding` the vector; either may be null. `vector_share` is the weight of the vector beside
-- the words. `phrases` are what the query quotes: where some passage has a phrase, all phrases count as much as all words. `forms` are
-- the words of the query that may be names: `known_speakers` are those that are speakers', since who asks can only guess them before.
-- `with_context` reads what was said around a candidate, `with_use` its importance and use.
--
-- The answer is one row of lists. Those of nodes belong together, and those of mentions, whose `mention_nodes` are places in the lists of
-- nodes, from 1. What no node has is null instead of a list: `passes`, which says whether a node passes the filters itself, without filters;
-- `phrase_shares` and `uses`. `best_score` is what all words of the query would score, `vector_weight` the weight of the vector in this search,
-- `terms` the heaviest words of the query as sparse vectors in pgvector's binary form, like `weights`, those of the best passage of each node.
create or replace function htm.recall_candidates(
  words text, embedding pgvector.halfvec, model text, f htm.conditions, pool integer, max_hits integer, vector_share float8,
  phrases text[], forms text[], with_context boolean, with_use boolean,
  out known_speakers text[], out best_score float8, out query_words integer, out vector_weight float8, out terms bytea[],
  out nodes uuid[], out passages uuid[], out vector_ranks integer[], out text_ranks integer[], out cosines float8[],
  out vector_scores float8[], out text_scores float8[], out weights bytea[], out node_lengths integer[],
  out passes boolean[], out phrase_shares float8[], out uses float8[],
  out mention_nodes integer[], out owners text[], out sessions text[], out seqs bigint[], out roles text[], out names text[],
  out times float8[], out in_conversation boolean[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off set enable_hashagg = off as $$
#variable_conflict use_column
-- Vectors are looked up by their passage alone, and their space is compared afterwards: where there are no statistics yet, an index by
-- tenant and space promises one row, as the primary key does, and has all of the tenant's.
declare
  me constant text := htm.this_tenant();
  query_vector constant pgvector.halfvec := embedding;
  filtered constant boolean := f.tags is not null or htm.filters_mentions(f);
  asked_owners constant text[] := htm.owners_in_claim(f.owners);     -- of the owners that are asked for, those that may be seen
  kept constant integer := greatest(pool, max_hits);            -- so many candidates of both searches go on
  looked_around constant integer := greatest(15, max_hits);     -- and for so many of them, what was said around them is read
  space htm.vector_spaces;
  space_id integer;
  scale float8;                                                  -- of distances, so that those of all models mean the same
  plan htm.search_plan;
  allowed_nodes uuid[];
  query_terms htm.weighted_query;
  query_weights pgvector.sparsevec;
  vector_hits htm.vector_matches;
  text_hits uuid[];
  phrase_nodes uuid[];
  phrase_passages uuid[];
  shares float8[];
begin
  f.owners := asked_owners;
  if cardinality(forms) > 0 then known_speakers := htm.matching_speakers(forms, f); end if;
  if query_vector is not null then 
    space := htm.query_vector_space(model, query_vector); space_id := space.id; scale := htm.cosine_scale(space_id);
  end if;
  if words is not null then query_terms := htm.weigh_query(words); query_weights := query_terms.weights; end if;
  vector_weight := case when space_id is null then 0 when query_weights is null then 1 else vector_share end;
  best_score := nullif(query_terms.best_score, 0);
  query_words := cardinality(query_terms.lexemes);
  terms := array(select pgvector.sparsevec_send(t) from unnest(query_terms.top_terms) t);
  plan := htm.plan_search(f, pool, words is null);
  allowed_nodes := plan.node_ids;
  if space_id is not null then
    vector_hits := htm.vector_search(query_vector, space, f, plan, pool, words is null);
    if scale <> 1 then vector_hits.distances := array(select scale * d from unnest(vector_hits.distances) with ordinality x(d, n) order by n); end if;
  end if;
  if query_weights is not null then text_hits := htm.text_search(query_terms, f, plan, pool); end if;
  if cardinality(phrases) > 0 and query_weights is not null then
    select array_agg(p.node_id), array_agg(p.passage_id), array_agg(p.share) into phrase_nodes, phrase_passages, shares
    from htm.phrase_search(phrases, f, plan, coalesce(vector_hits.nodes, '{}') || coalesce(text_hits, '{}')) p;
    if phrase_nodes is not null then
      best_score := 2 * best_score;
      text_hits := text_hits || array(select distinct n from unnest(phrase_nodes) n where (n = any(text_hits)) is not true);
    end if;
  end if;
  with
  -- The nodes that either search found, with their rank there, and the passage that was nearest to the vector.
  candidates as (
    select coalesce(v.node_id, t.node_id) as node_id, v.rank as vector_rank, t.rank as text_rank, v.passage_id, v.distance
    from unnest(vector_hits.nodes, vector_hits.passages, vector_hits.distances)
         with ordinality v(node_id, passage_id, distance, rank)
    full join unnest(text_hits) with ordinality t(node_id, rank) on t.node_id = v.node_id),
  -- Every passage of the candidates, scored by its vector and by its words, each in [0, 1].
  candidate_passages as (
    select c.node_id, c.vector_rank, c.text_rank, p.id as passage_id, p.weights, p.length, w.text_score,
           1 - nullif(case when p.id is distinct from c.passage_id then v.distance else c.distance end, 'NaN') as cosine,
           case when p.id is distinct from c.passage_id and v.distance is null
                then least(1, w.text_score / 0.75)  -- it still waits for its vector: words that cover all stand for a cosine of about 0.5
                else coalesce(least(1, greatest(0, 1 - nullif(coalesce(v.distance, c.distance), 'NaN')) / 0.8), 0)  -- NaN: a vector of zeroes
           end as vector_score,
           sum(p.length) over (partition by c.node_id) as node_length
    from candidates c, lateral (
      select q.id, q.weights, q.length from htm.passages q where q.tenant = me and q.node_id = c.node_id offset 0) p
    left join lateral (
      select scale * (e.embedding operator(pgvector.<=>) query_vector) as distance from (
        select x.space, x.embedding from htm.vectors x
        where space_id is not null and x.tenant = me and x.passage_id = p.id and p.id is distinct from c.passage_id offset 0) e
      where e.space = space_id offset 0) v on true
    cross join lateral (
      select greatest(0, least(1, coalesce(-(p.weights operator(pgvector.<#>) query_weights) / best_score, 0)))
             + case when phrase_passages is null then 0 else coalesce((
                 select x.share / 2 from unnest(phrase_passages, shares) x(id, share) where x.id = p.id), 0) end as text_score) w),
  -- Each candidate with the best of its passages, and its place among all.
  ranked_candidates as materialized (
    select b.*, row_number() over (order by b.fused_score desc, b.cosine desc nulls last, b.node_id) as place from (
      select distinct on (p.node_id) p.*,
             vector_weight * p.vector_score + (1 - vector_weight) * p.text_score as fused_score
      from candidate_passages p
      order by p.node_id, vector_weight * p.vector_score + (1 - vector_weight) * p.text_score desc, p.cosine desc nulls last,
               p.passage_id) b
    where b.fused_score > 0 or (words is null and b.cosine is not null)),  -- the nearest by vector are hits however far they are
  -- Where the candidates were said: their latest mentions that pass the filters.
  candidate_mentions as materialized (
    select r.node_id, r.place, r.node_length, m.id, m.owner, m.session, m.seq, m.role, m.name, m.at, m.in_conversation
    from ranked_candidates r, lateral (
      select m.id, m.owner, m.session, m.seq, m.role, m.name, m.at,
             m.role is not null or m.name is not null or m.session <> '' as in_conversation
      from htm.mentions m
      where m.tenant = me and m.node_id = r.node_id
        and htm.mention_matches(m, asked_owners, f.robots, f.session, f.windows, f.equal, f.metadata,
                                f.as_of, f.valid_at, f.sources, f.min_trust)
      order by m.at desc limit 3) m
    where r.place <= kept),
  -- What was said up to two messages before and after the best of them. A text of so many words neither takes from it nor gives to it
  -- a hundredth (`context_share` in recall/scoring.py).
  neighbours as (
    select n.* from candidate_mentions c, lateral (
      select m.node_id, m.id, m.owner, m.session, m.seq, m.role, m.name, m.at
      from htm.mentions m
      where m.tenant = me and m.owner = c.owner and m.session = c.session and m.seq between c.seq - 2 and c.seq + 2
        and m.forgotten_at is null and (m.expires_at is null or m.expires_at > coalesce(f.as_of, htm.memory_time()))
        and (f.as_of is null or m.at <= f.as_of)
        and m.node_id is not null and m.id <> c.id
        and (m.role is not null or m.name is not null or m.session <> '') offset 0) n
    where c.place <= looked_around and c.in_conversation and with_context and best_score is not null
      and c.node_length < 158),
  -- Both, each mention once.
  considered as materialized (
    select distinct on (s.id) s.* from (
      select c.node_id, c.id, c.owner, c.session, c.seq, c.role, c.name, c.at, c.in_conversation, true as is_candidate
      from candidate_mentions c
      union all
      select n.node_id, n.id, n.owner, n.session, n.seq, n.role, n.name, n.at, true, false from neighbours n) s
    order by s.id, s.is_candidate desc),
  -- Nodes that neither search found, but that stand beside a candidate.
  neighbour_nodes as (
    select distinct c.node_id from considered c
    where not c.is_candidate and not exists (select 1 from ranked_candidates r where r.node_id = c.node_id)),
  -- Their passages, scored like those of candidates.
  neighbour_passages as (
    select n.node_id, p.id as passage_id, p.weights, p.length, 1 - nullif(v.distance, 'NaN') as cosine,
           coalesce(least(1, greatest(0, 1 - nullif(v.distance, 'NaN')) / 0.8), 0) as vector_score,
           least(1, coalesce(-(p.weights operator(pgvector.<#>) query_weights) / best_score, 0)) as text_score,
           sum(p.length) over (partition by n.node_id) as node_length
    from neighbour_nodes n, lateral (
      select q.id, q.weights, q.length from htm.passages q where q.tenant = me and q.node_id = n.node_id and q.live offset 0) p
    left join lateral (
      select scale * (e.embedding operator(pgvector.<=>) query_vector) as distance from (
        select x.space, x.embedding from htm.vectors x
        where space_id is not null and x.tenant = me and x.passage_id = p.id offset 0) e
      where e.space = space_id offset 0) v on true),
  -- Each node with the best of its passages, and a number.
  numbered as materialized (
    select b.*, (row_number() over ())::integer as number from (
      select r.node_id, r.passage_id, r.vector_rank, r.text_rank, r.vector_score, r.text_score, r.weights, r.node_length, r.cosine
      from ranked_candidates r
      where r.node_id in (select c.node_id from considered c)
      union all
      select x.* from (
        select distinct on (p.node_id) p.node_id, p.passage_id, null::bigint, null::bigint, p.vector_score, p.text_score, p.weights,
               p.node_length, p.cosine
        from neighbour_passages p
        order by p.node_id, vector_weight * p.vector_score + (1 - vector_weight) * p.text_score desc, p.passage_id) x) b)
  select n.*, m.*
  into nodes, passages, vector_ranks, text_ranks, cosines, vector_scores, text_scores, weights, node_lengths,
       mention_nodes, owners, sessions, seqs, roles, names, times, in_conversation
  from (
    select array_agg(b.node_id), array_agg(b.passage_id), array_agg(b.vector_rank::integer), array_agg(b.text_rank::integer),
           array_agg(b.cosine), array_agg(b.vector_score), array_agg(b.text_score),
           array_agg(pgvector.sparsevec_send(b.weights)), array_agg(b.node_length::integer)
    from numbered b) n
  cross join (
    select array_agg(b.number), array_agg(c.owner), array_agg(c.session), array_agg(c.seq), array_agg(c.role), array_agg(c.name),
           array_agg(extract(epoch from c.at)::float8), array_agg(c.in_conversation)
    from considered c join numbered b on b.node_id = c.node_id) m;
  -- What only some queries need, each in a statement of its own.
  if filtered then
    passes := array(
      select g.vector_rank is not null or g.text_rank is not null
             or case when allowed_nodes is null then htm.node_matches(g.node_id, f) else g.node_id in (select unnest(allowed_nodes)) end
      from unnest(nodes, vector_ranks, text_ranks) with ordinality g(node_id, vector_rank, text_rank, number) order by g.number);
  end if;
  if phrase_passages is not null then
    phrase_shares := array(
      select coalesce(x.share, 0) from unnest(passages) with ordinality g(passage_id, number)
      left join unnest(phrase_passages, shares) x(id, share) on x.id = g.passage_id order by g.number);
  end if;
  if with_use then
    uses := array(
      select (select 0.05 * s.importance + 0.5 * least(1, ln(1 + s.access_count) / ln(101)) from htm.node_state s
              where s.tenant = me and s.node_id = g.node_id)
      from unnest(nodes) with ordinality g(node_id, number) order by g.number);
  end if;
end $$;

-- Nearest neighbours alone: without words and signals, a hit is as good as its nearest passage, and nothing around it counts. Hits as
-- `recall_hits` gives them, in the order of their rank, with their passages and how near these are.
create or replace function htm.recall_nearest(
  embedding pgvector.halfvec, model text, f htm.conditions, pool integer, max_hits integer, min_score float8)
returns table (
  id uuid, content text, tokens integer, created_at timestamptz, owner text, importance float8, metadata jsonb, access_count bigint,
  accessed_at timestamptz, passage text, passage_length integer, tags text[], keys text[], version integer, mentions json,
  place integer, vector_rank integer, cosine float8)
language plpgsql stable security definer rows 10 set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off set enable_hashagg = off as $$
#variable_conflict use_column
declare
  space htm.vector_spaces;
  found htm.vector_matches;
  scale float8;
  near integer; looked_at integer := 0; hits integer := 0; more integer; shown integer;
begin
  f.owners := htm.owners_in_claim(f.owners);
  space := htm.query_vector_space(model, embedding);
  if space.id is null then return; end if;
  found := htm.vector_search(embedding, space, f, htm.plan_search(f, pool, true), pool, true);
  scale := htm.cosine_scale(space.id);
  if scale <> 1 then found.distances := array(select scale * d from unnest(found.distances) with ordinality x(d, n) order by n); end if;
  -- The nodes are in the order of their nearest passages. What has no direction (NaN) comes last.
  near := coalesce(cardinality(found.nodes), 0);
  while near > 0 and (found.distances[near] = 'NaN' or least(1, greatest(0, 1 - found.distances[near]) / 0.8) < min_score) loop
    near := near - 1;
  end loop;
  -- From the nearest on, until there are enough that were said where the filters look: mostly the first are.
  while hits < max_hits and looked_at < near loop
    more := least(max_hits - hits, near - looked_at);
    return query
    select h.*, looked_at + h.place, 1 - found.distances[looked_at + h.place]
    from htm.recall_hits(found.nodes[looked_at + 1 : looked_at + more], found.passages[looked_at + 1 : looked_at + more], f) h;
    get diagnostics shown = row_count;
    hits := hits + shown; looked_at := looked_at + more;
  end loop;
end $$;

-- All that chosen nodes show as hits, in their order: what they are, the text of the given passage, and the latest mentions that pass the
-- filters. What may not be seen, or has no such mention, is left out.
create or replace function htm.recall_hits(nodes uuid[], passages uuid[], f htm.conditions)
returns table (
  id uuid, content text, tokens integer, created_at timestamptz, owner text, importance float8, metadata jsonb, access_count bigint,
  accessed_at timestamptz, passage text, passage_length integer, tags text[], keys text[], version integer, mentions json,
  place integer)
language plpgsql stable security definer rows 10 set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_hashagg = off as $$
#variable_conflict use_column
declare
  me constant text := htm.this_tenant();
  asked_owners constant text[] := htm.owners_in_claim(f.owners);
begin
  return query
  select h.node_id, n.content, n.tokens, n.created_at, n.owner, s.importance, s.metadata, s.access_count, s.accessed_at,
         coalesce(p.body, nullif(substr(n.content, p.starts + 1, p.stops - p.starts), '')), p.length,
         coalesce((select array_agg(t.tag order by t.tag) from htm.tags t
                   where t.tenant = me and t.node_id = h.node_id and t.explicit), '{}'),
         coalesce(k.names, '{}'), k.version, said.mentions, h.place::integer
  from unnest(recall_hits.nodes, recall_hits.passages) with ordinality h(node_id, passage_id, place)
  cross join lateral (
    select n.content, n.tokens, n.created_at, n.owner from htm.nodes n
    where n.tenant = me and n.id = h.node_id and htm.owner_is_visible(asked_owners, n.owner) offset 0) n
  cross join lateral (
    select s.importance, s.metadata, s.access_count, s.accessed_at from htm.node_state s
    where s.tenant = me and s.node_id = h.node_id offset 0) s
  cross join lateral (
    select q.body, q.starts, q.stops, q.length from htm.passages q where q.tenant = me and q.id = h.passage_id offset 0) p
  cross join lateral (
    select array_agg(k.key order by k.key) as names, max(k.version) as version from htm.keys k
    where k.tenant = me and k.node_id = h.node_id and k.current) k
  cross join lateral (
    select json_agg(json_build_object(
             'id', m.id, 'robot', m.robot, 'session', m.session, 'role', m.role, 'name', m.name, 'seq', m.seq, 'at', m.at,
             'metadata', m.metadata, 'payload', encode(m.payload, 'base64'), 'valid', htm.span_json(m.valid),
             'valid_words', m.valid_words, 'expires_at', m.expires_at, 'source', m.source, 'trust', m.trust,
             'copy_of', m.copy_of)) as mentions
    from (
      select m.* from htm.mentions m
      where m.tenant = me and m.node_id = h.node_id
        and htm.mention_matches(m, asked_owners, f.robots, f.session, f.windows, f.equal, f.metadata,
                                f.as_of, f.valid_at, f.sources, f.min_trust)
      order by m.at desc, m.seq desc limit 20) m) said
  where said.mentions is not null
  order by h.place;
end $$;
