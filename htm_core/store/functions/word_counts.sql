-- Word statistics of a tenant, for the weights of words.

-- Counts a tenant's passages, their mean length and its commoner lexemes, for the weights of words.
create or replace function refresh_lexeme_counts() returns bigint language plpgsql security definer set search_path from current as $$
declare me constant text := this_tenant(); total bigint; mean real; my_prefix text;
begin
  select count(*), avg(length) into total, mean from passages where tenant = me;
  select l.prefix into my_prefix from lexicon l where l.tenant = me;
  delete from lexeme_counts where tenant = me;
  insert into lexeme_counts (tenant, lexeme, documents)
  select me, substr(word, length(my_prefix) + 1), ndoc
  from ts_stat(format('select lexemes from passages where tenant = %L', me)) where ndoc >= 20;
  update lexicon set documents = total, average_length = coalesce(mean, average_length) where tenant = me;
  return total;
end $$;

-- Owes a count to each tenant that has far more passages than when last counted, whoever wrote them. About 200,000 rows
-- are looked at: tenants are drawn at random where all would be more.
create or replace function queue_lexeme_counts() returns bigint language plpgsql security definer set search_path from current as $$
declare owed bigint; tenants constant float8 := (select count(*) from lexicon);
begin
  insert into jobs (tenant, kind)
  select l.tenant, 'count'
  from (select x.tenant, (x.documents * 1.2 + 500)::bigint as enough from lexicon x offset 0) l
  where random() < 200000 / (l.enough * tenants)
    and (select count(*) from (select 1 from passages p where p.tenant = l.tenant limit l.enough + 1) y) > l.enough
  on conflict do nothing;
  get diagnostics owed = row_count;
  return owed;
end $$;
