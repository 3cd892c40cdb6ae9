-- What is searched: passages with their words, and vectors that carry their model.

-- How a tenant's words are cut and weighed.
create table lexicon (
  tenant    text primary key,
  code      text not null,                      -- stands before every lexeme, so that GIN serves small tenants
  config    regconfig not null,
  k1        real not null default 0.9,
  b         real not null default 0.4,
  average   real not null default 12,           -- mean length of a passage, in lexeme occurrences
  documents bigint not null default 0,          -- passages when last counted
  version   integer not null default 1
);
call guard('lexicon');

-- Passages in which a lexeme occurs, per tenant, as last counted; rare lexemes are counted when asked for.
create table terms (
  tenant    text not null,
  lexeme    text not null,
  documents bigint not null,
  primary key (tenant, lexeme)
);
call guard('terms');

create table passages (
  tenant     text not null,
  id         uuid not null,
  node_id    uuid not null,
  mention_id uuid,                              -- null: (a part of) the content itself
  ordinal    integer not null,
  owner      text not null,
  live       boolean not null default true,     -- its node's; in no index, so that forgetting is a HOT update
  starts     integer not null,                  -- offsets into the content, in characters
  stops      integer not null,
  body       text,                              -- null: exactly that part of the content
  length     integer not null,                  -- lexeme occurrences
  lexemes    tsvector not null,
  weights    sparsevec(268435456) not null,     -- BM25 term weights by hashed lexeme
  version    integer not null,                  -- of the lexicon that weighed it
  primary key (tenant, id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
) with (fillfactor = 90);
call guard('passages');
create index passages_by_node on passages (tenant, node_id);
create index passages_by_owner on passages (tenant, owner);
-- Without a list of pending entries, which every search would have to read through.
create index passages_by_lexeme on passages using gin (lexemes) with (fastupdate = off);

-- One vector space per model name and dimension, whoever uses it.
create table spaces (
  id        integer generated always as identity primary key,
  name      text not null,
  dimension integer not null check (dimension between 1 and 16000),
  indexed   boolean not null default false,
  unique (name, dimension)
);
grant select on spaces to htm_app, htm_worker;

-- Which model a tenant's memories are embedded with; a second may be filled beside the first.
create table models (
  tenant text not null,
  name   text not null,
  space  integer references spaces (id),        -- null until its first vector says the dimension
  active boolean not null,
  primary key (tenant, name)
);
call guard('models');
create unique index models_active on models (tenant) where active;

create table vectors (
  tenant     text not null,
  space      integer not null references spaces (id),
  passage_id uuid not null,
  node_id    uuid not null,
  owner      text not null,
  live       boolean not null default true,
  embedding  halfvec not null,
  primary key (tenant, space, passage_id),
  foreign key (tenant, passage_id) references passages (tenant, id) on delete cascade
) with (fillfactor = 90, toast_tuple_target = 8160);
alter table vectors alter column embedding set storage main;   -- in the row as far as a page goes, beyond that out of line
call guard('vectors');
create index vectors_by_node on vectors (tenant, node_id);
create index vectors_by_owner on vectors (tenant, space, owner);
create index vectors_by_passage on vectors (tenant, passage_id);

-- The dimension of a lexeme in a sparse vector: 28 bits of its MD5; no dictionary to keep.
create function dimension_of(lexeme text) returns integer language sql immutable strict parallel safe as
$$ select 1 + ('x' || substr(md5(lexeme), 1, 7))::bit(28)::int $$;

create function weights_of(words tsvector, length integer, k1 real, b real, average real) returns sparsevec
language sql immutable strict parallel safe set search_path from current as $$
  select ('{' || coalesce(string_agg(d || ':' || w, ',' order by d), '') || '}/268435456')::sparsevec
  from (select dimension_of(u.lexeme) d,
               max((k1 + 1) * tf / (tf + k1 * (1 - b + b * length / greatest(average, 1))))::real w
        from unnest(words) u, lateral (select coalesce(array_length(u.positions, 1), 1)::float8 as tf) o group by 1) x
$$;

-- The lexemes of a text. What a language calls noise is kept when there is nothing else, so that every text can be found.
-- Where no stemmer is known, the beginnings of words are lexemes, too, so that inflected forms meet.
create function cut(config regconfig, body text) returns tsvector language plpgsql immutable strict parallel safe as $$
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

create function words_of(words tsvector, code text) returns tsvector language sql immutable strict parallel safe as
$$ select coalesce(array_to_tsvector(array_agg(code || l)), ''::tsvector) from unnest(tsvector_to_array(words)) l $$;

create function length_of(words tsvector) returns integer language sql immutable strict parallel safe as
$$ select coalesce(sum(coalesce(array_length(positions, 1), 1)), 0)::int from unnest(words) $$;

-- A node is live while a mention of it is neither forgotten nor only the old value of a key.
-- Statement by statement, so that each sees what the writers it waited for have committed.
create function refresh_live(ids uuid[]) returns void language plpgsql as $$
declare turned uuid[];
begin
  perform 1 from nodes n where n.tenant = this_tenant() and n.id = any(ids) order by n.id for no key update;
  with wanted as (
    select n.id, n.live as was, exists (
      select 1 from mentions m
      where m.tenant = n.tenant and m.node_id = n.id and m.forgotten_at is null
        and (m.key is null or exists (select 1 from keys k where k.tenant = m.tenant and k.owner = m.owner
                                      and k.key = m.key and k.current and k.node_id = m.node_id))) as live
    from nodes n where n.tenant = this_tenant() and n.id = any(ids)),
  done as (
    update nodes n set live = w.live from wanted w
    where n.tenant = this_tenant() and n.id = w.id and w.live <> w.was returning n.id)
  select array_agg(id) into turned from done;
  if turned is null then return; end if;
  update passages p set live = n.live from nodes n
  where n.tenant = this_tenant() and n.id = any(turned) and p.tenant = n.tenant and p.node_id = n.id;
  update vectors v set live = n.live from nodes n
  where n.tenant = this_tenant() and n.id = any(turned) and v.tenant = n.tenant and v.node_id = n.id;
end $$;

-- The space for a tenant's model, made when its first vector says the dimension; another dimension is refused, and so is a
-- model that the tenant does not have (any more).
create function take_space(model text, dims integer) returns integer
language plpgsql security definer set search_path from current as $$
declare taken integer; known integer;
begin
  select m.space, s.dimension into taken, known from models m left join spaces s on s.id = m.space
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
  insert into spaces (name, dimension) values (model, dims) on conflict (name, dimension) do nothing;
  select id into taken from spaces where name = model and dimension = dims;
  update models set space = taken where tenant = this_tenant() and name = model and space is null;
  return taken;
end $$;

-- Node metadata is that of its mentions merged; the latest wins.
create function refresh_metadata(ids uuid[]) returns void language sql as $$
  update node_state s set metadata = coalesce((
    select jsonb_object_agg(e.key, e.value order by m.at, m.seq) from mentions m, jsonb_each(m.metadata) e
    where m.tenant = s.tenant and m.node_id = s.node_id and m.forgotten_at is null), '{}')
  where s.tenant = this_tenant() and s.node_id = any(ids)
$$;
