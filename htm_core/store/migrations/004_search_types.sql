-- The composite types that the search functions take and pass on.
--
-- PostgreSQL cannot replace a type, and a statement of an older process builds a row of it. So a type is never changed: what
-- needs another column is a new type with a new name.

-- What must hold of a node, and of one and the same of its mentions. Null members are neutral.
create type filters as (
  owners   text[],                              -- null: everybody's
  robots   text[],
  session  text,
  windows  tstzmultirange,
  tags     text[],                              -- each of them, or one below it
  equal    jsonb,                               -- metadata @> equal
  metadata jsonb                                -- a compiled filter, for matches()
);

-- How much each signal counts beside the two arms; 0 switches it off.
create type signals as (context float8, session float8, speaker float8, moment float8, standing float8,
                        corroboration float8, tags float8);

-- A question as its words weigh in this tenant: rarest first, with how many passages have each; all of them in one vector,
-- and the heaviest each in one of its own, so that what passages say can be compared word by word.
create type question as (lexemes text[], documents bigint[], weights sparsevec, best float8, apart sparsevec[]);

-- How the arms look: through chosen nodes one by one, through all rows of the owners, or through the index; and then,
-- where there are filters, either for chosen nodes or checking each.
create type route as (chosen uuid[], probe boolean, small boolean, narrow boolean, enough integer);

-- The nodes whose passages mean what a question means, nearest first, each with its nearest passage and how far that is.
create type nearest as (nodes uuid[], passages uuid[], distances float8[]);

-- What must hold of a document. Null members are neutral, but `at`: what has expired by then is gone.
create type document_filters as (
  collection     integer,
  uids           uuid[],
  below          text[] collate "C",            -- labels that its namespace begins with
  refs           text[],
  metadata_equal jsonb,                         -- metadata @> this
  metadata       jsonb,                         -- a compiled filter, for matches()
  value_equal    jsonb,
  value          jsonb,
  at             timestamptz
);

-- A document as one arm found it, best first.
create type found_document as (document uuid, place bigint);
