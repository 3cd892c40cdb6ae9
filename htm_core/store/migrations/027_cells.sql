-- Cells: schemas with the same tables, in each of which some tenants live, and the directory that says which. docs/why/cells.md says why.
-- oldest client: 20
--
-- The directory is in the first schema, which is called home. Every schema has these tables; only home's directory is asked, and only by
-- processes with Settings.cells.

create table cells (
  name       text primary key,
  number     integer not null unique,           -- home is 0; ids of collections begin at number * 1,048,576
  place      text not null,                     -- the schema
  url        text,                              -- of its server, without a password; null: home's own
  takes_new  boolean not null default false,    -- whether tenants that nobody has placed begin here
  state      text not null default 'open' check (state in ('open', 'dropping')),
  created_at timestamptz not null default now()
);
grant select on cells to htm_app, htm_worker;   -- nothing of any tenant
insert into cells (name, number, place) values ('home', 0, current_schema());

-- Where each tenant is, as of a version that each move makes one more.
create table tenant_cells (
  tenant  text primary key,
  cell    text not null references cells (name),
  version bigint not null,
  since   timestamptz not null default now()
);
call add_tenant_policy('tenant_cells');
create index tenant_cells_by_cell on tenant_cells (cell);

-- Moves that are under way, or were interrupted.
create table tenant_moves (
  tenant     text primary key,
  source     text not null,
  target     text not null,
  version    bigint not null,                   -- that the directory has when it is done
  state      text not null check (state in ('copying', 'switched')),
  seen       text,                              -- every transaction before this one of the source is in the copy; null: nothing is
  passes     integer not null default 0,
  started_at timestamptz not null default now()
);
call add_tenant_policy('tenant_moves');

-- Tenants that have left this schema, and where to. It is written at the moment of the switch, so it is never behind the directory.
create table departed_tenants (
  tenant  text primary key,
  cell    text not null,
  version bigint not null,
  at      timestamptz not null default now()
);
call add_tenant_policy('departed_tenants');

-- Nobody but the owner reads or writes these: functions tell each tenant its own (functions/cells.sql).
revoke select, insert, update, delete on tenant_cells, tenant_moves, departed_tenants from htm_app, htm_worker;

-- Every transaction of a tenant in a cell reads the fence of its number, which is a hash of its name; a move shuts it for the moment in which
-- it switches. A lock on a table, since only who has rights on it may take one (docs/why/locks.md).
do $$
begin
  for number in 0 .. 15 loop
    execute format('create table fence_%s (only_one boolean primary key default true check (only_one))', number);
    execute format('grant select on fence_%s to htm_app, htm_worker', number);
  end loop;
end $$;
