-- Recall: the candidates of both arms, `pool` of each, scored by both, and what the signals make of the best `pool`; `most` hits, and
-- what a hit shows. Scores are normalised absolutely, so that they compare between questions: a cosine counts in full from 0.8,
-- words against the best that any passage could score for this question. `share` is the vector's weight beside the words';
-- `who` are the speakers that the question names, `moments` the times. The parts of a hit add up to its score, which is in
-- [0, 1]: (arms + context + sum of weight * signal) / (1 + sum of weights), over the signals that this question asks for.
create or replace function recall(
  asked text, meaning halfvec, model text, f filters, pool integer, most integer, share float8, lowest float8,
  who text[], moments tstzmultirange, heft signal_weights)
returns table (
  id uuid, score float8, vector_rank bigint, text_rank bigint, vector_part float8, text_part float8, context_part float8,
  tags_part float8, session_part float8, speaker_part float8, time_part float8, prior_part float8, content text, tokens integer,
  created_at timestamptz, owner text, importance float8, metadata jsonb, access_count bigint, accessed_at timestamptz,
  passage text, tags text[], keys text[], version integer, mentions jsonb)
language plpgsql stable security definer rows 10 set search_path from current
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off as $$
#variable_conflict use_column
declare
  me constant text := this_tenant(); space vector_spaces; way search_plan; terms weighted_query; near vector_matches; told uuid[];
  part float8 := share; within integer; pattern sparsevec; best float8; apart sparsevec[]; lex lexicon; beginnings text[];
  allowed uuid[];
  narrow constant boolean := f.tags is not null or filters_mentions(f);
  owners constant text[] := f.owners; robots constant text[] := f.robots; within_session constant text := f.session;
  windows constant tstzmultirange := f.windows; equal constant jsonb := f.equal; filter constant jsonb := f.metadata;
  named constant text := case when cardinality(who) = 1 then who[1] end;
  kept constant integer := greatest(pool, most);          -- of the candidates of both arms so many go on
  widest constant integer := greatest(20, most);          -- of so many it is looked at what was said around them
  whole constant float8 := 1 + heft.session + case when named is not null then heft.speaker else 0 end
                           + case when moments is not null then heft.time else 0 end + heft.prior;
