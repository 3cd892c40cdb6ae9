-- Texts as lexemes, BM25 weights and text-search queries.

-- The dimension of a lexeme in a sparse vector: 28 bits of its MD5; no dictionary to keep.
create or replace function lexeme_dimension(lexeme text) returns integer language sql immutable strict parallel safe as
$$ select 1 + ('x' || substr(md5(lexeme), 1, 7))::bit(28)::int $$;

create or replace function bm25_weights(words tsvector, length integer, k1 real, b real, average_length real) returns sparsevec
language sql immutable strict parallel safe set search_path from current as $$
  select ('{' || coalesce(string_agg(d || ':' || w, ',' order by d), '') || '}/268435456')::sparsevec
  from (select lexeme_dimension(u.lexeme) d,
               max((k1 + 1) * tf / (tf + k1 * (1 - b + b * length / greatest(average_length, 1))))::real w
        from unnest(words) u, lateral (select coalesce(array_length(u.positions, 1), 1)::float8 as tf) o group by 1) x
$$;

-- The lexemes of a text. What a language calls noise is kept when there is nothing else, so that every text can be found.
-- Where no stemmer is known, the beginnings of words are lexemes, too, so that inflected forms meet.
create or replace function to_lexemes(config regconfig, body text) returns tsvector language plpgsql immutable strict parallel safe as $$
declare words tsvector := to_tsvector(config, body); bare constant text := left(lower(btrim(body)), 200);
begin
  if config = 'pg_catalog.simple'::regconfig then
    words := words || array_to_tsvector(array(
      select distinct left(l, 4) from unnest(tsvector_to_array(words)) l where length(l) > 4 and l !~ '[0-9]'));
  end if;
  if words = ''::tsvector then words := to_tsvector('simple', body); end if;
  if words = ''::tsvector and bare <> '' then words := array_to_tsvector(array[bare]); end if;
  return words;
end $$;

create or replace function with_prefix(words tsvector, prefix text) returns tsvector language sql immutable strict parallel safe as
$$ select coalesce(array_to_tsvector(array_agg(prefix || l)), ''::tsvector) from unnest(tsvector_to_array(words)) l $$;

create or replace function lexeme_count(words tsvector) returns integer language sql immutable strict parallel safe as
$$ select coalesce(sum(coalesce(array_length(positions, 1), 1)), 0)::int from unnest(words) $$;

-- A lexeme as a query writes it.
create or replace function quote_lexeme(lexeme text) returns text language sql immutable parallel safe as
$$ select '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''' $$;

-- A query for any of these lexemes.
create or replace function any_lexeme(lexemes text[]) returns tsquery language sql immutable strict parallel safe as
$$ select string_agg(quote_lexeme(l), '|')::tsquery from unnest(lexemes) l $$;
