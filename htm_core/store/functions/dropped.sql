-- Functions, views and triggers of earlier versions that no file defines any more, in any order.
--
-- What is removed from a file, or gets other argument types, another return type or other argument names, is dropped here, as
-- `drop function if exists NAME(TYPES);`: "create or replace" would leave the old one beside the new. Dropped is only what
-- no process that may still run calls: see docs/why/store.md. A function whose return type or argument names changed, and
-- which is defined again further on, is dropped and made anew each time this file changes (write_entries takes more arguments).
-- A function that functions of the language sql call is dropped with `cascade`: all files are applied again after this one.

drop function if exists htm.recall(text, pgvector.halfvec, text, htm.filters, integer, integer, float8, float8, text[], tstzmultirange, htm.signal_weights);
drop function if exists htm.recall(text, pgvector.halfvec, text, htm.filters, integer, integer, float8, float8, text[], tstzmultirange, htm.signal_weights, text[]);
drop function if exists htm.recall(text, pgvector.halfvec, text, htm.filters, integer, integer, float8, float8, text[], tstzmultirange, htm.signal_weights, text[], text[]);
drop function if exists htm.due_tenants(text, text, boolean, text, integer);
drop function if exists htm.claim_jobs(text, text, integer, float8, boolean[], text[], jsonb);
drop function if exists htm.plan_search(htm.filters, integer);
drop function if exists htm.vector_search(pgvector.halfvec, htm.vector_spaces, htm.filters, htm.search_plan, integer);
drop function if exists htm.write_entries(text, text, text, uuid[], text[], int[], timestamptz[], float8[], jsonb[], boolean[], uuid[], uuid[], int[], int[], int[], text[], uuid[], uuid[], text[], text[], text[], text[], timestamptz[], text[], text[], jsonb[], bytea[], boolean[]);
drop function if exists htm.write_entries(text, text, text, uuid[], text[], int[], timestamptz[], float8[], jsonb[], boolean[], int, uuid[], uuid[], int[], int[], int[], text[], uuid[], uuid[], text[], text[], text[], text[], timestamptz[], text[], text[], jsonb[], bytea[], boolean[]);
drop function if exists htm.recall(text, pgvector.halfvec, text, htm.filters, integer, integer, float8, float8, text[], tstzmultirange, htm.signal_weights, text[], text[], float8[], float8[]);
drop function if exists htm.recall(text, pgvector.halfvec, text, htm.filters, integer, integer, float8, float8, text[], tstzmultirange, htm.signal_weights, text[], text[], float8[], float8[], boolean);
drop function if exists htm.days_outside(timestamptz, tstzmultirange);
drop function if exists htm.context_share(bigint);
drop function if exists htm.corroborated_coverage(float8, float8, float8);
drop function if exists htm.write_entries(text, text, text, uuid[], text[], int[], timestamptz[], float8[], jsonb[], boolean[], int, uuid[], uuid[], int[], int[], int[], text[], uuid[], uuid[], text[], text[], text[], text[], timestamptz[], text[], text[], jsonb[], bytea[], boolean[], int[]);
drop function if exists htm.matching_speakers(text[], htm.filters);
drop function if exists htm.plan_search(htm.filters, integer, boolean);
drop function if exists htm.node_condition(htm.filters);
drop function if exists htm.vector_search(pgvector.halfvec, htm.vector_spaces, htm.filters, htm.search_plan, integer, boolean);
drop function if exists htm.exact_vector_search(pgvector.halfvec, integer, text[], uuid[], integer);
drop function if exists htm.text_search(htm.weighted_query, htm.filters, htm.search_plan, integer);
drop function if exists htm.exact_text_search(pgvector.sparsevec, tsquery, htm.filters, uuid[], boolean, integer);
drop function if exists htm.phrase_search(text[], htm.filters, htm.search_plan, uuid[]);
drop function if exists htm.node_matches(uuid, htm.filters);
drop function if exists htm.filtered_nodes(htm.filters, integer);
drop function if exists htm.filters_mentions(htm.filters) cascade;
drop function if exists htm.mention_matches(htm.mentions, text[], text[], text, tstzmultirange, jsonb, jsonb) cascade;
drop function if exists htm.recall_nearest(pgvector.halfvec, text, htm.conditions, integer, integer, float8);
drop function if exists htm.recall_hits(uuid[], uuid[], htm.conditions);
drop function if exists htm.change_working_set(text, boolean, text, text, bigint, uuid[], float8[], timestamptz, text, uuid[], timestamptz[], timestamptz[], bigint[], uuid[]);
drop function if exists htm.write_entries(text, text, text, uuid[], text[], int[], timestamptz[], float8[], jsonb[], boolean[], int, uuid[], uuid[], int[], int[], int[], text[], uuid[], uuid[], text[], text[], text[], text[], timestamptz[], text[], text[], jsonb[], bytea[], boolean[], int[], tstzrange[], text[], timestamptz[], text[], smallint[]);
drop function if exists htm.unnest_vectors(uuid[], pgvector.halfvec[], bytea[]);
drop function if exists htm.words_of_passages(uuid[], text);
drop function if exists htm.write_entries(text, text, text, uuid[], text[], int[], timestamptz[], float8[], jsonb[], boolean[], int, uuid[], uuid[], int[], int[], int[], text[], uuid[], uuid[], text[], text[], text[], text[], timestamptz[], text[], text[], jsonb[], bytea[], boolean[], int[], tstzrange[], text[], timestamptz[], text[], smallint[], boolean);
drop function if exists htm.recall_candidates(text, pgvector.halfvec, text, htm.conditions, integer, integer, float8, text[], text[], boolean, boolean, boolean, boolean);
drop function if exists htm.standing_search(pgvector.halfvec, integer, text[], integer);
drop function if exists htm.user_says(uuid);
drop function if exists htm.is_users_word(text, text, smallint) cascade;
drop function if exists htm.recall_candidates(text, pgvector.halfvec, text, htm.conditions, integer, integer, float8, text[], text[], boolean, boolean, boolean);
