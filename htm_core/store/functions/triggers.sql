-- Triggers, in a file of their own: "create or replace trigger" locks its table against writers, so this is not applied each
-- time that a function changes.

create or replace trigger told after insert or update on working_sets for each row when (new.shared) execute function tell();
create or replace trigger told_of_the_end after delete on working_sets for each row when (old.shared) execute function tell();
create or replace trigger told after update of term on groups for each row execute function tell();

create or replace trigger facts_follow after update of live on nodes for each row when (old.live is distinct from new.live)
execute function facts_follow();
create or replace trigger facts_go after delete on nodes for each row execute function facts_go();

create or replace trigger places_go after update of purged on mentions for each row when (new.purged and not old.purged)
execute function places_go();
