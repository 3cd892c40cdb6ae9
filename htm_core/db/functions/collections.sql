-- Collections: documents and their search.

-- A tenant's collection by its name, made when it is new. With a model, that of its first vectors becomes the collection's
-- for good; the caller compares. The row stays locked against clearing until the transaction ends.
create or replace function htm.ensure_collection(collection_name text, language regconfig, model text, dims integer) returns htm.collections
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); wanted integer; taken htm.collections;
begin
  if not exists (select 1 from htm.collections c where c.tenant = me and c.name = collection_name) then
    insert into htm.tenants (tenant) values (me) on conflict do nothing;
    insert into htm.collections (tenant, name, config)
    values (me, collection_name, coalesce((select l.config from htm.lexicon l where l.tenant = me), language))
    on conflict do nothing;
  end if;
  if model is not null then
    select s.id into wanted from htm.vector_spaces s where s.name = model and s.dimension = dims;
    if wanted is null then
      insert into htm.vector_spaces (name, dimension) values (model, dims) on conflict (name, dimension) do nothing;
      select s.id into wanted from htm.vector_spaces s where s.name = model and s.dimension = dims;
    end if;
  end if;
  loop
    if model is not null then
      update htm.collections c set space = wanted where c.tenant = me and c.name = collection_name and c.space is null;
    end if;
    select * into taken from htm.collections c where c.tenant = me and c.name = collection_name for share;
    exit when model is null or taken.space is not null;     -- else it was cleared in between
  end loop;
  return taken;
end $$;

-- The labels of a JSON array, in order.
create or replace function htm.labels_from_json(labels jsonb) returns text[] language sql immutable strict parallel safe
begin atomic
  select coalesce(array_agg(label order by place), '{}') from jsonb_array_elements_text(labels) with ordinality u(label, place);
end;

-- The first namespace after all that begin with these labels: in C order nothing lies between a text and that text followed
-- by U+0001.
create or replace function htm.namespace_upper_bound(labels text[]) returns text[] language sql immutable strict parallel safe
begin atomic
  select labels[:cardinality(labels) - 1] || (labels[cardinality(labels)] || e'\x01');
end;

-- Whether a namespace begins, or ends, with these labels; '*' stands for any one label.
create or replace function htm.namespace_begins_with(namespace text[], labels text[]) returns boolean language sql immutable strict parallel safe
begin atomic
  select cardinality(namespace) >= cardinality(labels) and not exists (
    select 1 from unnest(labels) with ordinality u(label, place) where label <> '*' and label <> namespace[place]);
end;

create or replace function htm.namespace_ends_with(namespace text[], labels text[]) returns boolean language sql immutable strict parallel safe
begin atomic
  select cardinality(namespace) >= cardinality(labels)
     and htm.namespace_begins_with(namespace[cardinality(namespace) - cardinality(labels) + 1:], labels);
end;

create or replace function htm.md5_of(texts text[]) returns text[] language sql immutable strict parallel safe
begin atomic
  select coalesce(array_agg(md5(u)), '{}') from unnest(texts) u;
end;

-- Passages that are to be inserted, as columns: of the two vectors each has one, or none.
create or replace function htm.unnest_passages(
  documents uuid[], ordinals integer[], bodies text[], embeddings pgvector.halfvec[], exacts pgvector.vector[])
returns table (document uuid, ordinal integer, body text, embedding pgvector.halfvec, exact pgvector.vector)
language sql immutable parallel safe
begin atomic
  select * from unnest(documents, ordinals, bodies, embeddings, exacts);
end;

-- The same from a backup, in which their words and their weights are known.
create or replace function htm.passages_from_json(passages jsonb)
returns table (ordinal integer, length integer, words jsonb, weights pgvector.sparsevec, embedding pgvector.halfvec,
               exact pgvector.vector)
language sql stable parallel safe
begin atomic
  select * from jsonb_to_recordset(passages) as p(
    ordinal integer, length integer, words jsonb, weights pgvector.sparsevec, embedding pgvector.halfvec, exact pgvector.vector);
end;

-- The length that a collection's passages are weighed against, in lexeme occurrences: the mean of a sample, between which
-- and 40 a new collection moves as if it had begun with twenty passages of that length.
create or replace function htm.average_passage_length(collection_id integer) returns real
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select ((20 * 40 + coalesce(sum(x.length), 0)) / (20 + count(*))::float8)::real
  from (select p.length from htm.document_passages p where p.tenant = htm.this_tenant() and p.collection = collection_id limit 500) x;
end;

