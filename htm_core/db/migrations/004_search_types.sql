-- The composite types that the search functions take and pass on.
--
-- PostgreSQL cannot replace a type, and statements of older processes build rows of it. So a type is never changed: what needs
-- another column is a new type with a new name.

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

-- How much each signal counts beside the vector and the words; 0 switches it off.
create type signal_weights as (
  context       float8,
  session       float8,
  speaker       float8,
  time          float8,
  prior         float8,
  corroboration float8,
  tags          float8
);

-- The words of a query as they weigh in a tenant or a collection, the rarest first.
create type weighted_query as (
  lexemes    text[],
  documents  bigint[],                          -- in how many passages each lexeme occurs
  weights    sparsevec,                         -- all lexemes in one vector, by their inverse document frequency
  best_score float8,                            -- more than this no passage can score
  top_terms  sparsevec[]                        -- the heaviest lexemes, each in a vector of its own: they are compared one by one
);

-- How the two searches of recall go about it.
create type search_plan as (
  node_ids   uuid[],                            -- the nodes that pass the filters; null: they are checked one by one, or there are none
  by_node    boolean,                           -- look these nodes up instead of following an index
  exact      boolean,                           -- read all rows of the owners instead of following an index
  filtered   boolean,                           -- there are filters beside the owners
  candidates integer                            -- so many passages with the rarest words are enough
);

-- What the vector search found, nearest first: nodes, each with its nearest passage and how far that is.
create type vector_matches as (nodes uuid[], passages uuid[], distances float8[]);

-- What must hold of a document. Null members are neutral, except `at`: what has expired by then is gone.
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

-- A document as one of the two searches found it, with its rank there.
create type document_match as (document uuid, rank bigint);
