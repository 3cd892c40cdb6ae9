-- Triggers, in a file of their own: "create or replace trigger" locks its table against writers, so this is not applied each
-- time that a function changes.

create or replace trigger notify_change after insert or update on htm.working_sets for each row when (new.shared) execute function htm.notify_change();
create or replace trigger notify_deletion after delete on htm.working_sets for each row when (old.shared) execute function htm.notify_change();
create or replace trigger notify_change after update of term on htm.groups for each row execute function htm.notify_change();

create or replace trigger hide_or_show_facts after update of live on htm.nodes for each row when (old.live is distinct from new.live)
execute function htm.hide_or_show_facts();
create or replace trigger delete_facts after delete on htm.nodes for each row execute function htm.delete_facts();

create or replace trigger clear_purged_place after update of purged on htm.mentions for each row when (new.purged and not old.purged)
execute function htm.clear_purged_place();

create or replace trigger drop_made_of_mention after update of forgotten_at, purged on htm.mentions for each row
when (old.forgotten_at is distinct from new.forgotten_at or old.purged is distinct from new.purged) execute function htm.drop_made_of_mention();
create or replace trigger drop_made_of_deleted_mention after delete on htm.mentions for each row execute function htm.drop_made_of_mention();

create or replace trigger drop_kept_answers after update of forgotten_at, purged on htm.mentions for each row
when (old.forgotten_at is distinct from new.forgotten_at or old.purged is distinct from new.purged) execute function htm.drop_kept_answers();
create or replace trigger drop_kept_answers_of_deleted after delete on htm.mentions for each row execute function htm.drop_kept_answers();

create or replace trigger vector_spaces_changed after update of indexed, quantized or delete on htm.vector_spaces
for each statement execute function htm.vector_spaces_changed();
