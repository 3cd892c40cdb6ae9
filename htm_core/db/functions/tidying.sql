-- What was made of a mention goes with it.

-- A summary is made of all messages of a session up to its last one: when one of them is hidden, shown again, purged or deleted, it is made
-- anew. What a purged mention said of its user is deleted with its words.
create or replace function htm.drop_made_of_mention() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if htm.is_moving() then return null; end if;
  delete from htm.summaries s
  where s.tenant = old.tenant and s.owner = old.owner and s.session = old.session and s.last_seq >= old.seq;
  if found then
    update htm.tidied_sessions t set summary_seq = 0 where t.tenant = old.tenant and t.owner = old.owner and t.session = old.session;
  end if;
  if tg_op = 'UPDATE' and new.purged then
    delete from htm.profile_facts f where f.tenant = new.tenant and f.mention_id = new.id;
  end if;
  return null;
end $$;

-- Owes tidying of one kind to all who have messages that were not read for it. About 200,000 sessions are looked at: where there are
-- more, tenants are drawn at random.
create or replace function htm.queue_tidying(of_kind text, rules integer, quiet float8)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owed bigint;
  share constant float8 := 200000 / greatest(1, (
    select c.reltuples from pg_class c where c.oid = (select s.tableoid from htm.sessions s limit 1)))::float8;
begin
  insert into htm.jobs (tenant, kind)
  select t.tenant, of_kind from htm.tenants t
  where (share >= 1 or random() < share)
    and exists (
      select from htm.sessions s
      left join htm.tidied_sessions d on d.tenant = s.tenant and d.owner = s.owner and d.session = s.session
      where s.tenant = t.tenant and s.last_seq > 0 and not starts_with(s.owner, 'htm:')
        and case of_kind
            when 'profile' then s.last_seq > coalesce(d.profile_seq, 0) or coalesce(d.profile_rules, 0) <> rules
            when 'merge' then s.last_seq > coalesce(d.merge_seq, 0) or coalesce(d.merge_rules, 0) <> rules
            else s.last_seq > coalesce(d.summary_seq, 0) and htm.is_quiet(s.tenant, s.owner, s.session, s.last_seq, quiet)
            end)
  on conflict do nothing;
  get diagnostics owed = row_count;
  return owed;
end $$;

-- Whether nothing was said in a session for so many seconds. The moment is that of saying, so an import is quiet at once.
create or replace function htm.is_quiet(of_tenant text, of_owner text, of_session text, of_seq bigint, seconds float8) returns boolean
language sql stable
begin atomic
  select coalesce((select m.at from htm.mentions m
                   where m.tenant = of_tenant and m.owner = of_owner and m.session = of_session and m.seq = of_seq)
                  < now() - make_interval(secs => seconds), true);
end;

-- Whether a mention is the word of the user whose memory it is in, by its role and by its source, and trusted as such: not an assistant's
-- or a tool's, nothing from a page, a file or the palace, and no fact that a model took from another mention. The profile is made of these
-- alone.
create or replace function htm.is_own_word(m htm.mentions) returns boolean language sql stable
begin atomic
  select coalesce(m.role, 'user') = 'user' and coalesce(m.source, 'user') = 'user' and coalesce(m.trust, 4) = 4
     and m.source_id is null and m.node_id is not null and not m.purged
     and not exists (select from htm.file_chunks c where c.tenant = m.tenant and c.mention_id = m.id)
     and not exists (select from htm.places p where p.tenant = m.tenant and p.mention_id = m.id);
end;
