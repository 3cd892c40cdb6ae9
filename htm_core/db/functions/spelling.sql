-- Words of a question that no memory has, and the words of memories that are one typing error away from them.
--
-- No index of spellings is kept: one error makes some fifty words for each letter of a word, and the index of lexemes says which of
-- them there are. That costs a question with such a word some milliseconds, and writing nothing.

-- All words that are one typing error away: a letter left out, added, or another, two letters that changed places, and what sounds alike.
-- The letters are those of the word's script, without accents.
create or replace function htm.one_error_away(word text) returns table (variant text)
language sql immutable strict parallel safe rows 400
begin atomic
  with letters as (
    select l as letter from regexp_split_to_table(
      case when word ~ '[a-z]' then 'abcdefghijklmnopqrstuvwxyz' when word ~ '[а-яёіїєґ]' then 'абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ'
           when word ~ '[α-ω]' then 'αβγδεζηθικλμνξοπρσςτυφχψω' when word ~ '[א-ת]' then 'אבגדהוזחטיכךלמםנןסעפףצץקרשת' else '' end, '') l
    where l <> ''),
  places as (select i from generate_series(0, length(word)) i)
  select left(word, i) || substr(word, i + 2) from places where i < length(word)
  union select left(word, i) || substr(word, i + 2, 1) || substr(word, i + 1, 1) || substr(word, i + 3) from places where i < length(word) - 1
  union select left(word, i) || letter || substr(word, i + 2) from places, letters where i < length(word)
  union select left(word, i) || letter || substr(word, i + 1) from places, letters
  union
  select left(word, i) || sounds.likewise || substr(word, i + 1 + length(sounds.alike))
  from places, (values ('f', 'ph'), ('ph', 'f'), ('k', 'ck'), ('c', 'ch'), ('kw', 'qu'), ('n', 'kn'), ('s', 'sc'), ('ks', 'x'), ('cs', 'x'), ('x', 'cs'),
                ('u', 'ou'), ('o', 'au'), ('u', 'oo'), ('oo', 'u'), ('ee', 'ea'), ('ea', 'ee'), ('ie', 'y'), ('y', 'ie'), ('sion', 'tion'), ('tion', 'sion'),
                ('shun', 'tion'), ('us', 'ous'), ('j', 'dg'), ('i', 'igh'), ('w', 'wh'), ('t', 'th'), ('r', 'rh')) sounds(alike, likewise)
  where substr(word, i + 1, length(sounds.alike)) = sounds.alike;
end;

-- At most so many passages of the tenant that have some of these lexemes, and not exactly those of a question. By the index of lexemes and
-- by nothing else: as part of a longer statement, and with a limit, it was planned as a read of all passages of all tenants, for each of
-- which hundreds of lexemes were put together again. 5.2 s a word beside 30,000 passages of others, where the index takes 7 ms.
create or replace function htm.passages_with(some_of tsquery, question tsvector, most integer)
returns table (node_id uuid, owner text, live boolean, starts integer, stops integer, body text, lexemes tsvector)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off as $$
#variable_conflict use_column
declare me constant text := htm.this_tenant();
begin
  return query
  select p.node_id, p.owner, p.live, p.starts, p.stops, p.body, p.lexemes from (
    select q.tenant, q.node_id, q.owner, q.live, q.starts, q.stops, q.body, q.lexemes
    from htm.passages q where q.lexemes @@ some_of offset 0) p
  where p.tenant = me and p.lexemes <> question limit most;
end $$;

-- Whether something that may be a hit has these lexemes. All hits are `among` these nodes, where they are known. What has exactly the
-- words of the question is the question itself, which was perhaps just said. Mostly one of the first passages may be a hit; of a common
-- word a thousand are looked at, then so many of the owners' as are worth reading.
create or replace function htm.occurs(lexemes tsquery, question tsvector, f htm.conditions, among uuid[]) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict error
declare
  me constant text := htm.this_tenant(); many constant integer := 1000; few constant integer := 5000;
  most integer; found boolean; looked_at bigint;
begin
  foreach most in array array[4, many] loop
    with having_them as materialized (select p.* from htm.passages_with(occurs.lexemes, question, most) p)
    select
      exists (
        select from having_them h
        where (among is null or h.node_id = any(among)) and htm.may_be_hit(h.node_id, h.owner, h.live, f)),
      (select count(*) from having_them)
    into found, looked_at;
    if found or looked_at < most then return found; end if;
  end loop;
  return f.owners is not null and exists (
    select from (
      select p.owner, p.live, p.node_id, p.lexemes from htm.passages p where p.tenant = me and p.owner = any(f.owners) limit few) p
    where (among is null or p.node_id = any(among)) and p.lexemes @@ occurs.lexemes and htm.may_be_hit(p.node_id, p.owner, p.live, f)
      and p.lexemes <> question);
