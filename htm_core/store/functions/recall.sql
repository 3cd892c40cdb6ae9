-- Recall: the hits for a query, with all that a hit shows, in one round trip.
--
-- The vector search and the text search bring `pool` candidates each. Each candidate is scored by both, and the signals add to the
-- score of the best. A score does not depend on what else was found, so that scores compare between queries: a cosine counts in full
-- from 0.8, words count against the best score that any passage could have for this query.
--
-- `words` is what words are found by, `embedding` the vector; either may be null. `vector_share` is the weight of the vector beside
-- the words. `speakers` and `moments` are the speakers and the times that the query names, `phrases` what it quotes: where some
-- passage has a phrase, all phrases count as much as all words. `forms` are the words of the query that may be names: each hit says
-- which of them are speakers' (`known_speakers`), since who asks can only guess `speakers` before. The parts of a hit add up to its score,
-- which is in [0, 1]: (vector + text + context + tags + sum of weight * signal) / (1 + sum of weights), over the signals that this
-- query can have.
--
-- `ranking` has the weights of the ranker (rules/ranking.py says of what), `trait_weights` those of the traits of a passage, one a bit. What
-- they weigh to is added to the score, which stays in [0, 1]. Without `ranking` it is 0. `features`, if `explained`, is what was weighed.
create or replace function htm.recall(
  words text, embedding pgvector.halfvec, model text, f htm.conditions, pool integer, max_hits integer, vector_share float8, min_score float8,
  speakers text[], moments tstzmultirange, signals htm.signal_weights, phrases text[] default null,
  forms text[] default null, ranking float8[] default null, trait_weights float8[] default null, explained boolean default false)
returns table (
  id uuid, score float8, vector_rank bigint, text_rank bigint, vector_part float8, text_part float8, context_part float8,
  tags_part float8, session_part float8, speaker_part float8, time_part float8, prior_part float8, content text, tokens integer,
  created_at timestamptz, owner text, importance float8, metadata jsonb, access_count bigint, accessed_at timestamptz,
  passage text, tags text[], keys text[], version integer, mentions jsonb, cosine float8, word_coverage float8,
  matched_words bigint, query_words bigint, passage_length integer, known_speakers text[], ranker_part float8, features float8[])
language plpgsql stable security definer rows 10 set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off set enable_hashagg = off as $$
#variable_conflict use_column
-- Vectors are looked up by their passage alone, and their space is compared afterwards: where there are no statistics yet, an index by
-- tenant and space promises one row, as the primary key does, and has all of the tenant's.
declare
  me constant text := htm.this_tenant();
  query_vector constant pgvector.halfvec := embedding;
  filtered constant boolean := f.tags is not null or htm.filters_mentions(f);
  owners constant text[] := htm.owners_in_claim(f.owners);     -- of the owners that are asked for, those that may be seen
  robots constant text[] := f.robots;
  only_session constant text := f.session;
  windows constant tstzmultirange := f.windows;
  metadata_equal constant jsonb := f.equal;
  metadata_filter constant jsonb := f.metadata;
  one_speaker constant text := case when cardinality(speakers) = 1 then speakers[1] end;
  kept constant integer := greatest(pool, max_hits);            -- so many candidates of both searches go on
  with_context constant integer := greatest(15, max_hits);      -- and for so many of them, what was said around them is read
  total_weight constant float8 := 1 + signals.session + case when one_speaker is not null then signals.speaker else 0 end
                                  + case when moments is not null then signals.time else 0 end + signals.prior;
  vector_weight float8 := vector_share;
  space htm.vector_spaces;
  space_id integer;
  plan htm.search_plan;
  allowed_nodes uuid[];
  query_terms htm.weighted_query;
  query_weights pgvector.sparsevec;
  best_score float8;
  top_terms pgvector.sparsevec[];
  vector_hits htm.vector_matches;
  text_hits uuid[];
  phrase_nodes uuid[];
  phrase_passages uuid[];
  phrase_shares float8[];
  lex htm.lexicon;
  tag_patterns text[];
  known_speakers text[];
  standing uuid[];