-- One expression without settings, so that PostgreSQL inlines it, drops what is neutral and sees what an index can serve.
create or replace function htm.document_matches(d htm.documents, f htm.document_filters) returns boolean language sql stable parallel safe
begin atomic
  select (d.expires_at is null or d.expires_at > (f).at)
     and ((f).uids is null or d.uid = any((f).uids))
     and ((f).below is null or (d.namespace >= (f).below and d.namespace < htm.namespace_upper_bound((f).below)))
     and ((f).refs is null or (md5(d.reference) = any(htm.md5_of((f).refs)) and d.reference = any((f).refs)))
     and ((f).metadata_equal is null or d.metadata @> (f).metadata_equal)
     and ((f).metadata is null or htm.matches(d.metadata, (f).metadata))
     and ((f).value_equal is null or d.value @> (f).value_equal)
     and ((f).value is null or htm.matches(d.value, (f).value));
end;

-- Documents in the order in which they were first put. Few rows are expected, so that who joins them looks them up one by
-- one: of a thousand, the planner would read all documents of the tenant instead.
create or replace function htm.list_documents(f htm.document_filters, max_documents bigint, skip bigint)
returns table (uid uuid, place bigint)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare me constant text := htm.this_tenant();
begin
  return query
  select x.uid, row_number() over () from (
    select d.uid from htm.documents d
    where d.tenant = me and d.collection = f.collection and htm.document_matches(d, f)
    order by d.created_at, d.place, d.uid limit max_documents offset skip) x;
end $$;

-- Documents, the one that was put last first; those of one batch in its order.
create or replace function htm.list_latest_documents(f htm.document_filters, max_documents bigint, skip bigint)
returns table (uid uuid, place bigint)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare me constant text := htm.this_tenant();
begin
  return query
  select x.uid, row_number() over () from (
    select d.uid from htm.documents d
    where d.tenant = me and d.collection = f.collection and htm.document_matches(d, f)
    order by d.updated_at desc, d.created_at desc, d.place, d.uid limit max_documents offset skip) x;
end $$;

create or replace function htm.count_documents(f htm.document_filters) returns bigint
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare me constant text := htm.this_tenant();
begin
  return (select count(*) from htm.documents d where d.tenant = me and d.collection = f.collection and htm.document_matches(d, f));
end $$;

