-- name: count
-- How many partitions the table of vectors has; 1 for a plain table.
select count(*) as partitions from leaves_of('vectors')

-- name: drop_trigger
drop trigger if exists note_vector_change on vectors

-- name: clear
drop table if exists vectors_new, vectors_changed

-- name: changes
-- The keys of vectors that were written or deleted while they are copied.
create table vectors_changed (tenant text not null, space integer not null, passage_id uuid not null);
alter table vectors_changed enable row level security

-- name: follow
create or replace trigger note_vector_change after insert or update or delete on vectors for each row execute function note_vector_change()

-- name: make
create table vectors_new (like vectors including defaults including storage) {partitioned}

-- name: make_partition
-- Nobody has rights on a partition: it is reached by the table alone, whose policies hold for all.
create table {name} partition of vectors_new for values with (modulus {modulus}, remainder {remainder})
with (fillfactor = 90, toast_tuple_target = 8160);
alter table {name} enable row level security

-- name: set_storage
alter table vectors_new set (fillfactor = 90, toast_tuple_target = 8160)

-- name: total
select count(*) as vectors from vectors

-- name: copy
-- Tenant by tenant, so that the rows of each stand together.
insert into vectors_new select * from vectors order by tenant

-- name: index
alter table vectors_new add constraint vectors_new_pkey primary key (tenant, passage_id, space);
create index vectors_new_by_node on vectors_new (tenant, node_id);
create index vectors_new_by_owner on vectors_new (tenant, space, owner)

-- name: spaces
select s.id, s.dimension, s.quantized from vector_spaces s where s.indexed order by s.id

-- name: hnsw
create index {name} on {leaf} using hnsw ({key}) where space = {space}

-- name: set_lock_timeout
select set_config('lock_timeout', '2s', true)

-- name: lock
-- From here on others wait, until the new table has taken the place of the old.
lock table vectors in access exclusive mode

-- name: forget_changed
delete from vectors_new n using (select distinct tenant, space, passage_id from vectors_changed) c
where n.tenant = c.tenant and n.space = c.space and n.passage_id = c.passage_id

-- name: copy_changed
insert into vectors_new select v.* from vectors v
join (select distinct tenant, space, passage_id from vectors_changed) c
  on v.tenant = c.tenant and v.space = c.space and v.passage_id = c.passage_id

-- name: references
alter table vectors_new
  add constraint vectors_space_fkey foreign key (space) references vector_spaces (id),
  add constraint vectors_tenant_passage_id_fkey foreign key (tenant, passage_id) references passages (tenant, id) on delete cascade

-- name: protect
-- The rights and the policies of the old table, which may be more than those of a new installation.
do $$
declare command text;
begin
  alter table vectors_new enable row level security;
  for command in
    select format('grant %s on vectors_new to %s', a.privilege_type, a.grantee::regrole)
    from pg_class c, aclexplode(c.relacl) a where c.oid = 'vectors'::regclass and a.grantee not in (0, c.relowner)
    union all
    select format('create policy %I on vectors_new as %s for %s to %s%s%s', p.polname,
                  case when p.polpermissive then 'permissive' else 'restrictive' end,
                  case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
                  case when p.polroles = '{0}' then 'public' else (select string_agg(r::regrole::text, ', ') from unnest(p.polroles) r) end,
                  ' using (' || pg_get_expr(p.polqual, p.polrelid) || ')',
                  ' with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
    from pg_policy p where p.polrelid = 'vectors'::regclass
  loop
    execute command;
  end loop;
end $$

-- name: replace
drop table vectors;
drop table vectors_changed;
alter table vectors_new rename to vectors

-- name: new_names
-- What still has its first name: indexes, partitions.
select c.relname as name, c.relkind in ('i', 'I') as is_index from pg_class c
where c.relnamespace = (select relnamespace from pg_class where oid = 'vectors'::regclass) and starts_with(c.relname, 'vectors_new')

-- name: rename_index
alter index {name} rename to {new}

-- name: rename_table
alter table {name} rename to {new}

-- name: analyze
analyze vectors
