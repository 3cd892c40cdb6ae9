-- What working memory did at each turn of a session: what recall brought into it, and what left it. docs/why/working-changes.md says why.
-- oldest client: 18
--
-- A record for people who look, bounded in age and in length. Nothing is decided by it, so it is in no backup.
--
-- One row for each change of a set and each turn that the change is of. The nodes are in lists, not in rows of their own: a change then costs
-- one row, however much it moves. All of them have a row in working_items, by which whoever deletes nodes finds the sets that name them.
create table working_changes (
  tenant   text not null,
  set_id   uuid not null,
  version  bigint not null,                     -- of the set, that this change made
  seq      bigint not null,                     -- of the last mention of the session by then; 0: there was none
  at       timestamptz not null,
  recalled uuid[] not null,                     -- came by recall; what was said came with its mention, which the session has
  evicted  uuid[] not null,                     -- left; what was forgotten is not in the list
  scores   double precision[] not null,         -- keep-scores of those that left, in their order; null: without a receipt
  policy   text,                                -- by which they left; null: somebody removed them
  primary key (tenant, set_id, version, seq),
  foreign key (tenant, set_id) references working_sets (tenant, id) on delete cascade
);
call add_tenant_policy('working_changes');
-- For deleting what is old. Rows come in the order of their times, so this index costs a writer next to nothing.
create index working_changes_by_time on working_changes using brin (at) with (pages_per_range = 32);
