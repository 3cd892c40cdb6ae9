-- What a newer saying does to an older one: an edge with its confidence and its reason, and a row for each time that it was changed.
-- oldest client: 16

-- Nothing else is changed by an edge: recall reads it, and an edge that is undone stays, so that no job makes it again.
create table supersessions (
  tenant     text not null,
  id         uuid not null,
  newer      uuid not null,
  older      uuid not null,
  owner      text not null,                     -- whose both nodes are
  relation   text not null check (relation in ('supersedes', 'contradicts')),
  confidence double precision not null check (confidence >= 0 and confidence <= 1),
  reason     text not null,
  judge      text not null,                     -- "rules", or the name of a chat model
  state      text not null default 'standing' check (state in ('standing', 'confirmed', 'undone')),
  holds_from timestamptz not null,              -- when the newer one was said: before, the older one held
  at         timestamptz not null default now(),
  primary key (tenant, id),
  unique (tenant, newer, older),
  check (newer <> older),
  foreign key (tenant, newer) references nodes (tenant, id) on delete cascade,
  foreign key (tenant, older) references nodes (tenant, id) on delete cascade
);
call add_tenant_policy('supersessions');
create index supersessions_by_older on supersessions (tenant, older);
create index supersessions_by_time on supersessions (tenant, owner, at desc, id desc);

-- The audit of an edge. A reason may quote what was said, so it goes when one of both nodes is erased.
create table supersession_audit (
  tenant       text not null,
  id           uuid not null,
  supersession uuid not null,
  owner        text not null,
  action       text not null check (action in ('made', 'confirmed', 'undone')),
  by           text not null,                   -- the robot, or the judge
  reason       text not null,
  at           timestamptz not null default now(),
  primary key (tenant, id),
  foreign key (tenant, supersession) references supersessions (tenant, id) on delete cascade
);
call add_tenant_policy('supersession_audit');
create index supersession_audit_by_edge on supersession_audit (tenant, supersession, at);
