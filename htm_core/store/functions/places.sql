-- What is purged leaves its place, and the audit keeps that there was a decision, not its words.
create or replace function clear_purged_place() returns trigger language plpgsql set search_path from current as $$
begin
  delete from places p where p.tenant = new.tenant and p.mention_id = new.id;
  update decisions d set summary = '', reason = '', against = '[]'
  where d.tenant = new.tenant and (d.mention_id = new.id or d.note_id = new.id);
  return null;
end $$;
