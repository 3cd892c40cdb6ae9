-- name: header
select l.config::text as language, l.prefix as code, m.name as model, s.id as space, s.dimension
from lexicon l left join models m on m.tenant = l.tenant and m.active left join vector_spaces s on s.id = m.space
where l.tenant = this_tenant()

-- name: rows
-- One statement, so that all rows are of one moment. The order is that of insertion: each row comes after those it refers to.
select 'robots' as part, to_jsonb(t) - 'tenant' as row from robots t where t.tenant = this_tenant() union all
select 'sessions', to_jsonb(t) - 'tenant' from sessions t where t.tenant = this_tenant() union all
select 'nodes', to_jsonb(t) - 'tenant' - 'xid' from nodes t where t.tenant = this_tenant() union all
select 'node_state', to_jsonb(t) - 'tenant' from node_state t where t.tenant = this_tenant() union all
select 'mentions', to_jsonb(t) - 'tenant' - 'xid' from mentions t where t.tenant = this_tenant() union all
select 'keys', to_jsonb(t) - 'tenant' from keys t where t.tenant = this_tenant() union all
select 'tags', to_jsonb(t) - 'tenant' from tags t where t.tenant = this_tenant() union all
select 'passages', to_jsonb(t) - 'tenant' from passages t where t.tenant = this_tenant() union all
select 'vectors', to_jsonb(t) - 'tenant' from vectors t where t.tenant = this_tenant() and t.space = %(space)s union all
select 'relations', to_jsonb(t) - 'tenant' from relations t where t.tenant = this_tenant() union all
select 'supersessions', to_jsonb(t) - 'tenant' from supersessions t where t.tenant = this_tenant() union all
select 'supersession_audit', to_jsonb(t) - 'tenant' from supersession_audit t where t.tenant = this_tenant() union all
select 'files', to_jsonb(t) - 'tenant' from files t where t.tenant = this_tenant() union all
select 'file_chunks', to_jsonb(t) - 'tenant' from file_chunks t where t.tenant = this_tenant() union all
select 'places', to_jsonb(t) - 'tenant' from places t where t.tenant = this_tenant() union all
select 'decisions', to_jsonb(t) - 'tenant' from decisions t where t.tenant = this_tenant() union all
select 'consultations', to_jsonb(t) - 'tenant' from consultations t where t.tenant = this_tenant() union all
select 'wakings', to_jsonb(t) - 'tenant' from wakings t where t.tenant = this_tenant() union all
select 'merges', to_jsonb(t) - 'tenant' from merges t where t.tenant = this_tenant() union all
select 'summaries', to_jsonb(t) - 'tenant' from summaries t where t.tenant = this_tenant() union all
select 'collections', jsonb_build_object(
         'name', c.name, 'language', c.config::text, 'model', s.name, 'dimension', s.dimension, 'created_at', c.created_at)
from collections c left join vector_spaces s on s.id = c.space where c.tenant = this_tenant() union all
-- A document with its passages. Its collection is given by name, since ids of collections differ between servers.
select 'documents', to_jsonb(d) - 'tenant' || jsonb_build_object('collection', c.name, 'passages', (
         select jsonb_agg(jsonb_build_object(
                  'ordinal', p.ordinal, 'length', p.length, 'weights', p.weights, 'embedding', p.embedding, 'exact', p.exact,
                  'words', (select jsonb_agg(substr(l, length(c.id || ':') + 1)) from unnest(tsvector_to_array(p.lexemes)) l))
                order by p.ordinal)
         from document_passages p where p.tenant = d.tenant and p.document = d.uid))
from documents d join collections c on c.tenant = d.tenant and c.id = d.collection where d.tenant = this_tenant() union all
-- The members of a group, without the process that each belongs to.
select 'groups', to_jsonb(g) - '{tenant,id}'::text[] || jsonb_build_object('members', coalesce((
         select jsonb_agg(to_jsonb(m) - '{tenant,group_name,instance}'::text[] order by m.joined_at, m.robot)
         from group_members m where m.tenant = g.tenant and m.group_name = g.name), '[]'))
from groups g where g.tenant = this_tenant() union all
select 'working_sets', to_jsonb(s) - '{tenant,version,pruned}'::text[] from working_sets s where s.tenant = this_tenant() union all
-- Without memories of other users, which only a memory of the whole tenant may have recalled into its set.
select 'working_items', to_jsonb(w) - '{tenant,version}'::text[] from working_items w
join working_sets s on s.tenant = w.tenant and s.id = w.set_id
join nodes n on n.tenant = w.tenant and n.id = w.node_id
  and (n.owner in (s.owner, '') or (s.owner = '' and starts_with(n.owner, %(anonymous)s)))