-- The documents that narrow filters leave, or null when there are more than `max_documents`: then the scans check one by one.
create or replace function htm.filtered_documents(f htm.document_filters, max_documents integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare me constant text := htm.this_tenant(); found uuid[];
begin
  select array_agg(x.uid) into found from (
    select d.uid from htm.documents d
    where d.tenant = me and d.collection = f.collection and htm.document_matches(d, f) limit max_documents + 1) x;
  return case when cardinality(found) > max_documents then null else coalesce(found, '{}') end;
end $$;

-- About how many passages a collection has: the planner's own estimate, which costs nothing. Volatile, since a stable
-- function may not explain.
create or replace function htm.estimated_passages(c htm.collections) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare plan json;
begin
  execute format('explain (format json) select from htm.document_passages where tenant = %L and collection = %s', c.tenant, c.id)
  into plan;
  return (plan->0->'Plan'->>'Plan Rows')::bigint;
end $$;

-- A question as its words weigh in this collection, rarest first. Words that a sample knows well are not counted further;
-- the uids are digests, so the first of them are a sample as good as any, and always the same.
create or replace function htm.weigh_document_query(query_text text, c htm.collections) returns htm.weighted_query
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  few constant integer := 2000; sampled constant integer := 1000; known constant integer := 20;
  most_words constant integer := 64; prefix constant text := c.id || ':';
  total bigint; seen bigint; terms text[]; words text[]; counts bigint[]; answer htm.weighted_query;
begin
  select count(*) into total from (select 1 from htm.document_passages p where p.collection = c.id limit few + 1) x;
  if total > few then total := greatest(total, htm.estimated_passages(c)); end if;
  -- Each word without its accents, and as it is written with them.
  select array_agg(x.lexeme), array_agg(l) into terms, words from (
    select q.lexeme, q.as_written from htm.query_lexemes(c.config, query_text) q order by q.place, q.lexeme limit most_words) x,
    unnest(array_remove(array[x.lexeme, x.as_written], null)) l;
  if total > few then
    with sample as materialized (
      select p.lexemes from htm.document_passages p
      where p.tenant = c.tenant and p.collection = c.id order by p.document limit sampled),
    wanted as materialized (select w, place, htm.any_lexeme(array[prefix || w]) as q from unnest(words) with ordinality u(w, place))
    select array_agg((select count(*) from sample s where s.lexemes @@ wanted.q) order by place) into counts from wanted;
  end if;
  for i in 1 .. coalesce(cardinality(words), 0) loop
    if counts[i] >= known then
      counts[i] := counts[i] * total / sampled;
    else
      execute 'select count(*) from htm.document_passages where lexemes @@ $1 and tenant = $2' into seen
      using htm.any_lexeme(array[prefix || words[i]]), c.tenant;
      counts[i] := seen;
    end if;
  end loop;
  with counted as (select t as term, w as word, n from unnest(terms, words, counts) u(t, w, n)),
  weighted as (
    select k.term, ln(1 + (greatest(total, sum(k.n)) - sum(k.n) + 0.5::float8) / (sum(k.n) + 0.5::float8)) as idf
    from counted k group by k.term),
  entries as (
    select htm.lexeme_dimension(k.word) as d, max(w.idf)::real as w from weighted w join counted k on k.term = w.term group by 1)
  select (select array_agg(prefix || k.word order by k.n, k.word) from counted k),
         (select array_agg(k.n order by k.n, k.word) from counted k),
         (select ('{' || string_agg(d || ':' || w, ',') || '}/268435456')::pgvector.sparsevec from entries),
         (select sum(w.idf) * (0.9::float8 + 1) from weighted w)
    into answer;
  return answer;
end $$;

create or replace function htm.vector_search_documents(
  query_vector pgvector.vector, space htm.vector_spaces, f htm.document_filters, chosen uuid[], narrow boolean, small boolean, pool integer, enough integer)
returns setof htm.document_match
language plpgsql stable rows 60 set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  me constant text := htm.this_tenant(); toy constant boolean := space.dimension < 16;
  near constant pgvector.halfvec := case when toy then null else query_vector::pgvector.halfvec end; found uuid[]; matched bigint;
begin
  if chosen is null and not small and space.documents_indexed then
    -- Only integers of the space's row are formatted: a cast needs a literal dimension, a partial index a literal space.
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
            set_config('hnsw.ef_search', least(1000, greatest(100, pool))::text, true);
    execute format(
      'select array_agg(document order by d, document), sum(n) from (select document, min(d) as d, count(*) as n from ('
      'select document, embedding::pgvector.halfvec(%1$s) operator(pgvector.<=>) $1 d from htm.document_passages p '
      'where space = %2$s and tenant = $2 and collection = $3 and (not $4 or exists ('
      'select 1 from htm.documents d where d.tenant = p.tenant and d.uid = p.document and htm.document_matches(d, $5))) '
      'order by embedding::pgvector.halfvec(%1$s) operator(pgvector.<=>) $1::pgvector.halfvec(%1$s) limit $6) x group by document) y', space.dimension, space.id)
    into found, matched using near, me, f.collection, narrow, f, pool;
    if (narrow or matched >= pool) and cardinality(found) >= enough then
      return query select u.id, u.place from unnest(found) with ordinality u(id, place);
      return;
    end if;
    -- The index gave too few: what it visits belongs to others, to few documents, or has no direction. Then exactly: what it gives
    -- when it gives up is whatever it came by. Filtered documents are not looked through one by one for that.
  end if;
  return query
  select x.document, row_number() over () from (
    select p.document from htm.document_passages p
    where p.tenant = me and p.collection = f.collection and p.space = space.id
      and (chosen is null or p.document = any(chosen))
      and (chosen is not null or not narrow or exists (
        select 1 from htm.documents d where d.tenant = me and d.uid = p.document and htm.document_matches(d, f)))
    group by p.document
    order by min(case when toy then p.exact operator(pgvector.<=>) query_vector else p.embedding operator(pgvector.<=>) near end) + 0, p.document limit pool) x;
end $$;

create or replace function htm.text_search_documents(
  query_terms htm.weighted_query, f htm.document_filters, chosen uuid[], narrow boolean, small boolean, pool integer)
returns setof htm.document_match
language plpgsql stable rows 60 set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare me constant text := htm.this_tenant(); enough constant integer := 3000; wanted tsquery := htm.any_lexeme(query_terms.lexemes);
begin
  if chosen is null and not small then
    -- The rarest words, until they have candidates enough between them, drive the index; all words score.
    select htm.any_lexeme(array_agg(u.l)) into wanted from (
      select l, sum(n) over (order by n, l) - n as before from unnest(query_terms.lexemes, query_terms.documents) t(l, n)) u
    where u.before < enough;
  end if;
  return query
  select x.document, row_number() over () from (
    select p.document from htm.document_passages p
    where p.tenant = me and p.collection = f.collection and p.lexemes @@ wanted
      and (chosen is null or p.document = any(chosen))
      and (chosen is not null or not narrow or exists (
        select 1 from htm.documents d where d.tenant = me and d.uid = p.document and htm.document_matches(d, f)))
    group by p.document order by min(p.weights operator(pgvector.<#>) query_terms.weights), p.document limit pool) x;
end $$;

-- Documents for a question: its words, its vector, or both, as for memories. `vector_share` is the vector's weight; `vector_pool` and
-- `text_pool` are the candidates of each search, `enough` of them wanted at least. Scores are absolute: a cosine counts in full from 0.8,
-- words against the best that any passage could score for this question. Equals stand by cosine, then words.
create or replace function htm.search_documents(
  f htm.document_filters, query_text text, query_vector pgvector.vector, vector_pool integer, text_pool integer, vector_share float8, min_score float8,
  max_hits integer, skip integer)
returns table (uid uuid, score float8, vector_rank bigint, text_rank bigint, cosine float8, words float8, ordinal integer,
               place bigint)
language plpgsql stable security definer rows 10
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  me constant text := htm.this_tenant();
  few constant integer := 10000;                -- so many are scanned exactly as fast as through an index
  handful constant integer := 4000;             -- and so many when each is looked up
  owning htm.collections; space htm.vector_spaces; terms htm.weighted_query; chosen uuid[]; narrow boolean; small boolean := true;
  toy boolean; near pgvector.halfvec;
begin
  select * into owning from htm.collections x where x.tenant = me and x.id = f.collection;
  if owning.id is null then return; end if;     -- another tenant's
  if query_vector is not null then select s.* into space from htm.vector_spaces s where s.id = owning.space; end if;
  if query_text is not null then terms := htm.weigh_document_query(query_text, owning); end if;
  toy := space.dimension < 16;
  if not toy then near := query_vector::pgvector.halfvec; end if;
  narrow := num_nonnulls(f.uids, f.below, f.refs, f.metadata_equal, f.metadata, f.value_equal, f.value) > 0;
  if narrow then
    chosen := htm.filtered_documents(f, handful);
  else
    narrow := exists (select 1 from htm.documents d where d.tenant = me and d.collection = owning.id and d.expires_at <= f.at);
  end if;
  if chosen is null then
    select count(*) <= few into small from (
      select 1 from htm.document_passages p where p.collection = owning.id limit few + 1) x;   -- in the index alone
  end if;
  return query
  with found as (
    select 1 as arm, n.document, n.rank as place
    from htm.vector_search_documents(query_vector, space, f, chosen, narrow, small, vector_pool, max_hits + skip) n where space.id is not null
    union all
    select 2, t.document, t.rank
    from htm.text_search_documents(terms, f, chosen, narrow, small, text_pool) t where terms.lexemes is not null),
  places as materialized (
    select x.document, min(x.place) filter (where arm = 1) as vector_place, min(x.place) filter (where arm = 2) as text_place
    from found x group by x.document),
  signals as (
    select x.document, x.vector_place, x.text_place, v.ordinal, v.c, w.w
    from places x
    left join lateral (
      select p.ordinal, nullif(1 - case when toy then p.exact operator(pgvector.<=>) query_vector else p.embedding operator(pgvector.<=>) near end, 'NaN') as c
      from htm.document_passages p where p.tenant = me and p.document = x.document and p.space = space.id
      order by c desc nulls last, p.ordinal limit 1) v on true
    left join lateral (
      select max(-(p.weights operator(pgvector.<#>) terms.weights)) / nullif(terms.best_score, 0) as w
      from htm.document_passages p where p.tenant = me and p.document = x.document) w on true),
  scored as (
    select s.*, least(1, greatest(0, coalesce(s.c, 0)) / 0.8) as vector_score, least(1, greatest(0, coalesce(s.w, 0))) as text_score
    from signals s),
  fused as (
    select s.*, case when space.id is null then s.text_score when terms.lexemes is null then s.vector_score
                     else vector_share * s.vector_score + (1 - vector_share) * s.text_score end as fusion
    from scored s)
  select x.document, x.fusion, x.vector_place, x.text_place, x.c, case when terms.lexemes is not null then x.text_score end,
         x.ordinal, row_number() over (order by x.fusion desc, x.c desc nulls last, x.w desc nulls last, x.document)
  from fused x where x.fusion >= min_score
  order by x.fusion desc, x.c desc nulls last, x.w desc nulls last, x.document limit max_hits offset skip;
end $$;
