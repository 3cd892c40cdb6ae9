-- What a query names beside its subject.

-- Which of these forms of a name a speaker has, as a whole or as the first part of it; the longest first.
create or replace function htm.matching_speakers(forms text[], f htm.conditions) returns text[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare me constant text := htm.this_tenant(); owners constant text[] := htm.owners_in_claim(f.owners); known text[];
begin
  if not exists (select 1 from htm.mentions m where m.tenant = me and m.name is not null) then return '{}'; end if;
  select array_agg(form order by length(form) desc, form) into known from unnest(forms) form
  where (
    select true from htm.mentions m
    where m.tenant = me and m.name is not null and m.forgotten_at is null
      and m.name collate "C" >= form and m.name collate "C" < form || '!'      -- "!" comes right after the space
      and htm.owner_is_visible(owners, m.owner)
    order by m.name collate "C" limit 1);                                      -- in the order of the index of names: by it alone
  return coalesce(known, '{}');
end $$;
