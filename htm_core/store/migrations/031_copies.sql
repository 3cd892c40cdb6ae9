-- A copy of a message is the same saying: which mention it copies, and by what a copy of a purged one is known.
-- oldest client: 20

alter table mentions
  add column copy_of uuid,                          -- the first mention of this saying; null: this one, or it is from before
  add column purged_as text;                        -- of a purged mention: a digest of its id or time, and its words (functions/copies.sql)
create index mentions_purged on mentions (tenant, owner, purged_as) where purged_as is not null;
