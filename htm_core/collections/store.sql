-- name: ensure
select c.id, s.name as model, s.dimension, coalesce(s.documents_indexed, false) as indexed
from ensure_collection(%(name)s, %(language)s::regconfig, %(model)s::text, %(dimension)s::integer) c
left join vector_spaces s on s.id = c.space

-- name: find
select c.id, s.name as model, s.dimension, coalesce(s.documents_indexed, false) as indexed
from collections c left join vector_spaces s on s.id = c.space
where c.tenant = this_tenant() and c.name = %(name)s

-- name: upsert
insert into documents (tenant, uid, collection, namespace, id, content, value, metadata, payload, reference,
                       created_at, place, updated_at, ttl, expires_at)
select this_tenant(), given.uid, %(collection)s, labels_from_json(given.namespace), given.id, given.content, given.value,
       given.metadata, given.payload, given.reference, %(at)s, given.place, %(at)s, given.ttl, given.expires_at
from unnest(%(uids)s::uuid[], %(namespaces)s::jsonb[], %(ids)s::text[], %(contents)s::text[], %(values)s::jsonb[],
            %(metadatas)s::jsonb[], %(payloads)s::bytea[], %(references)s::text[], %(ttls)s::interval[],
            %(expiries)s::timestamptz[])
     with ordinality as given(uid, namespace, id, content, value, metadata, payload, reference, ttl, expires_at, place)
order by given.uid                                   -- one order for all writers: no deadlock
on conflict (tenant, uid) do update
set content = excluded.content, value = excluded.value, metadata = excluded.metadata, payload = excluded.payload,
    reference = excluded.reference, updated_at = excluded.updated_at, ttl = excluded.ttl, expires_at = excluded.expires_at,
    created_at = case when documents.expires_at <= %(at)s then excluded.created_at else documents.created_at end,
    place = case when documents.expires_at <= %(at)s then excluded.place else documents.place end

-- name: lock
-- Locks the documents that a transaction writes in two steps, in the order of all writers.
select uid from documents where tenant = this_tenant() and uid = any(%(uids)s::uuid[]) order by uid for update

-- name: delete_passages
delete from document_passages where tenant = this_tenant() and document = any(%(uids)s::uuid[])

-- name: insert_passages
insert into document_passages (tenant, document, ordinal, collection, space, length, lexemes, weights, embedding, exact)
select this_tenant(), given.document, given.ordinal, c.id,
       case when num_nonnulls(given.embedding, given.exact) > 0 then c.space end,
       w.length, with_prefix(w.words, c.id || ':'), bm25_weights(w.words, w.length, %(k1)s::real, %(b)s::real, u.length),
       given.embedding, given.exact
from collections c,
     average_passage_length(c.id) u(length),
     unnest_passages(%(documents)s::uuid[], %(ordinals)s::int[], %(words)s::text[], %(embeddings)b, %(exacts)b) given,
     lateral (select x as words, lexeme_count(x) as length from to_lexemes(c.config, given.body) x) w
where c.tenant = this_tenant() and c.id = %(collection)s

-- name: exceeds
select count(*) > %(threshold)s as outgrown from (
  select 1 from document_passages where tenant = this_tenant() and collection = %(collection)s limit %(threshold)s + 1) x

-- name: read
select d.uid, d.namespace, d.id, d.content, d.value, d.metadata, d.payload, d.reference, d.created_at, d.updated_at, d.ttl,
       d.expires_at
from documents d
where d.tenant = this_tenant() and d.uid = any(%(uids)s::uuid[]) and (d.expires_at is null or d.expires_at > %(at)s)

-- name: extend_ttl
with locked as (
  select uid from documents
  where tenant = this_tenant() and uid = any(%(uids)s::uuid[]) and ttl is not null and expires_at > %(at)s
  order by uid for update)
update documents d set expires_at = %(at)s::timestamptz + d.ttl from locked where d.tenant = this_tenant() and d.uid = locked.uid

-- name: search
with hits as materialized (
  select * from search_documents(
    row(%(collection)s::int, %(uids)s::uuid[], %(namespace_prefix)s::text[], %(references)s::text[], %(metadata_equal)s::jsonb,
        %(metadata)s::jsonb, %(value_equal)s::jsonb, %(value)s::jsonb, %(at)s::timestamptz)::document_filters,
    %(query_words)s, %(embedding)s, %(vector_pool)s, %(text_pool)s, %(vector_share)s, %(min_score)s, %(limit)s, %(offset)s))
select d.uid, d.namespace, d.id, d.content, d.value, d.metadata, d.payload, d.reference, d.created_at, d.updated_at, d.ttl,
       d.expires_at, h.score, h.vector_rank, h.text_rank, h.cosine, h.words,
       case when %(with_vectors)s then coalesce(p.exact::real[], p.embedding::real[]) end as vector
