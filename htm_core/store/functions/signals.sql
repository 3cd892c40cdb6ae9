-- Signals: what says, beside the two searches, that a memory answers a query.

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

-- Days between a moment and the nearest of some windows of time; 0 within one.
create or replace function htm.days_outside(at timestamptz, windows tstzmultirange) returns float8
language sql immutable strict parallel safe
begin atomic
  select extract(epoch from min(case when at < lower(w) then lower(w) - at when at >= upper(w) then at - upper(w)
                                     else interval '0' end)) / 86400
  from unnest(windows) w;
end;

-- How much a text of so many words takes from what stands around it, and gives to it: short texts all, long ones little.
create or replace function htm.context_share(length bigint) returns float8 language sql immutable strict parallel safe
begin atomic
  select 1 / (1 + power(length / 50.0::float8, 4));
end;

-- The share of a query that words cover, when a single word may be there by chance: the heaviest word counts, up to three tenths,
-- only when other words corroborate it. `weight` from 0 to 1 says how strictly.
create or replace function htm.corroborated_coverage(covered float8, heaviest float8, weight float8) returns float8
language sql immutable parallel safe
begin atomic
  select coalesce(greatest(0, least(1, covered) - 0.999 * weight * least(0.3, heaviest))
                  / (1 - 0.999 * weight * least(0.3, heaviest)), 0);
end;