where w.tenant = this_tenant() union all
-- No pending embed jobs: reading the backup queues one for each missing vector. Embed jobs that were given up are kept.
select 'jobs', to_jsonb(j) - '{tenant,id,claimed_until,owner,bulk}'::text[] from jobs j
where j.tenant = this_tenant() and j.node_id is not null and (j.kind <> 'embed' or (
  j.parked_at is not null and j.model = (select m.name from models m where m.tenant = j.tenant and m.active))) union all
-- The chains of the audit with the keys that names are digests by, which only functions of the owner read.
select 'audit_chains', c.part from export_audit_chains() c union all
select 'audit', to_jsonb(a) - '{tenant,digest}'::text[] || jsonb_build_object('digest', encode(a.digest, 'hex'))
from audit a where a.tenant = this_tenant()

-- name: transaction_id
select pg_current_xact_id()::text as xid

-- name: set_language
update lexicon l set config = %(language)s::regconfig
where l.tenant = this_tenant() and not exists (select 1 from passages p where p.tenant = l.tenant)

-- name: take_space
select ensure_vector_space(%(model)s, %(dimension)s) as space

-- name: insert_robots
insert into robots select * from jsonb_populate_recordset(null::robots, %(rows)s::jsonb) on conflict do nothing

-- name: insert_sessions
insert into sessions as s select * from jsonb_populate_recordset(null::sessions, %(rows)s::jsonb)
on conflict (tenant, owner, session) do update set last_seq = greatest(s.last_seq, excluded.last_seq)

-- name: insert_nodes
-- Returns the nodes that were here already. Conflicts are found by the unique index, whatever the planner estimates.
with input as materialized (select * from jsonb_populate_recordset(null::nodes, %(rows)s::jsonb)),
inserted as (insert into nodes select * from input on conflict do nothing returning id)
select g.id as node_id from input g where g.id not in (select p.id from inserted p)

-- name: insert_audit_chains
select import_audit_chains(%(rows)s::jsonb)

-- name: insert_audit
select import_audit(%(rows)s::jsonb) as other

-- name: insert_node_state
insert into node_state select * from jsonb_populate_recordset(null::node_state, %(rows)s::jsonb) on conflict do nothing

-- name: insert_mentions
with input as materialized (select * from jsonb_populate_recordset(null::mentions, %(rows)s::jsonb)),
inserted as (insert into mentions select * from input on conflict do nothing returning id)
select g.node_id from input g where g.id not in (select p.id from inserted p)

-- name: unmatched_mentions
-- Looks mentions up by primary key alone: with the owner too, the planner would take an index and read the whole tenant.
select r.session from jsonb_populate_recordset(null::mentions, %(rows)s::jsonb) r
where (select m.owner from mentions m where m.tenant = this_tenant() and m.id = r.id) is distinct from r.owner limit 1

-- name: insert_keys
insert into keys select * from jsonb_populate_recordset(null::keys, %(rows)s::jsonb) on conflict do nothing

-- name: unmatched_keys
select r.key from jsonb_populate_recordset(null::keys, %(rows)s::jsonb) r
where (select k.node_id from keys k where k.tenant = this_tenant() and k.owner = r.owner and k.key = r.key
       and k.version = r.version) is distinct from r.node_id limit 1

-- name: insert_tags
insert into tags select * from jsonb_populate_recordset(null::tags, %(rows)s::jsonb) on conflict do nothing

-- name: insert_passages
-- A node that was here before already has its passages.
insert into passages
select r.* from jsonb_populate_recordset(null::passages, %(rows)s::jsonb) r
where not exists (select 1 from passages p where p.tenant = this_tenant() and p.node_id = r.node_id and p.id <> r.id
                  and p.ordinal = r.ordinal and p.mention_id is not distinct from r.mention_id)
on conflict do nothing

-- name: insert_vectors
insert into vectors
select r.* from jsonb_populate_recordset(null::vectors, %(rows)s::jsonb) r
where exists (select 1 from passages p where p.tenant = this_tenant() and p.id = r.passage_id)
on conflict do nothing

-- name: insert_relations
insert into relations select * from jsonb_populate_recordset(null::relations, %(rows)s::jsonb) on conflict do nothing

-- name: insert_supersessions
insert into supersessions select * from jsonb_populate_recordset(null::supersessions, %(rows)s::jsonb) on conflict do nothing

-- name: insert_supersession_audit
-- Without rows of edges that are another owner's, or that another edge stands for here.
insert into supersession_audit
select r.* from jsonb_populate_recordset(null::supersession_audit, %(rows)s::jsonb) r
where (select s.owner from supersessions s where s.tenant = this_tenant() and s.id = r.supersession) = r.owner
on conflict do nothing

-- name: insert_files
insert into files select * from jsonb_populate_recordset(null::files, %(rows)s::jsonb) on conflict do nothing