from hits h
join documents d on d.tenant = this_tenant() and d.uid = h.uid
left join document_passages p
  on %(with_vectors)s and p.tenant = d.tenant and p.document = d.uid and p.ordinal = coalesce(h.ordinal, 0)
order by h.place

-- name: list_items
with hits as materialized (
  select * from list_documents(
    row(%(collection)s::int, %(uids)s::uuid[], %(namespace_prefix)s::text[], %(references)s::text[], %(metadata_equal)s::jsonb,
        %(metadata)s::jsonb, %(value_equal)s::jsonb, %(value)s::jsonb, %(at)s::timestamptz)::document_filters,
    %(limit)s, %(offset)s))
select d.uid, d.namespace, d.id, d.content, d.value, d.metadata, d.payload, d.reference, d.created_at, d.updated_at, d.ttl,
       d.expires_at, null as score, null as vector_rank, null as text_rank, null as cosine, null as words,
       case when %(with_vectors)s then (
         select coalesce(p.exact::real[], p.embedding::real[]) from document_passages p
         where p.tenant = d.tenant and p.document = d.uid and p.space is not null order by p.ordinal limit 1) end as vector
from hits h join documents d on d.tenant = this_tenant() and d.uid = h.uid
order by h.place

-- name: list_latest
with hits as materialized (
  select * from list_latest_documents(
    row(%(collection)s::int, %(uids)s::uuid[], %(namespace_prefix)s::text[], %(references)s::text[], %(metadata_equal)s::jsonb,
        %(metadata)s::jsonb, %(value_equal)s::jsonb, %(value)s::jsonb, %(at)s::timestamptz)::document_filters,
    %(limit)s, %(offset)s))
select d.uid, d.namespace, d.id, d.content, d.value, d.metadata, d.payload, d.reference, d.created_at, d.updated_at, d.ttl,
       d.expires_at, null as score, null as vector_rank, null as text_rank, null as cosine, null as words,
       case when %(with_vectors)s then (
         select coalesce(p.exact::real[], p.embedding::real[]) from document_passages p
         where p.tenant = d.tenant and p.document = d.uid and p.space is not null order by p.ordinal limit 1) end as vector
from hits h join documents d on d.tenant = this_tenant() and d.uid = h.uid
order by h.place

-- name: ids
-- In the order of the primary key, so that each page goes on where the last one ended.
select d.id from documents d
where d.tenant = this_tenant() and d.collection = %(collection)s and d.namespace = %(namespace)s::text[]
  and (d.expires_at is null or d.expires_at > %(at)s) and starts_with(d.id, %(prefix)s)
  and (%(after)s::uuid is null or d.uid > %(after)s)
order by d.uid limit %(limit)s

-- name: server_time
select clock_timestamp() as now

-- name: count
select count_documents(
  row(%(collection)s::int, %(uids)s::uuid[], %(namespace_prefix)s::text[], %(references)s::text[], %(metadata_equal)s::jsonb,
      %(metadata)s::jsonb, %(value_equal)s::jsonb, %(value)s::jsonb, %(at)s::timestamptz)::document_filters) as count

-- name: delete
with locked as (
  select d.uid from documents d
  where d.tenant = this_tenant() and d.uid in (
    select l.uid from list_documents(
      row(%(collection)s::int, %(uids)s::uuid[], %(namespace_prefix)s::text[], %(references)s::text[], %(metadata_equal)s::jsonb,
          %(metadata)s::jsonb, %(value_equal)s::jsonb, %(value)s::jsonb, %(at)s::timestamptz)::document_filters, null, 0) l)
  order by d.uid for update)
delete from documents d using locked where d.tenant = this_tenant() and d.uid = locked.uid

-- name: release_space
update collections set space = null where tenant = this_tenant() and id = %(collection)s

-- name: clear
delete from documents where tenant = this_tenant() and collection = %(collection)s

-- name: sweep
with locked as (
  select uid from documents
  where tenant = this_tenant() and collection = %(collection)s and expires_at <= %(at)s order by uid for update)
delete from documents d using locked where d.tenant = this_tenant() and d.uid = locked.uid

-- name: namespaces
with existing as materialized (                  -- each namespace is compared once, however many documents it has
  select distinct d.namespace from documents d
  where d.tenant = this_tenant() and d.collection = %(collection)s and (d.expires_at is null or d.expires_at > %(at)s))
select distinct k.namespace[:coalesce(%(depth)s::int, cardinality(k.namespace))] as namespace from existing k
where namespace_begins_with(k.namespace, %(prefix)s::text[]) and namespace_ends_with(k.namespace, %(suffix)s::text[])
order by namespace limit %(limit)s offset %(offset)s

-- name: set_times
-- When documents were first and last put elsewhere, before they were moved in.
update documents d set created_at = given.created_at, updated_at = given.updated_at
from unnest(%(uids)s::uuid[], %(created)s::timestamptz[], %(updated)s::timestamptz[]) given(uid, created_at, updated_at)
where d.tenant = this_tenant() and d.uid = given.uid
