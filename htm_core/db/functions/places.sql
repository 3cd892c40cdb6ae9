-- What is purged leaves its place, and the audit keeps that there was a decision, not its words.
create or replace function htm.clear_purged_place() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if htm.is_moving() then return null; end if;
  delete from htm.places p where p.tenant = new.tenant and p.mention_id = new.id;
  update htm.decisions d set summary = '', reason = '', against = '[]'
  where d.tenant = new.tenant and (d.mention_id = new.id or d.note_id = new.id);
  return null;
end $$;
