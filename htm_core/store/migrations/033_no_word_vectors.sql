-- The vectors of words are gone: a reader reads the first hits, and recall compares no words with them any more.
-- Without "oldest client", since older processes write the column.

alter table vectors drop column words;
