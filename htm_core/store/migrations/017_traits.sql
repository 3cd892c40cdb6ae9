-- What the ranker knows of a passage by its words alone: whether it asks, names a time, says "I" …, a bit each (rules/text/traits.py).
-- oldest client: 16

alter table passages add column traits integer;    -- null: written before there were any, until `htm reindex`