begin
  if meaning is not null then space := query_vector_space(model, meaning); within := space.id; end if;
  if asked is not null then terms := weigh_query(asked); pattern := terms.weights; end if;
  if within is null then part := 0; elsif pattern is null then part := 1; end if;
  best := nullif(terms.best_score, 0); apart := terms.top_terms;
  if heft.tags > 0 and pattern is not null and exists (select 1 from tags g where g.tenant = me) then
    select * into lex from lexicon l where l.tenant = me;
    -- What begins no word of the question is left out before it is cut: most tags are.
    beginnings := array(select '%' || substr(l, length(lex.prefix) + 1, 3) || '%' from unnest(terms.lexemes) l);
  end if;
  way := plan_search(f, pool); allowed := way.node_ids;
  if within is not null then near := vector_search(meaning, space, f, way, pool); end if;
  if pattern is not null then told := text_search(terms, f, way, pool); end if;
  return query
  with
  brought as (
    select coalesce(a.n, b.n) as n, a.place as near, b.place as told, a.p, a.d
    from unnest(near.nodes, near.passages, near.distances) with ordinality a(n, p, d, place)
    full join unnest(told) with ordinality b(n, place) on b.n = a.n),
  parts as (
    select r.n, r.near, r.told, p.id as p, p.weights, w.t,
           case when p.id is distinct from r.p and v.d is null then w.t   -- what waits for its vector means what its words say
                else coalesce(least(1, greatest(0, 1 - nullif(coalesce(v.d, r.d), 'NaN')) / 0.8), 0) end as v,   -- zeroes have none
           sum(p.length) over (partition by r.n) as length
    from brought r, lateral (
      select q.id, q.weights, q.length from passages q where q.tenant = me and q.node_id = r.n offset 0) p
    left join lateral (
      select e.embedding <=> meaning as d from vectors e
      where e.tenant = me and e.space = within and e.passage_id = p.id and p.id is distinct from r.p offset 0) v on true
    cross join lateral (select coalesce(greatest(0, least(1, -(p.weights <#> pattern) / best)), 0) as t) w),
  arms as materialized (                        -- a node scores by its best passage
    select x.*, row_number() over (order by x.main desc, x.n) as place from (
      select distinct on (y.n) y.*, part * y.v + (1 - part) * y.t as main from parts y
      order by y.n, part * y.v + (1 - part) * y.t desc, y.p) x
    where x.main > 0),
  places as materialized (                      -- where the candidates were said
    select a.n, a.place, m.id, m.owner, m.session, m.seq, m.name, m.at, m.talk
    from arms a, lateral (
      select m.id, m.owner, m.session, m.seq, m.name, m.at,
             m.role is not null or m.name is not null or m.session <> '' as talk
      from mentions m
      where m.tenant = me and m.node_id = a.n and m.forgotten_at is null and owner_is_visible(owners, m.owner)
        and (robots is null or m.robot = any(robots))
        and (within_session is null or m.session = within_session)
        and (windows is null or m.at <@ windows)
        and (equal is null or m.metadata @> equal)
        and (filter is null or matches(m.metadata, filter))
      order by m.at desc limit 3) m
    where a.place <= kept),
  around as (                                   -- what was said around the best of them
    select n.* from places p, lateral (
      select m.node_id as n, m.id, m.owner, m.session, m.seq, m.name, m.at from mentions m
      where m.tenant = me and m.owner = p.owner and m.session = p.session and m.seq between p.seq - 2 and p.seq + 2
        and m.forgotten_at is null and m.node_id is not null and m.id <> p.id
        and (m.role is not null or m.name is not null or m.session <> '') offset 0) n
    where p.place <= widest and p.talk and heft.context > 0 and apart is not null),
  said as materialized (
    select distinct on (s.id) s.* from (
      select p.n, p.id, p.owner, p.session, p.seq, p.name, p.at, p.talk, true as fits from places p
      union all
      select n.n, n.id, n.owner, n.session, n.seq, n.name, n.at, true, false from around n) s
    order by s.id, s.fits desc),
  others as (select distinct s.n from said s where not s.fits and not exists (select 1 from arms a where a.n = s.n)),
  scored as (                                   -- their passages, as the arms would score them
    select o.n, p.id as p, p.weights, coalesce(least(1, greatest(0, 1 - nullif(v.distance, 'NaN')) / 0.8), 0) as v,
           coalesce(least(1, -(p.weights <#> pattern) / best), 0) as t, sum(p.length) over (partition by o.n) as length
    from others o, lateral (
      select q.id, q.weights, q.length from passages q where q.tenant = me and q.node_id = o.n and q.live offset 0) p
    left join lateral (
      select e.embedding <=> meaning as distance from vectors e
      where e.tenant = me and e.space = within and e.passage_id = p.id offset 0) v on true),
  met as materialized (                         -- each node with the best of its passages
    select a.n, a.p, a.near, a.told, a.v, a.t, a.weights, context_share(a.length) as brief, true as brought from arms a
    where a.n in (select s.n from said s)
    union all
    select b.* from (
      select distinct on (x.n) x.n, x.p, null::bigint, null::bigint, x.v, x.t, x.weights, context_share(x.length), false
      from scored x order by x.n, part * x.v + (1 - part) * x.t desc, x.p) b),
  heavy as materialized (                       -- each word of the question in the best passage of each
    select m.n, m.brief, k.k, -(m.weights <#> k.word) / best as weight
    from met m, unnest(apart) with ordinality k(word, k) where m.t > 0 and m.weights <#> k.word < 0),
  own as (
    select h.n, corroborated_coverage(sum(h.weight), max(h.weight), heft.corroboration) as words from heavy h group by 1),
  spread as (                                   -- a word said before or after is heard, a little lower
    select s.owner, s.session, s.seq + o.later as seq, h.k,
           max(h.weight) filter (where o.later = 0) as here,
           max(h.weight * o.loud * h.brief) filter (where o.later <> 0) as near_by
    from said s join heavy h on h.n = s.n, (values (0, 1.0::float8), (1, 0.9), (2, 0.8), (-1, 0.7)) o(later, loud)
    where s.talk and heft.context > 0 group by 1, 2, 3, 4),
  hearing as materialized (
    select s.id, t.k, greatest(t.here, heft.context * m.brief * t.near_by) as weight
    from said s join met m on m.n = s.n
    join spread t on t.owner = s.owner and t.session = s.session and t.seq = s.seq
    where s.talk),
  heard as (
    select x.id, corroborated_coverage(sum(x.weight), max(x.weight), heft.corroboration) as words from hearing x group by 1),
  wordings as materialized (                    -- the words of the question as they stand in tags
    select x.word, k.k, -(k.word <#> x.alone) / best as weight
    from (select w as word, ('{' || lexeme_dimension(w) || ':1}/268435456')::sparsevec as alone
          from unnest(terms.lexemes) l, substr(l, length(lex.prefix) + 1) w) x, unnest(apart) with ordinality k(word, k)
    where beginnings is not null and k.word <#> x.alone < 0),
  marked as materialized (                      -- tags say what a text is about: their words are heard, lower still
    select s.id, s.n, w.k, heft.tags * w.weight as weight
    from arms a
    cross join lateral (
      select string_agg(translate(g.tag, ':-_', '   '), ' ') as words from tags g
      where g.tenant = me and g.node_id = a.n and g.explicit and g.tag like any(beginnings) offset 0) x
    cross join lateral unnest(to_tsvector(lex.config, x.words)) u
    join wordings w on w.word = u.lexeme join said s on s.n = a.n
    where beginnings is not null and a.place <= widest),
  filed as (
    select x.id, corroborated_coverage(sum(x.weight), max(x.weight), heft.corroboration) as words from (
      select y.id, y.k, max(y.weight) as weight from (
        select m.id, m.k, m.weight from marked m
        union all
        select m.id, h.k, h.weight from (select distinct m.id, m.n from marked m) m join heavy h on h.n = m.n
        union all
        select h.id, h.k, h.weight from hearing h where h.id in (select m.id from marked m)) y
      where y.weight > 0 group by 1, 2) x
    where beginnings is not null group by 1),
  main as materialized (
    select s.*, m.p, m.near, m.told, m.brought, part * m.v as v, (1 - part) * coalesce(w.words, 0) as w,
           (1 - part) * greatest(0, coalesce(h.words, 0) - coalesce(w.words, 0)) as c,
           (1 - part) * greatest(0, coalesce(g.words, 0) - greatest(h.words, w.words, 0)) as g
    from said s join met m on m.n = s.n
    left join own w on w.n = s.n left join heard h on h.id = s.id left join filed g on g.id = s.id),
  sittings as (
    select x.owner, x.session, avg(x.v + x.w + x.c + x.g) as s from (
      select m.*, row_number() over (partition by m.owner, m.session order by m.v + m.w + m.c + m.g desc) as r
      from main m where m.session <> '' and heft.session > 0) x
    where x.r <= 2 group by 1, 2),
  summed as (
    select m.*, heft.session * coalesce(t.s * sqrt(least(1, (m.v + m.w + m.c + m.g) / nullif(t.s, 0))), m.v + m.w + m.c + m.g) as s,
           case when m.name = named or starts_with(m.name, named || ' ') then heft.speaker else 0 end as l,
           case when moments is not null then heft.time * exp(-days_outside(m.at, moments) / 7) else 0 end as d
    from main m left join sittings t on t.owner = m.owner and t.session = m.session),
  chosen as (
    select distinct on (x.n) x.* from summed x order by x.n, x.v + x.w + x.c + x.g + x.s + x.l + x.d desc, x.at desc),
  weighed as (
    select c.*, heft.prior * coalesce((
             select 0.05 * n.importance + 0.5 * least(1, ln(1 + n.access_count) / ln(101)) from node_state n
             where heft.prior > 0 and n.tenant = me and n.node_id = c.n), 0) as i
    from chosen c where c.brought or not narrow
       or case when allowed is null then node_matches(c.n, f) else c.n in (select unnest(allowed)) end offset 0),
  hits as materialized (
    select x.* from (select y.*, (y.v + y.w + y.c + y.g + y.s + y.l + y.d + y.i) / whole as total from weighed y) x
    where x.total > 0 and x.total >= lowest order by x.total desc, x.n limit most)
  select h.n, h.total, h.near, h.told, h.v / whole, h.w / whole, h.c / whole, h.g / whole, h.s / whole, h.l / whole,
         h.d / whole, h.i / whole,
         n.content, n.tokens, n.created_at, n.owner, t.importance, t.metadata, t.access_count, t.accessed_at,
         (select coalesce(p.body, nullif(substr(n.content, p.starts + 1, p.stops - p.starts), '')) from passages p
          where p.tenant = me and p.id = h.p),
         coalesce((select array_agg(g.tag order by g.tag) from tags g
                   where g.tenant = me and g.node_id = h.n and g.explicit), '{}'),
         coalesce(k.names, '{}'), k.version,
         (select coalesce(jsonb_agg(jsonb_build_object(
                   'id', m.id, 'robot', m.robot, 'session', m.session, 'role', m.role, 'name', m.name, 'seq', m.seq, 'at', m.at,
                   'metadata', m.metadata, 'payload', encode(m.payload, 'base64')) order by m.at desc, m.seq desc), '[]')
          from (
            select m.* from mentions m
            where m.tenant = me and m.node_id = h.n and m.forgotten_at is null and owner_is_visible(owners, m.owner)
              and (robots is null or m.robot = any(robots))
              and (within_session is null or m.session = within_session)
              and (windows is null or m.at <@ windows)
              and (equal is null or m.metadata @> equal)
              and (filter is null or matches(m.metadata, filter))
            order by m.at desc, m.seq desc limit 20) m)
  from hits h
  cross join lateral (
    select n.content, n.tokens, n.created_at, n.owner from nodes n where n.tenant = me and n.id = h.n offset 0) n
  cross join lateral (
    select t.importance, t.metadata, t.access_count, t.accessed_at from node_state t
    where t.tenant = me and t.node_id = h.n offset 0) t
  cross join lateral (
    select array_agg(k.key order by k.key) as names, max(k.version) as version from keys k
    where k.tenant = me and k.node_id = h.n and k.current) k
  order by h.total desc, h.n;
end $$;