-- name: insert_file_chunks
insert into file_chunks select * from jsonb_populate_recordset(null::file_chunks, %(rows)s::jsonb) on conflict do nothing

-- name: without_vectors
-- "not in" becomes a hash table in any case. The planner has no statistics yet of tables that were filled a moment ago.
select distinct p.node_id as id from passages p
where p.tenant = this_tenant() and p.node_id = any(%(nodes)s::uuid[])
  and p.id not in (select v.passage_id from vectors v where v.tenant = this_tenant()
                   and v.space = (select m.space from models m where m.tenant = this_tenant() and m.active))
  and p.node_id not in (select j.node_id from jobs j where j.tenant = this_tenant() and j.kind = 'embed' and j.parked_at is not null
                        and j.node_id is not null
                        and j.model = (select m.name from models m where m.tenant = this_tenant() and m.active))

-- name: advance_sequences
-- The numbers of a session continue after the highest that was read.
insert into sessions as s (tenant, owner, session, last_seq)
select this_tenant(), r.owner, r.session, max(r.seq)
from jsonb_populate_recordset(null::mentions, %(rows)s::jsonb) r group by r.owner, r.session
on conflict (tenant, owner, session) do update set last_seq = excluded.last_seq where s.last_seq < excluded.last_seq

-- name: foreign_chunks
select r.mention_id as id from jsonb_to_recordset(%(rows)s::jsonb) as r(mention_id uuid, owner text)
join mentions m on m.tenant = this_tenant() and m.id = r.mention_id
where m.owner is distinct from r.owner limit 1

-- name: without_mentions
select n.id from nodes n where n.tenant = this_tenant() and n.id = any(%(nodes)s::uuid[])
  and not exists (select 1 from mentions m where m.tenant = n.tenant and m.node_id = n.id)

-- name: drop_keys
delete from keys where tenant = this_tenant() and node_id = any(%(nodes)s::uuid[])

-- name: drop_nodes
delete from nodes where tenant = this_tenant() and id = any(%(nodes)s::uuid[])

-- name: refresh
select refresh_live(%(nodes)s::uuid[]), refresh_metadata(%(nodes)s::uuid[])

-- name: refresh_passages
update passages p set live = n.live from nodes n
where n.tenant = this_tenant() and n.id = any(%(nodes)s::uuid[]) and p.tenant = n.tenant and p.node_id = n.id and p.live <> n.live

-- name: refresh_vectors
update vectors v set live = n.live from nodes n
where n.tenant = this_tenant() and n.id = any(%(nodes)s::uuid[]) and v.tenant = n.tenant and v.node_id = n.id and v.live <> n.live

-- name: insert_places
-- Without places of mentions that were purged here since, or that belong to another owner.
insert into places
select r.* from jsonb_populate_recordset(null::places, %(rows)s::jsonb) r
where (select m.owner from mentions m where m.tenant = this_tenant() and m.id = r.mention_id and not m.purged) = r.owner
on conflict do nothing

-- name: insert_decisions
insert into decisions select * from jsonb_populate_recordset(null::decisions, %(rows)s::jsonb) on conflict do nothing

-- name: insert_consultations
insert into consultations select * from jsonb_populate_recordset(null::consultations, %(rows)s::jsonb) on conflict do nothing

-- name: insert_wakings
insert into wakings as w select * from jsonb_populate_recordset(null::wakings, %(rows)s::jsonb)
on conflict (tenant, owner, robot) do update set at = greatest(w.at, excluded.at)

-- name: insert_merges
-- Without those that would make a chain with what is merged here.
insert into merges
select r.* from jsonb_populate_recordset(null::merges, %(rows)s::jsonb) r
where exists (select from nodes n where n.tenant = this_tenant() and n.id = r.node_id)
  and exists (select from nodes n where n.tenant = this_tenant() and n.id = r.into_id)
  and not exists (select from merges g where g.tenant = this_tenant() and (g.node_id = r.into_id or g.into_id = r.node_id))
on conflict do nothing

-- name: insert_summaries
-- Without those of messages that are forgotten or gone here.
insert into summaries
select r.* from jsonb_populate_recordset(null::summaries, %(rows)s::jsonb) r
where not exists (
  select from unnest(r.sources) as given(id)
  where not exists (select from mentions m where m.tenant = this_tenant() and m.id = given.id and m.owner = r.owner and m.session = r.session
                    and m.forgotten_at is null))
on conflict do nothing

-- name: insert_collections
insert into collections (tenant, name, config, created_at)
select this_tenant(), r.name, r.language::regconfig, r.created_at
from jsonb_to_recordset(%(rows)s::jsonb) as r(name text, language text, created_at timestamptz) on conflict do nothing

