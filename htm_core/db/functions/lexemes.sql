-- Texts as lexemes, BM25 weights and text-search queries.

-- The dimension of a lexeme in a sparse vector: 28 bits of its MD5; no dictionary to keep.
create or replace function htm.lexeme_dimension(lexeme text) returns integer language sql immutable strict parallel safe
begin atomic
  select 1 + ('x' || substr(md5(lexeme), 1, 7))::bit(28)::int;
end;

create or replace function htm.bm25_weights(words tsvector, length integer, k1 real, b real, average_length real) returns pgvector.sparsevec
language sql immutable strict parallel safe
begin atomic
  select ('{' || coalesce(string_agg(d || ':' || w, ',' order by d), '') || '}/268435456')::pgvector.sparsevec
  from (select htm.lexeme_dimension(u.lexeme) d,
               max((k1 + 1) * tf / (tf + k1 * (1 - b + b * length / greatest(average_length, 1))))::real w
        from unnest(words) u, lateral (select coalesce(array_length(u.positions, 1), 1)::float8 as tf) o group by 1) x;
end;

-- A text without the accents of Latin and Greek letters: "Öberg" and "Oberg", "Straße" and "Strasse" become the same. So do Arabic
-- with and without vowel marks, hamza on its carrier and the long stroke, with the Persian forms of its letters; Hebrew with and without
-- points; Hindi with and without its nukta; katakana and hiragana; and the digits of Arabic and Hindi. Where a mark makes another letter
-- ("й", "が") it stays; only "ё" is often typed as "е". ASCII, which most texts are, comes back as it is.
create or replace function htm.fold_accents(body text) returns text language sql immutable strict parallel safe
begin atomic
  select case when octet_length(body) = length(body) then body else
    normalize(regexp_replace(regexp_replace(
      replace(replace(replace(replace(replace(replace(replace(replace(
        translate(normalize(body, NFKD), 'øØłŁđĐðÐħĦıŧŦ'
          'ٱىیةک٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९'
          'ァアィイゥウェエォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナニヌネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロヮワヰヱヲンヴヵヶヽヾ',
          'oOlLdDdDhHitT'
          'اييهك012345678901234567890123456789'
          'ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんゔゕゖゝゞ'),
        'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'AE'), 'œ', 'oe'), 'Œ', 'OE'), 'þ', 'th'), 'Þ', 'TH'),
      '([A-Za-z\u0370-\u03ff\u0435\u0415])[\u0300-\u036f]+', '\1', 'g'),
      '[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u093c]+',
      '', 'g'), NFC) end;
end;

-- The words of a text that has accents, each as a lexeme without them, as the lexeme of how it is written, and with its place.
--
-- Accents go before the stemmer comes: many leave them out ("reparees"), and then both forms have one stem. What is noise with its
-- accents ("für", "été") is left out, and what would be noise without them ("té", "dès") stays.
create or replace function htm.fold_words(config regconfig, body text, plain text)
returns table (lexeme text, as_written text, place integer) language sql immutable strict parallel safe
begin atomic
  select coalesce(p.lexeme, htm.fold_accents(w.lexeme)), w.lexeme, at::integer
  from unnest(to_tsvector(config, body)) w cross join unnest(w.positions) at
  left join (select x.lexeme, y as place from unnest(to_tsvector(config, plain)) x, unnest(x.positions) y) p on p.place = at;
end;

-- Where no stemmer is known, the beginning of a word is a lexeme, too, so that inflected forms meet; null where there is none.
create or replace function htm.word_beginning(config regconfig, lexeme text) returns text language sql immutable strict parallel safe
begin atomic
  select left(lexeme, 4) where config = 'pg_catalog.simple'::regconfig and length(lexeme) > 4 and lexeme !~ '[0-9]';
end;

-- The lexemes of a text, without accents. What a language calls noise is kept when there is nothing else, so that every text can be
-- found.
create or replace function htm.to_lexemes(config regconfig, body text) returns tsvector language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare words tsvector; plain constant text := htm.fold_accents(body); bare constant text := left(lower(btrim(plain)), 200);
begin
  if plain = body then
    words := to_tsvector(config, body);
  else
    select coalesce(string_agg(htm.quote_lexeme(w.lexeme) || ':' || w.place, ' '), '')::tsvector into words
    from htm.fold_words(config, body, plain) w;
  end if;
  if config = 'pg_catalog.simple'::regconfig then
    words := words || array_to_tsvector(array(
      select distinct b from unnest(tsvector_to_array(words)) l, htm.word_beginning(config, l) b where b is not null));
  end if;
  if words = ''::tsvector then words := to_tsvector('simple', plain); end if;
  if words = ''::tsvector and bare <> '' then words := array_to_tsvector(array[bare]); end if;
  return words;
end $$;

-- The lexemes of a query as they are indexed, each with its first place. `as_written` is the lexeme with its accents, where that is
-- another: so it was indexed before accents were folded, and so it is found until `htm reindex` has renewed it.
create or replace function htm.query_lexemes(config regconfig, body text) returns table (lexeme text, as_written text, place integer)
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare plain constant text := htm.fold_accents(body); words constant tsvector := htm.to_lexemes(config, body);
begin
  if plain = body then
    return query select w.lexeme, null::text, coalesce(w.positions[1], 1)::integer from unnest(words) w;
    return;
  end if;
  return query
  with folded as materialized (select f.lexeme, f.as_written from htm.fold_words(config, body, plain) f),
  written as (
    select f.lexeme, f.as_written from folded f
    union all
    select htm.word_beginning(config, f.lexeme), htm.word_beginning(config, f.as_written) from folded f)
  select w.lexeme, (select max(x.as_written) from written x where x.lexeme = w.lexeme and x.as_written <> w.lexeme),
         coalesce(w.positions[1], 1)::integer
  from unnest(words) w;
end $$;

create or replace function htm.with_prefix(words tsvector, prefix text) returns tsvector language sql immutable strict parallel safe
begin atomic
  select coalesce(array_to_tsvector(array_agg(prefix || l)), ''::tsvector) from unnest(tsvector_to_array(words)) l;
end;

create or replace function htm.lexeme_count(words tsvector) returns integer language sql immutable strict parallel safe
begin atomic
  select coalesce(sum(coalesce(array_length(positions, 1), 1)), 0)::int from unnest(words);
end;

-- A lexeme as a query writes it.
create or replace function htm.quote_lexeme(lexeme text) returns text language sql immutable parallel safe
begin atomic
  select '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''';
end;

-- Stored lexemes and their weights without accents, as `to_lexemes` would index the same words today. A word keeps its weight.
create or replace function htm.without_accents(words tsvector, weights pgvector.sparsevec, config regconfig, prefix text)
returns table (new_lexemes tsvector, new_weights pgvector.sparsevec) language sql immutable strict parallel safe
begin atomic
  with renamed as (
    select l as before, prefix || coalesce(case when cardinality(s.stems) = 1 then s.stems[1] end, s.plain) as after
    from unnest(tsvector_to_array($1)) l,
         lateral (select substr(l, length(prefix) + 1) as word) w,
         lateral (select htm.fold_accents(w.word) as plain) f,
         lateral (select f.plain, case when f.plain <> w.word then tsvector_to_array(to_tsvector(config, f.plain)) end as stems) s),
  entries as (
    select split_part(e, ':', 1)::integer as dimension, split_part(e, ':', 2)::real as weight
    from regexp_split_to_table(substring($2::text from '\{(.*)\}'), ',') e where e <> ''),
  moved as (
    select coalesce(htm.lexeme_dimension(substr(r.after, length(prefix) + 1)), e.dimension) as dimension, max(e.weight) as weight
    from entries e left join renamed r on r.after <> r.before and htm.lexeme_dimension(substr(r.before, length(prefix) + 1)) = e.dimension
    group by 1)
  select (select array_to_tsvector(array_agg(distinct r.after)) from renamed r),
         (select ('{' || coalesce(string_agg(m.dimension || ':' || m.weight, ',' order by m.dimension), '') || '}/268435456')::pgvector.sparsevec
          from moved m);
end;

-- A query for any of these lexemes.
create or replace function htm.any_lexeme(lexemes text[]) returns tsquery language sql immutable strict parallel safe
begin atomic
  select string_agg(htm.quote_lexeme(l), '|')::tsquery from unnest(lexemes) l;
end;
