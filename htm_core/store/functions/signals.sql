-- Signals: what says, beside the two searches, that a memory answers a query.

create or replace function matching_speakers(forms text[], f filters) returns text[]
language plpgsql stable security definer set search_path from current
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare me constant text := this_tenant(); owners constant text[] := f.owners; known text[];
begin
  if not exists (select 1 from mentions m where m.tenant = me and m.name is not null) then return '{}'; end if;
  select array_agg(form order by length(form) desc, form) into known from unnest(forms) form
  where exists (
    select 1 from mentions m
    where m.tenant = me and m.name is not null and m.forgotten_at is null
      and m.name collate "C" >= form and m.name collate "C" < form || '!'      -- the sign after the space
      and owner_is_visible(owners, m.owner));
  return coalesce(known, '{}');
end $$;

-- Days between a moment and the nearest of some windows of time.
create or replace function days_outside(at timestamptz, windows tstzmultirange) returns float8
language sql immutable strict parallel safe as $$
  select extract(epoch from min(case when at < lower(w) then lower(w) - at when at >= upper(w) then at - upper(w)
                                     else interval '0' end)) / 86400
  from unnest(windows) w
$$;

-- How much of its surroundings a text of so many words lives off, and brings to them: brief ones all, long ones little.
create or replace function context_share(length bigint) returns float8 language sql immutable strict parallel safe as $$
  select 1 / (1 + power(length / 50.0::float8, 4))
$$;

-- The share of a question that a passage's words cover, when one word that they share may be chance: up to three tenths, the
-- heaviest does not count before another corroborates it.
create or replace function corroborated_coverage(covered float8, heaviest float8, heft float8) returns float8
language sql immutable parallel safe as $$
  select coalesce(greatest(0, least(1, covered) - 0.999 * heft * least(0.3, heaviest)) / (1 - 0.999 * heft * least(0.3, heaviest)), 0)
$$;
