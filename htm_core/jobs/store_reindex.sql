-- name: tenant_exists
select exists (select 1 from lexicon where tenant = this_tenant())
       or exists (select 1 from collections where tenant = this_tenant()) as known

-- name: passages
-- Renews the lexemes of the next passages that were indexed with accents.
with batch as materialized (
  select p.id, p.lexemes, p.weights from passages p
  where p.tenant = this_tenant() and (%(after)s::uuid is null or p.id > %(after)s::uuid)
  order by p.id limit %(limit)s),
renewed as (
  update passages p set lexemes = r.new_lexemes, weights = r.new_weights
  from batch b, lexicon l, without_accents(b.lexemes, b.weights, l.config, l.prefix) r
  where p.tenant = this_tenant() and p.id = b.id and l.tenant = this_tenant() and fold_accents(b.lexemes::text) <> b.lexemes::text
  returning p.id)
select (select id from batch order by id desc limit 1) as last, (select count(*) from batch) as seen,
       (select count(*) from renewed) as renewed

-- name: documents
with batch as materialized (
  select p.document, p.ordinal, p.collection, p.lexemes, p.weights from document_passages p
  where p.tenant = this_tenant() and (%(after)s::uuid is null or p.document > %(after)s::uuid)
    and p.document <= coalesce((
      select x.document from document_passages x
      where x.tenant = this_tenant() and (%(after)s::uuid is null or x.document > %(after)s::uuid)
      order by x.document offset %(limit)s limit 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff')),
renewed as (
  update document_passages p set lexemes = r.new_lexemes, weights = r.new_weights
  from batch b, collections c, without_accents(b.lexemes, b.weights, c.config, c.id || ':') r
  where p.tenant = this_tenant() and p.document = b.document and p.ordinal = b.ordinal
    and c.tenant = this_tenant() and c.id = b.collection and fold_accents(b.lexemes::text) <> b.lexemes::text
  returning 1)
select (select document from batch order by document desc limit 1) as last, (select count(*) from batch) as seen,
       (select count(*) from renewed) as renewed