end $$;

-- In how many passages of what may be a hit these lexemes are, of at most so many that have them.
create or replace function htm.count_occurrences(lexemes tsquery, question tsvector, f htm.conditions, among uuid[])
returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare most constant integer := 200;
begin
  return (
    select count(*) from (
      select p.* from (
        select q.tenant, q.owner, q.live, q.node_id, q.lexemes from htm.passages q where q.lexemes @@ count_occurrences.lexemes offset 0) p
      where p.tenant = htm.this_tenant() limit most) p
    where (among is null or p.node_id = any(among)) and htm.may_be_hit(p.node_id, p.owner, p.live, f) and p.lexemes <> question);
end $$;

-- Whether a passage's node may be a hit: its owner may be seen, and some mention of it passes the filters.
create or replace function htm.may_be_hit(node uuid, owner text, live boolean, f htm.conditions) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
  return (live or f.as_of is not null) and htm.owner_is_visible(f.owners, owner) and (f.tags is null or htm.node_matches(node, f)) and exists (
    select from htm.mentions m
    where m.tenant = htm.this_tenant() and m.node_id = node
      and htm.mention_matches(m, f.owners, f.robots, f.session, f.windows, f.equal, f.metadata, f.as_of, f.valid_at, f.sources, f.min_trust));
end $$;

-- Whether somebody of this name, or with it as the first, says something that may be a hit.
create or replace function htm.speaks(form text, f htm.conditions) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare me constant text := htm.this_tenant(); many constant integer := 200;
begin
  return exists (
    select from (
      select m.* from htm.mentions m
      where m.tenant = me and m.name is not null and m.name collate "C" >= form and m.name collate "C" < form || '!'
      order by m.name collate "C" limit many) m
    where htm.mention_matches(m, f.owners, f.robots, f.session, f.windows, f.equal, f.metadata, f.as_of, f.valid_at, f.sources, f.min_trust));
end $$;

-- The first lexeme of a single word without accents; null where it is noise.
create or replace function htm.lexeme_of(config regconfig, word text) returns text language sql immutable strict parallel safe
begin atomic
  select (tsvector_to_array(to_tsvector(config, word)))[1];
end;

-- Of words of a question, those that nothing has that may be a hit, each with what something has instead, and about how often: words one
-- error away, and the same letters as two words or with a hyphen. Of `joined`, each two words of the question that may be one, those
-- that are mostly written as one. Null where nothing is to be said.
--
-- What only others have counts for nothing here, so the answer says nothing of what may not be seen; but a word that thousands of the
-- tenant's passages have is none that is misspelt.
create or replace function htm.similar_words(words text, doubtful text[], joined text[], f htm.conditions) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
declare
  me constant text := htm.this_tenant();
  few constant integer := 2000;                 -- below so many passages no lexeme is counted beforehand, as in `weigh_query`
  longest constant integer := 64;               -- a longer word is not looked for: all that is one error away would be too much
  many constant integer := 100;                 -- a speaker's name counts like a word of so many passages
  at_once constant integer := 32;
  lex htm.lexicon; among uuid[]; most integer; has_names boolean; question tsvector; word text; stem text; answer jsonb; others jsonb;
