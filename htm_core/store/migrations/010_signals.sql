-- Signals: what else than an arm says that a memory answers a question. The arms bring candidates; the signals look only at
-- those, and at what was said right before and after the best of them.

-- How much each signal counts beside the two arms; 0 switches it off.
create type signals as (context float8, session float8, speaker float8, moment float8, standing float8,
                        corroboration float8);

-- Which of these forms of a name a speaker has, as a whole or as the first part of it.
create index mentions_by_name on mentions (tenant, name collate "C") where name is not null;

create function speakers(forms text[], f filters) returns text[]
language sql stable security definer set search_path from current as $$
  select coalesce(array_agg(form order by length(form) desc, form), '{}') from unnest(forms) form
  where exists (
    select 1 from mentions m
    where m.tenant = this_tenant() and m.name is not null and m.forgotten_at is null
      and m.name collate "C" >= form and m.name collate "C" < form || '!'      -- the sign after the space
      and (f.owners is null or m.owner = any(f.owners)))
$$;

-- Each word of a question alone, heaviest first, so that what passages say can be compared word by word.
create function words_apart(asked question, most integer) returns sparsevec[]
language sql immutable set search_path from current as $$
  select array_agg(('{' || entry || '}/268435456')::sparsevec) from (
    select entry from string_to_table(trim('{}' from split_part((asked.weights)::text, '/', 1)), ',') entry
    order by split_part(entry, ':', 2)::float8 desc, entry limit most) x
$$;

-- Days between a moment and the nearest of some windows of time.
create function days_off(at timestamptz, windows tstzmultirange) returns float8
language sql immutable strict parallel safe as $$
  select extract(epoch from min(case when at < lower(w) then lower(w) - at when at >= upper(w) then at - upper(w)
                                     else interval '0' end)) / 86400
  from unnest(windows) w
$$;

-- How much of its surroundings a text of so many words lives off, and brings to them: brief ones all, long ones little.
create function brevity(length bigint) returns float8 language sql immutable strict parallel safe as $$
  select 1 / (1 + power(length / 50.0::float8, 4))
$$;

-- The share of a question that a passage's words cover, when one word that they share may be chance: up to three tenths, the
-- heaviest does not count before another corroborates it.
create function corroborated(covered float8, heaviest float8, heft float8) returns float8
language sql immutable parallel safe as $$
  select coalesce(greatest(0, least(1, covered) - 0.999 * heft * least(0.3, heaviest)) / (1 - 0.999 * heft * least(0.3, heaviest)), 0)
$$;

-- What the signals make of the arms' candidates. The parts of a hit add up to its score, which is in [0, 1]:
-- (arms + context + sum of weight * signal) / (1 + sum of weights), over the signals that this question asks for.
create function weighed(
  base found[], asked question, meaning halfvec, space integer, f filters, narrow boolean, share float8,
  who text[], moments tstzmultirange, heft signals, widest integer)
returns table (node_id uuid, passage_id uuid, near bigint, told bigint, vector float8, words float8, context float8,
               session float8, speaker float8, moment float8, standing float8)
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  me constant text := this_tenant(); pattern constant sparsevec := asked.weights; best constant float8 := asked.best;
  apart constant sparsevec[] := words_apart(asked, 16);
  told_by constant boolean := cardinality(who) = 1;
  whole constant float8 := 1 + heft.session + case when told_by then heft.speaker else 0 end
                           + case when moments is not null then heft.moment else 0 end + heft.standing;
