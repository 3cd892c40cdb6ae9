-- What takes turns, without locks that anybody who can log in could take.
--
-- Older processes take turns by other locks and listen on another channel, so they must stop first.

-- What a transaction holds until it ends: it inserts a row and deletes it again, and another that inserts the same row waits. So
-- the table is always empty; it needs no log, since no lock outlives its transaction.
create unlogged table locks (
  tenant text not null,
  name   bytea not null,                        -- a hash of what is locked
  primary key (tenant, name)
);
call add_tenant_policy('locks');

-- Which session of the server builds indexes: one row, which the owner alone may lock. A session that has ended builds none.
create table index_builder (
  only_one   boolean primary key default true check (only_one),
  pid        integer,
  login      oid,
  started_at timestamptz
);
insert into index_builder default values;

-- The channel of this installation's notifications. A login that may not read it can neither listen to them nor send any.
create table notification_channel (
  only_one boolean primary key default true check (only_one),
  name     text not null default 'htm_' || gen_random_uuid()
);
insert into notification_channel default values;
grant select on notification_channel to htm_app, htm_worker;
