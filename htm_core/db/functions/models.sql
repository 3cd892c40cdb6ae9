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

-- The cosine of two vectors; null where one of them has no direction.
create or replace function htm.cosine_similarity(a pgvector.halfvec, b pgvector.halfvec) returns float8
language sql immutable parallel safe
begin atomic
  select 1 - nullif(a operator(pgvector.<=>) b, 'NaN');
end;

-- Measures how near the tenant's unrelated texts are by a model, and keeps by what a cosine's distance from 1 is to be multiplied.
--
-- Models differ: two texts that have nothing to do with each other have a cosine of 0 by one, and of 0.8 by another. Of 64 texts those pairs
-- are taken that have no word in common, so that texts of one form do not pass for unrelated, and the tenth in a hundred of these, in the
-- order of their cosines, counts for unrelated. Cosines are stretched so that it comes to -0.03, about as by the embedded model, by which
-- relevance was fitted; 1 stays 1. At 0.35 or less, and where too few pairs have no word in common, they stay as they are. It is measured from
-- 32 vectors on, and again when there are twice as many. Not to count them each time, the more there are the rarer it is looked.
create or replace function htm.calibrate_cosines(model text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_memoize = off as $$
declare
  me constant text := htm.this_tenant(); anywhere constant uuid := md5(htm.this_tenant())::uuid; enough constant integer := 100;
  known htm.models; wanted integer; counted integer; unrelated float8;
begin
  select m.* into known from htm.models m where m.tenant = me and m.name = model;
  if known.space is null or known.measured >= 8192 or random() * greatest(32, known.measured) > 32 then return; end if;
  wanted := greatest(32, 2 * known.measured);
  select count(*) into counted from (
    select 1 from htm.vectors v where v.tenant = me and v.space = known.space limit wanted) x;
  if counted < wanted then return; end if;
  -- Ids of nodes are made of hashes: from a random one on, they are a random sample.
  with near as (
    select * from (select v.* from htm.vectors v where v.tenant = me and v.node_id >= anywhere order by v.node_id limit 64) x
    union all
    select * from (select v.* from htm.vectors v where v.tenant = me and v.node_id < anywhere order by v.node_id limit 64) x),
  sampled as materialized (
    select n.node_id, n.embedding, p.words, row_number() over () as number
    from (select * from near where space = known.space and live limit 64) n
    cross join lateral (
      select tsvector_to_array(q.lexemes) as words from htm.passages q where q.tenant = me and q.id = n.passage_id offset 0) p)
  select case when count(*) >= enough then percentile_cont(0.1) within group (order by c.cosine) end into unrelated
  from sampled a join sampled b on a.number < b.number and not a.words && b.words
  cross join lateral (select htm.cosine_similarity(a.embedding, b.embedding) as cosine) c
  where c.cosine is not null;
  update htm.models m set cosine_scale = case when unrelated > 0.35 then 1.03 / (1 - least(0.95, unrelated)) end, measured = wanted
  where m.tenant = me and m.name = model;
end $$;

-- What a distance from 1 is multiplied by before a cosine of the tenant's model counts.
create or replace function htm.cosine_scale(space_id integer) returns float8
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((select m.cosine_scale from htm.models m where m.tenant = htm.this_tenant() and m.space = space_id limit 1), 1)::float8;
$$;

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