begin
  select * into lex from htm.lexicon l where l.tenant = me;
  if not found then return null; end if;
  f.owners := htm.owners_in_claim(f.owners);
  most := case when lex.documents >= few then 200 else few end;     -- so many passages with the rarer of the words are looked at
  question := htm.with_prefix(htm.to_lexemes(lex.config, words), lex.prefix);
  -- An index has the nodes with such metadata. Where they are few, nobody need look through thousands of passages for one of theirs.
  if f.equal is not null then among := htm.filtered_nodes(f, most); end if;
  -- A rare spelling weighs more than a common one: it is searched for where it is the commoner.
  if cardinality(joined) > 0 and htm.occurs(htm.any_lexeme(array(
      select lex.prefix || htm.lexeme_of(lex.config, replace(j, ' ', '')) from unnest(joined) j)), question, f, among) then
    select jsonb_object_agg(w.words, '{}'::jsonb) into answer
    from (select j as words, htm.quote_lexeme(lex.prefix || htm.lexeme_of(lex.config, replace(j, ' ', '')))::tsquery as as_one,
                 (select string_agg(htm.quote_lexeme(lex.prefix || l), '&') from unnest(tsvector_to_array(to_tsvector(lex.config, j))) l)::tsquery
                 as as_two
          from unnest(joined) j) w,
         lateral (select htm.count_occurrences(w.as_one, question, f, among) as as_one,
                         htm.count_occurrences(w.as_two, question, f, among) as as_two) c
    where c.as_one > 0 and c.as_one >= c.as_two;
  end if;
  foreach word in array doubtful loop
    stem := htm.lexeme_of(lex.config, htm.fold_accents(word));
    -- That the tenant has it often says nothing: it may be another user who has it.
    continue when stem is null or length(word) > longest;
    continue when htm.occurs(htm.quote_lexeme(lex.prefix || stem)::tsquery, question, f, among);
    continue when htm.speaks(initcap(word), f);
    has_names := coalesce(has_names, exists (select from htm.mentions m where m.tenant = me and m.name is not null));
    with
    variants as materialized (
      select v.variant, lex.prefix || htm.lexeme_of(lex.config, v.variant) as lexeme
      from htm.one_error_away(htm.fold_accents(word)) v where length(v.variant) >= 3),
    -- In parts of so many, since a search for any of n lexemes takes n * n steps before it begins.
    counted as materialized (
      select v.lexeme, (select c.documents from htm.lexeme_counts c
                        where lex.documents >= few and c.tenant = me and c.lexeme = substr(v.lexeme, length(lex.prefix) + 1)) as documents,
             row_number() over () / at_once as part
      from (select distinct x.lexeme from variants x where x.lexeme is not null) v),
    parts as materialized (
      select array_agg(c.lexeme) as lexemes, htm.any_lexeme(array_agg(c.lexeme)) as some_of
      from counted c where c.documents is null group by c.part),
    known as materialized (
      select c.lexeme, c.documents from counted c
      where c.documents is not null and htm.occurs(htm.quote_lexeme(c.lexeme)::tsquery, question, f, among)
      union all
      select u.lexeme, count(*) from parts s cross join lateral htm.passages_with(s.some_of, question, most) p
      cross join lateral unnest(tsvector_to_array(p.lexemes)) u(lexeme)
      where u.lexeme = any(s.lexemes) and (among is null or p.node_id = any(among)) and htm.may_be_hit(p.node_id, p.owner, p.live, f)
      group by 1)
    -- A stemmer makes a known lexeme of many a word that is none ("solveing"): so of each it is said how many letters follow the lexeme.
    select coalesce(jsonb_object_agg(x.variant, jsonb_build_array(x.documents, x.rest) order by x.rest), '{}') into others from (
      select v.variant, k.documents, length(v.variant) - length(v.stem) as rest
      from known k join (select y.*, substr(y.lexeme, length(lex.prefix) + 1) as stem from variants y) v on v.lexeme = k.lexeme
      where starts_with(v.variant, v.stem)
      union all
      select v.variant, many, 0 from (
        select y.variant, y.form from (select z.variant, initcap(z.variant) as form from variants z where has_names) y
        where (
          select true from htm.mentions m
          where m.tenant = me and m.name is not null and m.name collate "C" >= y.form and m.name collate "C" < y.form || '!'
          order by m.name collate "C" limit 1) offset 0) v
      where htm.speaks(v.form, f)) x;
    answer := coalesce(answer, '{}') || jsonb_build_object(word, others || htm.in_two_words(word, lex, question, most, f, among));
  end loop;
  return answer;
end $$;

-- How something writes a word as two or with a hyphen ("drop down" for "dropdown"), as in `similar_words`.
create or replace function htm.in_two_words(word text, lex htm.lexicon, question tsvector, most integer, f htm.conditions, among uuid[])
returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare me constant text := htm.this_tenant(); parts tsquery; pattern text;
begin
  if length(word) < 4 or word !~ '^[[:alpha:]]+$' then return '{}'; end if;
  -- Noise is in no index: of "down" in "drop down" it is the other part that is looked up.
  select string_agg('(' || concat_ws('&', htm.quote_lexeme(lex.prefix || s.one), htm.quote_lexeme(lex.prefix || s.other)) || ')', '|')::tsquery,
         '(?:' || string_agg(s.first || '[\s-]' || s.second, '|') || ')' into parts, pattern
  from (select left(word, i) as first, substr(word, i + 1) as second, htm.lexeme_of(lex.config, htm.fold_accents(left(word, i))) as one,
               htm.lexeme_of(lex.config, htm.fold_accents(substr(word, i + 1))) as other
        from generate_series(2, length(word) - 2) i) s
  where coalesce(s.one, s.other) is not null and length(concat(s.one, s.other)) > 2;
  if parts is null then return '{}'; end if;
  return (
    select coalesce(jsonb_object_agg(w.written, jsonb_build_array(w.count, 0)), '{}') from (
      select lower(x.written) as written, count(*) as count from (
        select substring(coalesce(p.body, substr(n.content, p.starts + 1, p.stops - p.starts)) from '(?i)\m' || pattern || '\M') as written
        from (
          select * from htm.passages_with(parts, question, most)) p
        join htm.nodes n on n.tenant = me and n.id = p.node_id
        where (among is null or p.node_id = any(among)) and htm.may_be_hit(p.node_id, p.owner, p.live, f)) x
      where x.written is not null group by 1) w);
end $$;
