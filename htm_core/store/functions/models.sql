-- The vector spaces of a tenant's models.

-- The space for a tenant's model, made when its first vector says the dimension; another dimension is refused, and so is a
-- model that the tenant does not have (any more).
create or replace function htm.ensure_vector_space(model text, dims integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare taken integer; known integer;
begin
  select m.space, s.dimension into taken, known from htm.models m left join htm.vector_spaces s on s.id = m.space
  where m.tenant = htm.this_tenant() and m.name = model;
  if not found then
    raise exception 'the model % is not one that these memories are embedded with', model using errcode = 'HT001';
  end if;
  if taken is not null then
    if known <> dims then
      raise exception 'the model % has vectors of % dimensions here, got one of %', model, known, dims using errcode = 'HT001';
    end if;
    return taken;
  end if;
  insert into htm.vector_spaces (name, dimension) values (model, dims) on conflict (name, dimension) do nothing;
  select id into taken from htm.vector_spaces where name = model and dimension = dims;
  update htm.models set space = taken where tenant = htm.this_tenant() and name = model and space is null;
  return taken;
end $$;

-- The vector space of the tenant's model; another model than the question's is refused.
create or replace function htm.query_vector_space(model text, meaning pgvector.halfvec) returns htm.vector_spaces
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare known text; answer htm.vector_spaces;
begin
  select m.name, s.id, s.name, s.dimension, s.indexed, s.quantized
    into known, answer.id, answer.name, answer.dimension, answer.indexed, answer.quantized
  from htm.models m left join htm.vector_spaces s on s.id = m.space where m.tenant = htm.this_tenant() and m.active;
  if known <> model then
    raise exception 'these memories are embedded with %, the question with %', known, model using errcode = 'HT001';
  end if;
  if answer.dimension <> pgvector.vector_dims(meaning) then
    raise exception 'the stored vectors have % dimensions, the question''s has %', answer.dimension, pgvector.vector_dims(meaning)
      using errcode = 'HT001';
  end if;
  return answer;
end $$;

-- Vectors of passages that are to be inserted, as columns.
create or replace function htm.unnest_vectors(passages uuid[], embeddings pgvector.halfvec[])
returns table (id uuid, embedding pgvector.halfvec) language sql immutable parallel safe
begin atomic
  select * from unnest(passages, embeddings);
end;

-- The same, with the words of each passage; null where there are none.
create or replace function htm.unnest_vectors(passages uuid[], embeddings pgvector.halfvec[], words bytea[])
returns table (id uuid, embedding pgvector.halfvec, words bytea) language sql immutable parallel safe
begin atomic
  select * from unnest(passages, embeddings, words);
end;

-- The words of passages by a model, in their order; null for a passage that has none. Vectors are looked up by their passage alone, and
-- their space is compared afterwards: see `recall_candidates`. What the caller may not see is null, too.
create or replace function htm.words_of_passages(passages uuid[], model text) returns bytea[]
language plpgsql stable set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off set enable_hashagg = off as $$
declare
  me constant text := htm.this_tenant();
  space_id constant integer := (select m.space from htm.models m where m.tenant = me and m.name = model);
begin
  return array(
    select (select x.words from (
              select v.space, v.words from htm.vectors v where v.tenant = me and v.passage_id = g.id offset 0) x
            where x.space = space_id)
    from unnest(passages) with ordinality g(id, place) order by g.place);
end $$;

-- The cosine of two vectors; null where one of them has no direction.
create or replace function htm.cosine_similarity(a pgvector.halfvec, b pgvector.halfvec) returns float8
language sql immutable parallel safe
begin atomic
  select 1 - nullif(a operator(pgvector.<=>) b, 'NaN');
end;

-- Notes which vectors were written or deleted, while the table of vectors is being copied into other partitions.
create or replace function htm.note_vector_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if to_regclass(format('%I.vectors_changed', tg_table_schema)) is null then return null; end if;    -- an interrupted copy has left its trigger
  if tg_op <> 'INSERT' then
    insert into htm.vectors_changed (tenant, space, passage_id) values (old.tenant, old.space, old.passage_id);
  end if;
  if tg_op <> 'DELETE' then
    insert into htm.vectors_changed (tenant, space, passage_id) values (new.tenant, new.space, new.passage_id);
  end if;
  return null;
end $$;

-- The tables that hold the rows of a table: its partitions, or the table itself.
create or replace function htm.leaves_of(of_table regclass) returns table (oid oid, name name) language sql stable
begin atomic
  select c.oid, c.relname from pg_class c
  where c.oid in (select i.inhrelid from pg_inherits i where i.inhparent = of_table)
     or c.oid = of_table and not exists (select from pg_inherits i where i.inhparent = of_table);
end;

-- What the HNSW index of a space's vectors in one table is called; each of the two kinds has a name of its own.
create or replace function htm.hnsw_name(leaf name, space htm.vector_spaces) returns text language sql immutable
begin atomic
  select leaf || '_hnsw_' || (space).id || case when (space).quantized then '_quantized' else '' end;
end;
