-- Triggers, in a file of their own: "create or replace trigger" locks its table against writers, so this is not applied each
-- time that a function changes.

create or replace trigger notify_change after insert or update on working_sets for each row when (new.shared) execute function notify_change();
create or replace trigger notify_deletion after delete on working_sets for each row when (old.shared) execute function notify_change();
create or replace trigger notify_change after update of term on groups for each row execute function notify_change();

create or replace trigger hide_or_show_facts after update of live on nodes for each row when (old.live is distinct from new.live)
execute function hide_or_show_facts();
create or replace trigger delete_facts after delete on nodes for each row execute function delete_facts();

create or replace trigger clear_purged_place after update of purged on mentions for each row when (new.purged and not old.purged)
execute function clear_purged_place();
