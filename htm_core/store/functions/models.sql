-- The vector spaces of a tenant's models.

-- The space for a tenant's model, made when its first vector says the dimension; another dimension is refused, and so is a
-- model that the tenant does not have (any more).
create or replace function ensure_vector_space(model text, dims integer) returns integer
language plpgsql security definer set search_path from current as $$
declare taken integer; known integer;
begin
  select m.space, s.dimension into taken, known from models m left join vector_spaces s on s.id = m.space
  where m.tenant = this_tenant() and m.name = model;
  if not found then
    raise exception 'the model % is not one that these memories are embedded with', model using errcode = 'HT001';
  end if;
  if taken is not null then
    if known <> dims then
      raise exception 'the model % has vectors of % dimensions here, got one of %', model, known, dims using errcode = 'HT001';
    end if;
    return taken;
  end if;
  insert into vector_spaces (name, dimension) values (model, dims) on conflict (name, dimension) do nothing;
  select id into taken from vector_spaces where name = model and dimension = dims;
  update models set space = taken where tenant = this_tenant() and name = model and space is null;
  return taken;
end $$;

-- The vector space of the tenant's model; another model than the question's is refused.
create or replace function query_vector_space(model text, meaning halfvec) returns vector_spaces
language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan as $$
declare known text; answer vector_spaces;
begin
  select m.name, s.id, s.name, s.dimension, s.indexed into known, answer.id, answer.name, answer.dimension, answer.indexed
  from models m left join vector_spaces s on s.id = m.space where m.tenant = this_tenant() and m.active;
  if known <> model then
    raise exception 'these memories are embedded with %, the question with %', known, model using errcode = 'HT001';
  end if;
  if answer.dimension <> vector_dims(meaning) then
    raise exception 'the stored vectors have % dimensions, the question''s has %', answer.dimension, vector_dims(meaning)
      using errcode = 'HT001';
  end if;
  return answer;
end $$;
