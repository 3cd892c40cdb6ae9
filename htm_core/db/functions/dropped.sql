-- Functions, views and triggers of earlier releases that no file defines any more, in any order.
--
-- What is removed from a file, or gets other argument types, another return type or other argument names, is dropped here, as
-- `drop function if exists NAME(TYPES);`: "create or replace" would leave the old one beside the new. Dropped is only what
-- no process that may still run calls: see docs/why/store.md. A function whose return type or argument names changed, and
-- which is defined again further on, is dropped and made anew each time this file changes.
-- A function that functions of the language sql call is dropped with `cascade`: all files are applied again after this one.

-- Of 0.1.0:
drop function if exists htm.recall(text, pgvector.halfvec, text, htm.filters, integer, integer, float8, float8, text[], tstzmultirange, htm.signal_weights);
drop function if exists htm.plan_search(htm.filters, integer);
drop function if exists htm.vector_search(pgvector.halfvec, htm.vector_spaces, htm.filters, htm.search_plan, integer);
drop function if exists htm.days_outside(timestamptz, tstzmultirange);
drop function if exists htm.context_share(bigint);
drop function if exists htm.corroborated_coverage(float8, float8, float8);
drop function if exists htm.matching_speakers(text[], htm.filters);
drop function if exists htm.text_search(htm.weighted_query, htm.filters, htm.search_plan, integer);
drop function if exists htm.node_matches(uuid, htm.filters);
drop function if exists htm.filtered_nodes(htm.filters, integer);
drop function if exists htm.filters_mentions(htm.filters) cascade;
drop function if exists htm.mention_matches(htm.mentions, text[], text[], text, tstzmultirange, jsonb, jsonb) cascade;
drop function if exists htm.change_working_set(text, boolean, text, text, bigint, uuid[], float8[], timestamptz, text, uuid[], timestamptz[], timestamptz[], bigint[], uuid[]);