begin
  return query
  with
  arms as materialized (
    select b.*, row_number() over (order by share * b.vector + (1 - share) * b.words desc, b.node_id) as place
    from unnest(base) b),
  places as materialized (                      -- where the candidates were said
    select a.node_id, a.place, m.id, m.owner, m.session, m.seq, m.name, m.at, m.talk
    from arms a, lateral (
      select m.id, m.owner, m.session, m.seq, m.name, m.at,
             m.role is not null or m.name is not null or m.session <> '' as talk
      from mentions m
      where m.tenant = me and m.node_id = a.node_id and m.forgotten_at is null
        and (f.owners is null or m.owner = any(f.owners))
        and (f.robots is null or m.robot = any(f.robots))
        and (f.session is null or m.session = f.session)
        and (f.windows is null or m.at <@ f.windows)
        and (f.equal is null or m.metadata @> f.equal)
        and (f.metadata is null or matches(m.metadata, f.metadata))
      order by m.at desc limit 3) m),
  around as (                                   -- what was said around the best of them
    select n.* from places p, lateral (
      select m.node_id, m.id, m.owner, m.session, m.seq, m.name, m.at from mentions m
      where m.tenant = me and m.owner = p.owner and m.session = p.session and m.seq between p.seq - 2 and p.seq + 2
        and m.forgotten_at is null and m.node_id is not null and m.id <> p.id
        and (m.role is not null or m.name is not null or m.session <> '') offset 0) n
    where p.place <= widest and p.talk and heft.context > 0 and apart is not null),
  said as materialized (
    select distinct on (s.id) s.* from (
      select p.node_id, p.id, p.owner, p.session, p.seq, p.name, p.at, p.talk, true as fits from places p
      union all
      select n.node_id, n.id, n.owner, n.session, n.seq, n.name, n.at, true, false from around n) s
    order by s.id, s.fits desc),
  others as (select distinct s.node_id from said s where not s.fits and not exists (
    select 1 from arms a where a.node_id = s.node_id)),
  scored as (                                   -- their passages, as the arms would score them
    select o.node_id, p.id, p.weights, coalesce(least(1, greatest(0, 1 - nullif(v.distance, 'NaN')) / 0.8), 0) as vector,
           coalesce(least(1, -(p.weights <#> pattern) / nullif(best, 0)), 0) as words,
           sum(p.length) over (partition by o.node_id) as length
    from others o, lateral (
      select q.id, q.weights, q.length from passages q where q.tenant = me and q.node_id = o.node_id and q.live offset 0) p
    left join lateral (
      select e.embedding <=> meaning as distance from vectors e
      where e.tenant = me and e.space = weighed.space and e.passage_id = p.id offset 0) v on true),
  met as materialized (                         -- each node with the best of its passages
    select a.node_id, a.passage_id, a.near, a.told, a.vector, p.weights, brevity(a.length) as brief
    from arms a, lateral (select q.weights from passages q where q.tenant = me and q.id = a.passage_id offset 0) p
    union all
    select b.* from (
      select distinct on (x.node_id) x.node_id, x.id, null::bigint, null::bigint, x.vector, x.weights, brevity(x.length)
      from scored x order by x.node_id, share * x.vector + (1 - share) * x.words desc, x.id) b),
  heavy as materialized (                       -- each word of the question in the best passage of each
    select m.node_id, m.brief, k.k, -(m.weights <#> k.word) / best as weight
    from met m, unnest(apart) with ordinality k(word, k) where m.weights <#> k.word < 0),
  own as (
    select h.node_id, corroborated(sum(h.weight), max(h.weight), heft.corroboration) as words from heavy h group by 1),
  spread as (                                   -- a word said before or after is heard, a little lower
    select s.owner, s.session, s.seq + o.later as seq, h.k,
           max(h.weight) filter (where o.later = 0) as here,
           max(h.weight * o.loud * h.brief) filter (where o.later <> 0) as near_by
    from said s join heavy h on h.node_id = s.node_id, (values (0, 1.0::float8), (1, 0.9), (2, 0.8), (-1, 0.7)) o(later, loud)
    where s.talk and heft.context > 0 group by 1, 2, 3, 4),
  heard as (
    select x.id, corroborated(sum(x.weight), max(x.weight), heft.corroboration) as words from (
      select s.id, greatest(t.here, heft.context * m.brief * t.near_by) as weight
      from said s join met m on m.node_id = s.node_id
      join spread t on t.owner = s.owner and t.session = s.session and t.seq = s.seq
      where s.talk) x
    group by 1),
  main as materialized (
    select s.*, n.passage_id, n.near, n.told, share * n.vector as v, (1 - share) * coalesce(w.words, 0) as w,
           (1 - share) * greatest(0, coalesce(h.words, 0) - coalesce(w.words, 0)) as c
    from said s join met n on n.node_id = s.node_id
    left join own w on w.node_id = s.node_id left join heard h on h.id = s.id),
  sittings as (
    select x.owner, x.session, avg(x.v + x.w + x.c) as s from (
      select m.*, row_number() over (partition by m.owner, m.session order by m.v + m.w + m.c desc) as r
      from main m where m.session <> '' and heft.session > 0) x
    where x.r <= 2 group by 1, 2),
  summed as (
    select m.*, heft.session * coalesce(t.s, m.v + m.w + m.c) as s,
           case when told_by and (m.name = who[1] or starts_with(m.name, who[1] || ' ')) then heft.speaker else 0 end as p,
           case when moments is not null then heft.moment * exp(-days_off(m.at, moments) / 7) else 0 end as d
    from main m left join sittings t on t.owner = m.owner and t.session = m.session),
  chosen as (
    select distinct on (x.node_id) x.* from summed x
    order by x.node_id, x.v + x.w + x.c + x.s + x.p + x.d desc, x.at desc)
  select c.node_id, c.passage_id, c.near, c.told, c.v / whole, c.w / whole, c.c / whole, c.s / whole, c.p / whole,
         c.d / whole, heft.standing * coalesce((
           select 0.05 * n.importance + 0.5 * least(1, ln(1 + n.access_count) / ln(101)) from node_state n
           where heft.standing > 0 and n.tenant = me and n.node_id = c.node_id), 0) / whole
  from chosen c where exists (select 1 from arms a where a.node_id = c.node_id) or not narrow or fits(c.node_id, f);
end $$;

-- Recall: the arms' candidates, weighed. `pool` candidates an arm, `most` hits; `share` is the vector's weight beside the
-- words'; `who` are the speakers that the question names, `moments` the times.
create function recall(
  asked text, meaning halfvec, model text, f filters, pool integer, most integer, share float8, lowest float8,
  who text[], moments tstzmultirange, heft signals)
returns table (node_id uuid, score float8, vector_rank bigint, text_rank bigint, passage_id uuid, vector_part float8,
               text_part float8, context_part float8, session_part float8, speaker_part float8, time_part float8,
               standing_part float8)
language plpgsql stable security definer rows 10 set search_path from current set jit = off as $$
declare space spaces; terms question; base found[]; portion float8 := share;
begin
  if meaning is not null then space := space_of(model, meaning); end if;
  if asked is not null then terms := weigh(asked); end if;
  if space.id is null then portion := 0; elsif terms.weights is null then portion := 1; end if;
  base := array(select c from candidates(terms, meaning, space, f, pool, portion) c);
  return query
  select w.node_id, w.total, w.near, w.told, w.passage_id, w.vector, w.words, w.context, w.session, w.speaker, w.moment, w.standing
  from (select x.*, x.vector + x.words + x.context + x.session + x.speaker + x.moment + x.standing as total
        from weighed(base, terms, meaning, space.id, f, f.tags is not null or asks_of_mentions(f), portion, who, moments, heft,
                     greatest(40, most)) x) w
  where w.total > 0 and w.total >= lowest order by w.total desc, w.node_id limit most;
end $$;
