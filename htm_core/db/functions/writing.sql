-- Writing: the nodes and mentions of one call, in one message.

-- Numbers the mentions of each session on, and writes the nodes that do not exist yet, their passages and jobs, and the mentions, in this
-- order: all writers lock sessions first, then nodes by their ids, so that no two wait for each other. Lists of one kind belong together:
-- those of nodes (each id once), of their passages, and of mentions, in the order in which they were said.
--
-- A new node for which `long` is not null gets a job that makes its vectors, by the model that the tenant has now; `of_model` counts only
-- where there is none yet. Nobody waits for a long one, nor for any where more than `few` get one.
--
-- What copies a message that was purged is hidden, and its node is not among the new ones.
--
-- With `unless_known` nothing is written where a session knows the caller's id of one of these mentions: the sessions are locked then,
-- and there is no answer.
--
-- Answers with the nodes that are new, the metadata that they have by their ids, those whose vectors somebody may wait for, and how many
-- passages could not be written.
create or replace function htm.write_entries(
  of_owner text, of_robot text, of_model text,
  nodes uuid[], contents text[], token_counts int[], made_at timestamptz[], importances float8[], node_metadatas jsonb[], long boolean[],
  few integer,
  passages uuid[], passage_nodes uuid[], ordinals int[], starts int[], stops int[], bodies text[],
  mentions uuid[], mention_nodes uuid[], sessions text[], external_ids text[], roles text[], names text[], said_at timestamptz[],
  keys text[], own_contents text[], metadatas jsonb[], payloads bytea[], logged boolean[],
  valid tstzrange[] default null, valid_words text[] default null, expires timestamptz[] default null, sources text[] default null,
  trust smallint[] default null, unless_known boolean default false,
  out new_nodes uuid[], out new_metadata jsonb, out waiting uuid[], out unwritten integer)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant text := htm.this_tenant();
  said jsonb;                                     -- how many mentions each session gets
  reached jsonb;                                  -- and the number of its last one
  written integer;
begin
  select jsonb_object_agg(c.session, c.count) into said
  from (select g.session, count(*) from unnest(write_entries.sessions) g(session) group by g.session) c;
  with taken as (
    insert into htm.sessions as s (tenant, owner, session, last_seq)
    select me, of_owner, e.key, e.value::bigint from jsonb_each_text(said) e order by e.key
    on conflict (tenant, owner, session) do update set last_seq = s.last_seq + excluded.last_seq
    returning s.session, s.last_seq)
  select jsonb_object_agg(t.session, t.last_seq) into reached from taken t;
  if unless_known and (                           -- with the lock, so that nobody can have said it meanwhile
    select true from unnest(write_entries.sessions, external_ids) g(session, id)
    cross join lateral (
      select m.id from htm.mentions m
      where m.tenant = me and m.owner = of_owner and m.session = g.session and m.external_id = g.id offset 0) k
    where g.id is not null limit 1)
  then
    update htm.sessions s set last_seq = s.last_seq - (said ->> s.session)::bigint
    where s.tenant = me and s.owner = of_owner and s.session = any(array(select jsonb_object_keys(said)));
    return;
  end if;
  with made as (
    insert into htm.nodes (tenant, id, owner, content, tokens, created_at)
    select me, g.id, of_owner, g.content, g.tokens, g.at
    from unnest(write_entries.nodes, contents, token_counts, made_at) g(id, content, tokens, at)
    order by g.id
    on conflict (tenant, id) do nothing
    returning id)
  select coalesce(array_agg(m.id), '{}') into new_nodes from made m;
  waiting := '{}'; unwritten := 0;
  if cardinality(new_nodes) > 0 then
    with stated as (
      insert into htm.node_state (tenant, node_id, importance, metadata, accessed_at)
      select me, g.id, g.importance, g.metadata, g.at
      from unnest(write_entries.nodes, importances, node_metadatas, made_at) g(id, importance, metadata, at)
      where (g.id in (select htm.each_id(new_nodes))) is true
      returning node_id, metadata)
    select jsonb_object_agg(s.node_id, s.metadata) into new_metadata from stated s where s.metadata <> '{}';
    insert into htm.passages (tenant, id, node_id, ordinal, owner, starts, stops, length, lexemes, weights, version)
    select me, g.id, g.node_id, g.ordinal, of_owner, g.starts, g.stops, c.length,
           htm.with_prefix(c.words, l.prefix), htm.bm25_weights(c.words, c.length, l.k1, l.b, l.average_length), l.version
    from htm.lexicon l,
         unnest(write_entries.passages, passage_nodes, ordinals, write_entries.starts, write_entries.stops, bodies)
         g(id, node_id, ordinal, starts, stops, body),
         lateral (select w as words, htm.lexeme_count(w) as length from htm.to_lexemes(l.config, g.body) w) c
    where l.tenant = me and (g.node_id in (select htm.each_id(new_nodes))) is true;
    get diagnostics written = row_count;
    select count(*) - written into unwritten from unnest(passage_nodes) g(node_id)
    where (g.node_id in (select htm.each_id(new_nodes))) is true;
    -- A change of models may have ended the caller's meanwhile.
    with queued as (
      insert into htm.jobs (tenant, kind, model, node_id, owner, bulk)
      select me, 'embed', coalesce((select a.name from htm.models a where a.tenant = me and a.active), of_model), g.id, of_owner,
             g.long or count(*) over () > few
      from unnest(write_entries.nodes, write_entries.long) g(id, long)
      where g.long is not null and (g.id in (select htm.each_id(new_nodes))) is true
      on conflict do nothing
      returning node_id, bulk)
    select coalesce(array_agg(q.node_id) filter (where not q.bulk), '{}') into waiting from queued q;
  end if;
  insert into htm.mentions (tenant, id, node_id, owner, robot, session, seq, external_id, role, name, at, key, content, metadata,
                            payload, log_position, valid, valid_words, expires_at, source, trust)
  select me, g.id, g.node_id, of_owner, of_robot, g.session, n.seq, g.external_id, g.role, g.name, g.at, g.key, g.content, g.metadata,
         g.payload, case when g.logged then n.seq end, g.valid, g.valid_words, g.expires_at, g.source, g.trust
  from (
    select u.*, row_number() over (partition by u.session order by u.place desc) - 1 as later_ones
    from unnest(write_entries.mentions, mention_nodes, write_entries.sessions, external_ids, roles, names, said_at,
                write_entries.keys, own_contents, metadatas, payloads, write_entries.logged, write_entries.valid,
                write_entries.valid_words, expires, sources, write_entries.trust)
         with ordinality u(id, node_id, session, external_id, role, name, at, key, content, metadata, payload, logged, valid,
                           valid_words, expires_at, source, trust, place)) g
  cross join lateral (select (reached ->> g.session)::bigint - g.later_ones as seq) n
  order by g.place;
  new_nodes := array(select n from unnest(new_nodes) n except select h from unnest(htm.hide_copies_of_purged(of_owner, write_entries.mentions)) h);
end $$;
