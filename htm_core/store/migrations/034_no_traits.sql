-- What a passage is like by its words was weighed by the ranker, which reads no English any more.
-- Without "oldest client", since older processes write the column. Its index, passages_with_wishes, goes with it.

alter table passages drop column traits;
