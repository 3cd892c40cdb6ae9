-- The second wall, between the users of a tenant: whether it is up, and the key that claims of owners are signed with.
-- oldest client: 14
--
-- Nobody but the owner may read the key. Whether the wall is up, everybody may know who serves verbs.

create table user_walls (
  only_one  boolean primary key default true check (only_one),
  enabled   boolean not null default false,
  key       bytea,                              -- 32 random bytes, made when the wall goes up
  inner_pad bytea,                              -- the key as the two blocks of HMAC (RFC 2104)
  outer_pad bytea
);
insert into user_walls default values;
grant select (enabled) on user_walls to htm_app, htm_worker;