begin
  f.owners := owners;
  if cardinality(forms) > 0 then known_speakers := htm.matching_speakers(forms, f); end if;
  if query_vector is not null then space := htm.query_vector_space(model, query_vector); space_id := space.id; end if;
  if words is not null then query_terms := htm.weigh_query(words); query_weights := query_terms.weights; end if;
  if space_id is null then vector_weight := 0; elsif query_weights is null then vector_weight := 1; end if;
  best_score := nullif(query_terms.best_score, 0);
  top_terms := query_terms.top_terms;
  if signals.tags > 0 and query_weights is not null and exists (select 1 from htm.tags t where t.tenant = me) then
    select * into lex from htm.lexicon l where l.tenant = me;
    -- A tag in which no word begins like a word of the query is left out before it is cut into lexemes: most are.
    tag_patterns := array(select '%' || substr(l, length(lex.prefix) + 1, 3) || '%' from unnest(query_terms.lexemes) l);
  end if;
  plan := htm.plan_search(f, pool, words is null);
  allowed_nodes := plan.node_ids;
  if space_id is not null then vector_hits := htm.vector_search(query_vector, space, f, plan, pool, words is null); end if;
  if query_weights is not null then text_hits := htm.text_search(query_terms, f, plan, pool); end if;
  if cardinality(phrases) > 0 and query_weights is not null then
    select array_agg(p.node_id), array_agg(p.passage_id), array_agg(p.share) into phrase_nodes, phrase_passages, phrase_shares
    from htm.phrase_search(phrases, f, plan, coalesce(vector_hits.nodes, '{}') || coalesce(text_hits, '{}')) p;
    if phrase_nodes is not null then
      best_score := 2 * best_score;
      text_hits := text_hits || array(select distinct n from unnest(phrase_nodes) n where (n = any(text_hits)) is not true);
    end if;
  end if;
  -- Whoever asks for advice wants what was said once and for all, however far its words are from the question.
  if ranking is not null and trait_weights[9] + trait_weights[12] >= 0.1 and space_id is not null then
    standing := htm.standing_search(query_vector, space_id, owners, 10);
  end if;
  -- Nearest neighbours alone: without words and signals, a hit is as good as its nearest passage, and nothing around it counts. The
  -- statement below would find the same with many times the steps.
  if words is null and space_id is not null and signals.session = 0 and signals.speaker = 0 and signals.time = 0 and signals.prior = 0 then
    return query
    with
    -- The nodes are in the order of their nearest passages. The best that were said where the filters look: mentions are looked up from
    -- the nearest on, until there are enough.
    hits as materialized (
      select r.* from (
        select c.node_id, c.passage_id, c.rank, 1 - nullif(c.distance, 'NaN') as cosine,
               least(1, greatest(0, 1 - nullif(c.distance, 'NaN')) / 0.8) as score
        from unnest(vector_hits.nodes, vector_hits.passages, vector_hits.distances)
             with ordinality c(node_id, passage_id, distance, rank) order by c.rank offset 0) r
      where r.cosine is not null and r.score >= min_score and exists (
        select from htm.mentions m where m.tenant = me and m.node_id = r.node_id
          and htm.mention_matches(m, owners, robots, only_session, windows, metadata_equal, metadata_filter,
                                  f.as_of, f.valid_at, f.sources, f.min_trust) offset 0)
      limit max_hits)
    select h.node_id, h.score, h.rank, null::bigint, h.score, 0::float8, 0::float8, 0::float8, 0::float8, 0::float8, 0::float8, 0::float8,
           n.content, n.tokens, n.created_at, n.owner, s.importance, s.metadata, s.access_count, s.accessed_at,
           coalesce(p.body, nullif(substr(n.content, p.starts + 1, p.stops - p.starts), '')),
           coalesce((select array_agg(t.tag order by t.tag) from htm.tags t
                     where t.tenant = me and t.node_id = h.node_id and t.explicit), '{}'),
           coalesce(k.names, '{}'), k.version,
           (select coalesce(jsonb_agg(jsonb_build_object(
                     'id', m.id, 'robot', m.robot, 'session', m.session, 'role', m.role, 'name', m.name, 'seq', m.seq, 'at', m.at,
                     'metadata', m.metadata, 'payload', encode(m.payload, 'base64')) || htm.mention_origin(m) order by m.at desc, m.seq desc), '[]')
            from (
              select m.* from htm.mentions m
              where m.tenant = me and m.node_id = h.node_id
                and htm.mention_matches(m, owners, robots, only_session, windows, metadata_equal, metadata_filter,
                                  f.as_of, f.valid_at, f.sources, f.min_trust)
              order by m.at desc, m.seq desc limit 20) m),
           h.cosine, 0::float8, 0::bigint, null::bigint, p.length, known_speakers, 0::float8, null::float8[]
    from hits h
    cross join lateral (
      select q.body, q.starts, q.stops, q.length from htm.passages q where q.tenant = me and q.id = h.passage_id offset 0) p
    cross join lateral (
      select n.content, n.tokens, n.created_at, n.owner from htm.nodes n
      where n.tenant = me and n.id = h.node_id and htm.owner_is_visible(owners, n.owner) offset 0) n
    cross join lateral (
      select s.importance, s.metadata, s.access_count, s.accessed_at from htm.node_state s
      where s.tenant = me and s.node_id = h.node_id offset 0) s
    cross join lateral (
      select array_agg(k.key order by k.key) as names, max(k.version) as version from htm.keys k
      where k.tenant = me and k.node_id = h.node_id and k.current) k
    order by h.rank;
    return;
  end if;
  return query
  with
  -- The nodes that either search found, with their rank there, and the passage that was nearest to the vector.
  candidates as (
    select coalesce(v.node_id, t.node_id) as node_id, v.rank as vector_rank, t.rank as text_rank, v.passage_id, v.distance
    from unnest(vector_hits.nodes, vector_hits.passages, vector_hits.distances)
         with ordinality v(node_id, passage_id, distance, rank)
    full join unnest(text_hits) with ordinality t(node_id, rank) on t.node_id = v.node_id
    union all
    select n, null, null, null, null from unnest(standing) n
    where n <> all(coalesce(vector_hits.nodes, '{}')) and n <> all(coalesce(text_hits, '{}'))),
  -- Every passage of the candidates, scored by its vector and by its words, each in [0, 1].
  candidate_passages as (
    select c.node_id, c.vector_rank, c.text_rank, p.id as passage_id, p.weights, p.length, p.traits, w.text_score,
           1 - nullif(case when p.id is distinct from c.passage_id then v.distance else c.distance end, 'NaN') as cosine,
           case when p.id is distinct from c.passage_id and v.distance is null
                then least(1, w.text_score / 0.75)  -- it still waits for its vector: words that cover all stand for a cosine of about 0.5
                else coalesce(least(1, greatest(0, 1 - nullif(coalesce(v.distance, c.distance), 'NaN')) / 0.8), 0)  -- NaN: a vector of zeroes
           end as vector_score,
           sum(p.length) over (partition by c.node_id) as node_length
    from candidates c, lateral (
      select q.id, q.weights, q.length, q.traits from htm.passages q where q.tenant = me and q.node_id = c.node_id offset 0) p
    left join lateral (
      select e.embedding operator(pgvector.<=>) query_vector as distance from (
        select x.space, x.embedding from htm.vectors x
        where x.tenant = me and x.passage_id = p.id and p.id is distinct from c.passage_id offset 0) e
      where e.space = space_id offset 0) v on true
    cross join lateral (
      select greatest(0, least(1, coalesce(-(p.weights operator(pgvector.<#>) query_weights) / best_score, 0)))
             + case when phrase_passages is null then 0 else coalesce((
                 select x.share / 2 from unnest(phrase_passages, phrase_shares) x(id, share) where x.id = p.id), 0) end as text_score) w),
  -- Each candidate with the best of its passages, and its place among all.
  ranked_candidates as materialized (
    select b.*, row_number() over (order by b.fused_score desc, b.cosine desc nulls last, b.node_id) as place from (
      select distinct on (p.node_id) p.*,
             vector_weight * p.vector_score + (1 - vector_weight) * p.text_score as fused_score
      from candidate_passages p
      order by p.node_id, vector_weight * p.vector_score + (1 - vector_weight) * p.text_score desc, p.cosine desc nulls last,
               p.passage_id) b
    where b.fused_score > 0 or (words is null and b.cosine is not null)    -- the nearest by vector are hits however far they are
       or b.node_id = any(standing)),
  -- Where the candidates were said: their latest mentions that pass the filters.
  candidate_mentions as materialized (
    select r.node_id, r.place, r.node_length, m.id, m.owner, m.session, m.seq, m.role, m.name, m.at, m.in_conversation
    from ranked_candidates r, lateral (
      select m.id, m.owner, m.session, m.seq, m.role, m.name, m.at,
             m.role is not null or m.name is not null or m.session <> '' as in_conversation
      from htm.mentions m
      where m.tenant = me and m.node_id = r.node_id
        and htm.mention_matches(m, owners, robots, only_session, windows, metadata_equal, metadata_filter,
                                  f.as_of, f.valid_at, f.sources, f.min_trust)
      order by m.at desc limit 3) m
    where r.place <= kept or r.node_id = any(standing)),
  -- What was said up to two messages before and after the best of them. A long text neither takes from it nor gives to it.
  neighbours as (
    select n.* from candidate_mentions c, lateral (
      select m.node_id, m.id, m.owner, m.session, m.seq, m.role, m.name, m.at from htm.mentions m
      where m.tenant = me and m.owner = c.owner and m.session = c.session and m.seq between c.seq - 2 and c.seq + 2
        and m.forgotten_at is null and (m.expires_at is null or m.expires_at > coalesce(f.as_of, htm.memory_time()))
        and (f.as_of is null or m.at <= f.as_of)
        and m.node_id is not null and m.id <> c.id
        and (m.role is not null or m.name is not null or m.session <> '') offset 0) n
    where c.place <= with_context and c.in_conversation and signals.context > 0 and top_terms is not null
      and htm.context_share(c.node_length) > 0.01),
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
    select n.node_id, p.id as passage_id, p.weights, p.length, p.traits, 1 - nullif(v.distance, 'NaN') as cosine,
           coalesce(least(1, greatest(0, 1 - nullif(v.distance, 'NaN')) / 0.8), 0) as vector_score,
           least(1, coalesce(-(p.weights operator(pgvector.<#>) query_weights) / best_score, 0)) as text_score,
           sum(p.length) over (partition by n.node_id) as node_length
    from neighbour_nodes n, lateral (
      select q.id, q.weights, q.length, q.traits from htm.passages q where q.tenant = me and q.node_id = n.node_id and q.live offset 0) p
    left join lateral (
      select e.embedding operator(pgvector.<=>) query_vector as distance from (
        select x.space, x.embedding from htm.vectors x where x.tenant = me and x.passage_id = p.id offset 0) e
      where e.space = space_id offset 0) v on true),
  -- Each node with the best of its passages, and how much it takes from and gives to what stands around it.
  best_passages as materialized (
    select r.node_id, r.passage_id, r.vector_rank, r.text_rank, r.vector_score, r.text_score, r.weights, r.length, r.traits, r.cosine,
           htm.context_share(r.node_length) as context_share, r.vector_rank is not null or r.text_rank is not null as was_found
    from ranked_candidates r
    where r.node_id in (select c.node_id from considered c)
    union all
    select b.* from (
      select distinct on (p.node_id) p.node_id, p.passage_id, null::bigint, null::bigint, p.vector_score, p.text_score, p.weights,
             p.length, p.traits, p.cosine, htm.context_share(p.node_length), false
      from neighbour_passages p
      order by p.node_id, vector_weight * p.vector_score + (1 - vector_weight) * p.text_score desc, p.passage_id) b),
  -- How much each of the query's heaviest terms counts in the best passage of each node, as a share of the best score.
  node_terms as materialized (
    select b.node_id, b.context_share, query_vector is not null and b.cosine is null as by_words_alone, t.term,
           -(b.weights operator(pgvector.<#>) t.vector) / best_score as weight
    from best_passages b, unnest(top_terms) with ordinality t(vector, term)
    where b.text_score > 0 and b.weights operator(pgvector.<#>) t.vector < 0
    union all
    select b.node_id, b.context_share, query_vector is not null and b.cosine is null, 0,
           x.share / 2                                               -- the phrases, as one more term
    from unnest(phrase_passages, phrase_shares) x(id, share) join best_passages b on b.passage_id = x.id),
  -- How much of the query the words of a node cover. Where there is no vector, nothing else can corroborate a lone word: it counts.
  node_coverage as (
    select t.node_id, htm.corroborated_coverage(sum(t.weight), max(t.weight),
                                            case when bool_or(t.by_words_alone) then 0 else signals.corroboration end) as covered,
           count(*) filter (where t.term > 0) as matched
    from node_terms t group by 1),
  -- The terms at each position of a conversation: as said there, and as said up to two messages before or one after, a little lower.
  position_terms as (
    select c.owner, c.session, c.seq + o.distance as seq, t.term,
           max(t.weight) filter (where o.distance = 0) as own_weight,
           max(t.weight * o.loudness * t.context_share) filter (where o.distance <> 0) as nearby_weight
    from considered c join node_terms t on t.node_id = c.node_id,
         (values (0, 1.0::float8), (1, 0.9), (2, 0.8), (-1, 0.7)) o(distance, loudness)
    where c.in_conversation and signals.context > 0 group by 1, 2, 3, 4),
  -- The terms of each mention, with what stands around it.
  mention_terms as materialized (
    select c.id, t.term, greatest(t.own_weight, signals.context * b.context_share * t.nearby_weight) as weight
    from considered c join best_passages b on b.node_id = c.node_id
    join position_terms t on t.owner = c.owner and t.session = c.session and t.seq = c.seq
    where c.in_conversation),
  -- How much of the query a mention covers together with what stands around it.
  context_coverage as (
    select t.id, htm.corroborated_coverage(sum(t.weight), max(t.weight), signals.corroboration) as covered
    from mention_terms t group by 1),
  -- The words of the query as they stand in tags, with the term and the weight of each.
  query_words as materialized (
    select w.word, t.term, -(t.vector operator(pgvector.<#>) w.vector) / best_score as weight
    from (select word, ('{' || htm.lexeme_dimension(word) || ':1}/268435456')::pgvector.sparsevec as vector
          from unnest(query_terms.lexemes) lexeme, substr(lexeme, length(lex.prefix) + 1) word) w,
         unnest(top_terms) with ordinality t(vector, term)
    where tag_patterns is not null and t.vector operator(pgvector.<#>) w.vector < 0),
  -- The query's terms in the tags of the best candidates: tags say what a text is about, and count lower than its own words.
  tag_terms as materialized (
    select c.id, c.node_id, w.term, signals.tags * w.weight as weight
    from ranked_candidates r
    cross join lateral (
      select string_agg(translate(t.tag, ':-_', '   '), ' ') as text from htm.tags t
      where t.tenant = me and t.node_id = r.node_id and t.explicit and htm.fold_accents(t.tag) like any(tag_patterns) offset 0) tag
    cross join lateral unnest(htm.to_lexemes(lex.config, tag.text)) u
    join query_words w on w.word = u.lexeme join considered c on c.node_id = r.node_id
    where tag_patterns is not null and r.place <= with_context),
  -- How much of the query a mention covers together with its surroundings and the tags of its node.
  tag_coverage as (
    select best.id, htm.corroborated_coverage(sum(best.weight), max(best.weight), signals.corroboration) as covered from (
      select a.id, a.term, max(a.weight) as weight from (
        select t.id, t.term, t.weight from tag_terms t
        union all
        select t.id, n.term, n.weight from (select distinct t.id, t.node_id from tag_terms t) t
        join node_terms n on n.node_id = t.node_id
        union all
        select m.id, m.term, m.weight from mention_terms m where m.id in (select t.id from tag_terms t)) a
      where a.weight > 0 group by 1, 2) best
    where tag_patterns is not null group by 1),
  -- Each mention with the parts of its score that come from the vector, its words, what stands around it, and its tags.
  mention_parts as materialized (
    select c.*, b.passage_id, b.vector_rank, b.text_rank, b.was_found, b.cosine, b.vector_score, b.text_score as word_coverage, b.length,
           b.traits,
           n.matched, vector_weight * b.vector_score as vector_part,
           (1 - vector_weight) * coalesce(n.covered, 0) as text_part,
           (1 - vector_weight) * greatest(0, coalesce(x.covered, 0) - coalesce(n.covered, 0)) as context_part,
           (1 - vector_weight) * greatest(0, coalesce(t.covered, 0) - greatest(x.covered, n.covered, 0)) as tags_part
    from considered c join best_passages b on b.node_id = c.node_id
    left join node_coverage n on n.node_id = c.node_id
    left join context_coverage x on x.id = c.id
    left join tag_coverage t on t.id = c.id),
  -- How well a session answers: the mean of its two best mentions.
  session_scores as (
    select m.owner, m.session, avg(m.vector_part + m.text_part + m.context_part + m.tags_part) as score from (
      select p.*, row_number() over (
               partition by p.owner, p.session order by p.vector_part + p.text_part + p.context_part + p.tags_part desc) as place
      from mention_parts p where p.session <> '' and signals.session > 0) m
    where m.place <= 2 group by 1, 2),
  -- Each mention with the parts of its session, its speaker and its time.
  mention_signals as (
    select p.*,
           signals.session * coalesce(
             s.score * sqrt(least(1, (p.vector_part + p.text_part + p.context_part + p.tags_part) / nullif(s.score, 0))),
             p.vector_part + p.text_part + p.context_part + p.tags_part) as session_part,
           case when p.name = one_speaker or starts_with(p.name, one_speaker || ' ') then signals.speaker else 0 end as speaker_part,
           case when moments is not null then signals.time * exp(-least(htm.days_outside(p.at, moments) / 7, 100)) else 0 end as time_part
    from mention_parts p left join session_scores s on s.owner = p.owner and s.session = p.session),
  -- Each node by the best of its mentions.
  best_mentions as (
    select distinct on (m.node_id) m.* from mention_signals m
    order by m.node_id, m.vector_part + m.text_part + m.context_part + m.tags_part + m.session_part + m.speaker_part + m.time_part desc,
             m.at desc),
  -- With what is known of the node whatever the query: its importance and its use. Neighbours must pass the filters, too.
  node_parts as (
    select b.*, signals.prior * coalesce((
             select 0.05 * n.importance + 0.5 * least(1, ln(1 + n.access_count) / ln(101)) from htm.node_state n
             where signals.prior > 0 and n.tenant = me and n.node_id = b.node_id), 0) as prior_part
    from best_mentions b where b.was_found or not filtered
       or case when allowed_nodes is null then htm.node_matches(b.node_id, f)
               else b.node_id in (select unnest(allowed_nodes)) end offset 0),
  -- Each node with the score that these parts give it, and its place by that score.
  scored as (
    select p.*, row_number() over (order by p.score desc, p.cosine desc nulls last, p.node_id) as score_place from (
      select n.*, (n.vector_part + n.text_part + n.context_part + n.tags_part + n.session_part + n.speaker_part + n.time_part
                   + n.prior_part) / total_weight as score
      from node_parts n) p),
  -- What the ranker weighs, in the order of its weights: how the node stands among the others, what it has in common with the query,
  -- what stands beside it, and who said it. It was learned from conversations: where none was found it has nothing to say.
  weighed as (
    select s.*, max(s.score) over () - s.score as below_best,
           0.8 * s.vector_score as nearness,
           coalesce(s.vector_score / nullif(max(s.vector_score) over (), 0), 0) as nearness_of_best,
           coalesce(s.word_coverage / nullif(max(s.word_coverage) over (), 0), 0) as coverage_of_best,
           coalesce(s.matched::float8 / nullif(cardinality(query_terms.lexemes), 0), 0) as share_of_words,
           (s.vector_rank is null)::integer as by_words_alone,
           (s.text_rank is null)::integer as by_vector_alone,
           ln(s.score_place::float8) as log_place,
           1 / s.score_place::float8 as first_places,
           sum(1 / s.score_place::float8) over conversation * s.in_conversation::integer as hits_of_conversation,
           count(*) over conversation * s.in_conversation::integer as count_of_conversation,
           case when s.in_conversation and lag(s.seq) over in_order = s.seq - 1 then lag(s.score) over in_order else 0 end as said_before,
           case when s.in_conversation and lead(s.seq) over in_order = s.seq + 1 then lead(s.score) over in_order else 0 end as said_after,
           (s.role is not distinct from 'user')::integer as by_user,
           (s.role is not distinct from 'assistant')::integer as by_assistant,
           ranking is not null and bool_or(s.in_conversation) over () as is_ranked
    from scored s
    window conversation as (partition by s.owner, s.session), in_order as (partition by s.owner, s.session order by s.seq)),
  ranked as (
    select w.*, case when not w.is_ranked then 0 else
             ranking[1] * w.below_best + ranking[2] * w.nearness + ranking[3] * w.nearness_of_best + ranking[4] * w.word_coverage
             + ranking[5] * w.coverage_of_best + ranking[6] * w.share_of_words + ranking[7] * w.by_words_alone
             + ranking[8] * w.by_vector_alone + ranking[9] * w.log_place + ranking[10] * w.first_places
             + (ranking[11] * w.context_part + ranking[12] * w.speaker_part + ranking[13] * w.time_part) / total_weight
             + ranking[14] * w.hits_of_conversation + ranking[15] * w.count_of_conversation + ranking[16] * w.said_before
             + ranking[17] * w.said_after + ranking[18] * w.by_user + ranking[19] * w.by_assistant
             + case when w.traits is null then 0 else
               (w.traits & 1) * trait_weights[1] + (w.traits >> 1 & 1) * trait_weights[2] + (w.traits >> 2 & 1) * trait_weights[3]
               + (w.traits >> 3 & 1) * trait_weights[4] + (w.traits >> 4 & 1) * trait_weights[5] + (w.traits >> 5 & 1) * trait_weights[6]
               + (w.traits >> 6 & 1) * trait_weights[7] + (w.traits >> 7 & 1) * trait_weights[8] + (w.traits >> 8 & 1) * trait_weights[9]
               + (w.traits >> 9 & 1) * trait_weights[10] + (w.traits >> 10 & 1) * trait_weights[11]
               + (w.traits >> 11 & 1) * trait_weights[12] end end as ranker_part
    from weighed w),
  -- The best of them. What counts against a node leaves it a tenth of its score: nothing that was found looks like what a copy is worth.
  -- Scores are equal from a cosine of 0.8 on: the nearer comes first.
  hits as materialized (
    select r.*, x.final_score from ranked r
    cross join lateral (select least(1, greatest(r.score / 10, r.score + r.ranker_part)) as final_score) x
    where (r.score > 0 or words is null or (r.node_id = any(standing) and x.final_score > 0)) and x.final_score >= min_score
    order by x.final_score desc, r.score + r.ranker_part desc, r.cosine desc nulls last, r.node_id limit max_hits)
  select h.node_id, h.final_score, h.vector_rank, h.text_rank, h.vector_part / total_weight, h.text_part / total_weight,
         h.context_part / total_weight, h.tags_part / total_weight, h.session_part / total_weight, h.speaker_part / total_weight,
         h.time_part / total_weight, h.prior_part / total_weight,
         n.content, n.tokens, n.created_at, n.owner, s.importance, s.metadata, s.access_count, s.accessed_at,
         (select coalesce(p.body, nullif(substr(n.content, p.starts + 1, p.stops - p.starts), '')) from htm.passages p
          where p.tenant = me and p.id = h.passage_id),
         coalesce((select array_agg(t.tag order by t.tag) from htm.tags t
                   where t.tenant = me and t.node_id = h.node_id and t.explicit), '{}'),
         coalesce(k.names, '{}'), k.version,
         (select coalesce(jsonb_agg(jsonb_build_object(
                   'id', m.id, 'robot', m.robot, 'session', m.session, 'role', m.role, 'name', m.name, 'seq', m.seq, 'at', m.at,
                   'metadata', m.metadata, 'payload', encode(m.payload, 'base64')) || htm.mention_origin(m) order by m.at desc, m.seq desc), '[]')
          from (
            select m.* from htm.mentions m
            where m.tenant = me and m.node_id = h.node_id
              and htm.mention_matches(m, owners, robots, only_session, windows, metadata_equal, metadata_filter,
                                  f.as_of, f.valid_at, f.sources, f.min_trust)
            order by m.at desc, m.seq desc limit 20) m),
         h.cosine, h.word_coverage, coalesce(h.matched, 0), cardinality(query_terms.lexemes)::bigint, h.length::integer, known_speakers,
         h.final_score - h.score, case when explained and h.is_ranked then array[
           h.below_best, h.nearness, h.nearness_of_best, h.word_coverage, h.coverage_of_best, h.share_of_words, h.by_words_alone,
           h.by_vector_alone, h.log_place, h.first_places, h.context_part / total_weight, h.speaker_part / total_weight,
           h.time_part / total_weight, h.hits_of_conversation, h.count_of_conversation, h.said_before, h.said_after, h.by_user,
           h.by_assistant, h.traits]::float8[] end
  from hits h
  cross join lateral (
    select n.content, n.tokens, n.created_at, n.owner from htm.nodes n
    where n.tenant = me and n.id = h.node_id and htm.owner_is_visible(owners, n.owner) offset 0) n
  cross join lateral (
    select s.importance, s.metadata, s.access_count, s.accessed_at from htm.node_state s
    where s.tenant = me and s.node_id = h.node_id offset 0) s
  cross join lateral (
    select array_agg(k.key order by k.key) as names, max(k.version) as version from htm.keys k
    where k.tenant = me and k.node_id = h.node_id and k.current) k
  order by h.final_score desc, h.score + h.ranker_part desc, h.cosine desc nulls last, h.node_id;
end $$;
