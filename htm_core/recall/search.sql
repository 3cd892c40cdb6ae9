-- name: candidates
-- In the same message what memories have for words that they do not have, of those that may be misspelt; and whether anything is superseded or merged,
-- so that nobody looks for it where nothing is.
select c.*, exists (select from supersessions s where s.tenant = this_tenant() and s.relation = 'supersedes') as superseding,
  exists (select from merges g where g.tenant = this_tenant() and g.undone_at is null
          and (%(owners)s::text[] is null or g.owner = any(%(owners)s::text[]))) as merged,
  case when cardinality(%(doubtful)s::text[]) + cardinality(%(joined)s::text[]) > 0 then similar_words(%(words)s, %(doubtful)s::text[],
    %(joined)s::text[],
    row(%(owners)s::text[], %(robots)s::text[], %(session)s::text, %(windows)s::tstzmultirange, %(tags)s::text[],
        %(equal)s::jsonb, %(metadata)s::jsonb, %(as_of)s::timestamptz, %(valid_at)s::timestamptz, %(sources)s::text[],
        %(min_trust)s::smallint)::conditions) end as similar_words
from recall_candidates(%(words)s, %(embedding)b, %(model)s,
  row(%(owners)s::text[], %(robots)s::text[], %(session)s::text, %(windows)s::tstzmultirange, %(tags)s::text[],
      %(equal)s::jsonb, %(metadata)s::jsonb, %(as_of)s::timestamptz, %(valid_at)s::timestamptz, %(sources)s::text[],
      %(min_trust)s::smallint)::conditions,
  %(pool)s, %(limit)s, %(vector_share)s, %(phrases)s::text[], %(forms)s::text[], %(with_context)s, %(with_use)s) c

-- name: hits
-- JSON comes as text, which takes half the time to read that its own binary form does, and so do ids.
select id::text, content, tokens, created_at, importance, metadata::text, access_count, accessed_at, passage, passage_length, tags, keys, version,
       mentions::text, place
from recall_hits(%(nodes)s::uuid[], %(passages)s::uuid[],
  row(%(owners)s::text[], %(robots)s::text[], %(session)s::text, %(windows)s::tstzmultirange, %(tags)s::text[],
      %(equal)s::jsonb, %(metadata)s::jsonb, %(as_of)s::timestamptz, %(valid_at)s::timestamptz, %(sources)s::text[],
      %(min_trust)s::smallint)::conditions)

-- name: nearest
select id::text, content, tokens, created_at, importance, metadata::text, access_count, accessed_at, passage, passage_length, tags, keys, version,
       mentions::text, place, vector_rank, cosine,
  exists (select from supersessions s where s.tenant = this_tenant() and s.relation = 'supersedes') as superseding,
  exists (select from merges g where g.tenant = this_tenant() and g.undone_at is null
          and (%(owners)s::text[] is null or g.owner = any(%(owners)s::text[]))) as merged
from recall_nearest(%(embedding)b, %(model)s,
  row(%(owners)s::text[], %(robots)s::text[], %(session)s::text, %(windows)s::tstzmultirange, %(tags)s::text[],
      %(equal)s::jsonb, %(metadata)s::jsonb, %(as_of)s::timestamptz, %(valid_at)s::timestamptz, %(sources)s::text[],
      %(min_trust)s::smallint)::conditions,
  %(pool)s, %(limit)s, %(min_score)s)

-- name: preceding
select m.id as follower, b.* from mentions m, lateral (
  select s.* from mentions_with_content s
  where s.tenant = m.tenant and s.owner = m.owner and s.session = m.session and s.seq < m.seq and s.seq >= m.seq - 5
    and s.forgotten_at is null and s.node_id is not null and (s.expires_at is null or s.expires_at > memory_time())
  order by s.seq desc limit 1) b
where m.tenant = this_tenant() and m.id = any(%(ids)s::uuid[])
  and (m.role is not null or m.name is not null or m.session <> '')

-- name: count_words
select refresh_lexeme_counts() as total
