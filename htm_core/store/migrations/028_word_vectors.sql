-- The vectors of a passage's words, packed (rules/word_vectors.py): recall compares the words of a question with them.
-- oldest client: 20

alter table vectors add column words bytea;     -- null: of a model that gives none, or from before
