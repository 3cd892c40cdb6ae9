-- Word statistics of a tenant, for the weights of words.

-- Counts a tenant's passages, their mean length and its commoner lexemes, for the weights of words.
create or replace function htm.refresh_lexeme_counts() returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare me constant text := htm.this_tenant(); total bigint; mean real; my_prefix text;
begin
  select count(*), avg(length) into total, mean from htm.passages where tenant = me;
  select l.prefix into my_prefix from htm.lexicon l where l.tenant = me;
  delete from htm.lexeme_counts where tenant = me;
  insert into htm.lexeme_counts (tenant, lexeme, documents)
  select me, substr(word, length(my_prefix) + 1), ndoc
  from ts_stat(format('select lexemes from htm.passages where tenant = %L', me)) where ndoc >= 20;
  update htm.lexicon set documents = total, average_length = coalesce(mean, average_length) where tenant = me;
  return total;
end $$;

-- Owes a count to each tenant that has far more passages than when last counted, whoever wrote them. About 200,000 rows
-- are looked at: tenants are drawn at random where all would be more.
create or replace function htm.queue_lexeme_counts() returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare owed bigint; tenants constant float8 := (select count(*) from htm.lexicon);
begin
  insert into htm.jobs (tenant, kind)
  select l.tenant, 'count'
  from (select x.tenant, (x.documents * 1.2 + 500)::bigint as enough from htm.lexicon x offset 0) l
  where random() < 200000 / (l.enough * tenants)
    and (select count(*) from (select 1 from htm.passages p where p.tenant = l.tenant limit l.enough + 1) y) > l.enough
  on conflict do nothing;
  get diagnostics owed = row_count;
  return owed;
end $$;
