-- What was said about the same before or after: the nodes of the same owner that are nearest to one, by its vector and by its words.
--
-- `words` are those of the node that count; null where only its vector does. Of each search come `at_most` nodes, and of both together
-- as many, each with the cosine of its nearest passage. What files say is left out, since a file is replaced as a whole.
create or replace function htm.supersession_candidates(of_node uuid, words text, at_most integer)
returns table (id uuid, content text, role text, name text, at timestamptz, mention_id uuid, trust integer, cosine float8)
language plpgsql stable security definer rows 10 set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  me constant text := htm.this_tenant();
  whose text; query_vector pgvector.halfvec; space htm.vector_spaces; f htm.conditions; plan htm.search_plan;
  vector_hits htm.vector_matches; query_terms htm.weighted_query; text_hits uuid[]; scale float8;
begin
  select n.owner into whose from htm.nodes n where n.tenant = me and n.id = of_node and n.live;
  if whose is null or not htm.owner_is_claimed(whose) then return; end if;
  f.owners := array[whose];
  plan := htm.plan_search(f, at_most + 1, words is null);
  select v.embedding, s.id, s.name, s.dimension, s.indexed, s.documents_indexed
    into query_vector, space.id, space.name, space.dimension, space.indexed, space.documents_indexed
  from htm.passages p
  cross join lateral (select x.* from htm.vectors x where x.tenant = me and x.passage_id = p.id offset 0) v
  join htm.models m on m.tenant = me and m.active and m.space = v.space
  join htm.vector_spaces s on s.id = v.space
  where p.tenant = me and p.node_id = of_node order by p.ordinal limit 1;
  if query_vector is not null then
    vector_hits := htm.vector_search(query_vector, space, f, plan, at_most + 1, words is null); scale := htm.cosine_scale(space.id);
  end if;
  if words is not null then
    query_terms := htm.weigh_query(words);
    if query_terms.weights is not null then text_hits := htm.text_search(query_terms, f, plan, at_most + 1); end if;
  end if;
  return query
  with found as (
    select x.node_id, min(x.place) as place from (
      select * from unnest(vector_hits.nodes) with ordinality v(node_id, place)
      union all
      select * from unnest(text_hits) with ordinality t(node_id, place)) x
    where x.node_id <> of_node group by x.node_id order by 2, 1 limit at_most)
  select n.id, n.content, m.role, m.name, m.at, m.id, m.trust, c.cosine
  from found x
  cross join lateral (
    select o.id, o.content from htm.nodes o where o.tenant = me and o.id = x.node_id and o.owner = whose and o.live offset 0) n
  cross join lateral (
    select s.id, s.role, s.name, s.at, htm.trust_of(s.trust, s.source, s.role) as trust from htm.mentions s
    where s.tenant = me and s.node_id = n.id and s.forgotten_at is null
      and (s.expires_at is null or s.expires_at > htm.memory_time())
    order by htm.trust_of(s.trust, s.source, s.role) desc, s.at desc, s.id desc limit 1) m
  left join lateral (
    select max(1 - scale * (v.embedding operator(pgvector.<=>) query_vector)) as cosine from (
      select y.embedding, y.space from htm.passages p
      cross join lateral (select z.* from htm.vectors z where z.tenant = me and z.passage_id = p.id offset 0) y
      where p.tenant = me and p.node_id = n.id) v
    where v.space = space.id) c on true
  where not exists (select from htm.file_chunks k where k.tenant = me and k.mention_id = m.id)
  order by x.place, n.id;
end $$;