-- name: conflicting_collections
-- A collection that exists here with another language or another model.
select r.name, c.config::text as language, s.name as model, s.dimension
from jsonb_to_recordset(%(rows)s::jsonb) as r(name text, language text, model text, dimension integer)
cross join lateral ensure_collection(r.name, r.language::regconfig, r.model, r.dimension) c
left join vector_spaces s on s.id = c.space
where c.config <> r.language::regconfig or (r.model is not null and (s.name, s.dimension) is distinct from (r.model, r.dimension))
limit 1

-- name: insert_documents
-- A document that was here before already has its passages.
with input as materialized (
  select r.*, c.id as collection_id, c.space
  from jsonb_to_recordset(%(rows)s::jsonb) as r(
    collection text, uid uuid, namespace text[], id text, content text, value jsonb, metadata jsonb, payload bytea, reference text,
    created_at timestamptz, place integer, updated_at timestamptz, ttl interval, expires_at timestamptz, passages jsonb)
  join collections c on c.tenant = this_tenant() and c.name = r.collection),
inserted as (
  insert into documents (tenant, uid, collection, namespace, id, content, value, metadata, payload, reference, created_at, place,
                         updated_at, ttl, expires_at)
  select this_tenant(), g.uid, g.collection_id, g.namespace, g.id, g.content, g.value, g.metadata, g.payload, g.reference,
         g.created_at, g.place, g.updated_at, g.ttl, g.expires_at
  from input g order by g.uid on conflict do nothing returning uid)
insert into document_passages (tenant, document, ordinal, collection, space, length, lexemes, weights, embedding, exact)
select this_tenant(), g.uid, p.ordinal, g.collection_id,
       case when num_nonnulls(p.embedding, p.exact) > 0 then g.space end, p.length,
       coalesce((select array_to_tsvector(array_agg(g.collection_id || ':' || w)) from jsonb_array_elements_text(p.words) w), ''),
       p.weights, p.embedding, p.exact
from input g join inserted on inserted.uid = g.uid,
     passages_from_json(g.passages) p

-- name: insert_groups
-- A group that exists here stays as it is, with its members. New members belong to no process yet.
with input as materialized (
  select * from jsonb_to_recordset(%(rows)s::jsonb) as r(
    name text, budget integer, policy text, lease double precision, term bigint, created_at timestamptz, members jsonb)),
inserted as (
  insert into groups (tenant, name, budget, policy, lease, term, created_at)
  select this_tenant(), g.name, g.budget, g.policy, g.lease, g.term, g.created_at
  from input g order by g.name on conflict do nothing returning name)
insert into group_members (tenant, group_name, robot, role, joined_at, heartbeat_at)
select this_tenant(), g.name, m.robot, m.role, m.joined_at, m.heartbeat_at
from input g join inserted on inserted.name = g.name,
     jsonb_to_recordset(g.members) as m(robot text, role text, joined_at timestamptz, heartbeat_at timestamptz)

-- name: open_working_sets
-- The sets that may be filled, by their ids in the backup. A set with items here stays as it is.
with input as materialized (
  select * from jsonb_to_recordset(%(rows)s::jsonb) as r(id text, owner text, shared boolean, holder text, session text)),
inserted as (
  insert into working_sets as s (tenant, owner, shared, holder, session)
  select distinct this_tenant(), g.owner, g.shared, g.holder, g.session from input g order by 2, 3, 4, 5
  on conflict (tenant, owner, shared, holder, session) do update set version = s.version + 1
  where not exists (select 1 from working_items w where w.tenant = s.tenant and w.set_id = s.id and w.evicted_at is null)
  returning s.id, s.version, s.owner, s.shared, s.holder, s.session)
select g.id as backup_id, p.id, p.version from input g join inserted p using (owner, shared, holder, session)

-- name: insert_working_items
-- Without nodes that were purged here since; forgotten ones come as evicted. Items that have left the set here stay out.
insert into working_items (tenant, set_id, node_id, version, added_at, accessed_at, access_count, evicted_at, policy, score)
select this_tenant(), r.set_id, r.node_id, r.version, r.added_at, r.accessed_at, r.access_count,
       case when n.live then r.evicted_at else coalesce(r.evicted_at, now()) end,
       case when n.live or r.evicted_at is not null then r.policy end,
       case when n.live or r.evicted_at is not null then r.score end
from jsonb_populate_recordset(null::working_items, %(rows)s::jsonb) r
join nodes n on n.tenant = this_tenant() and n.id = r.node_id
on conflict do nothing

-- name: insert_jobs
insert into jobs (tenant, kind, model, node_id, owner, bulk, attempts, run_at, parked_at, error, created_at)
select this_tenant(), r.kind, r.model, r.node_id, n.owner, true, r.attempts, r.run_at, r.parked_at, r.error, r.created_at
from jsonb_populate_recordset(null::jobs, %(rows)s::jsonb) r
join nodes n on n.tenant = this_tenant() and n.id = r.node_id
on conflict do nothing
