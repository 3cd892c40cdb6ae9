-- Jobs: work that is pending. A row is written in the transaction of the memory that it is for.

create table jobs (
  tenant        text not null,
  id            uuid not null default gen_random_uuid(),
  kind          text not null,                  -- embed | count | tag | propose | relate
  model         text not null default '',
  node_id       uuid,
  attempts      integer not null default 0,
  run_at        timestamptz not null default now(),
  claimed_until timestamptz,
  parked_at     timestamptz,                    -- given up, with the error in view
  error         text,
  created_at    timestamptz not null default now(),
  primary key (tenant, id),
  foreign key (tenant, node_id) references nodes (tenant, id) on delete cascade
) with (fillfactor = 70);
alter table jobs enable row level security;
create policy tenant_isolation on jobs to htm_app
  using (tenant = (select this_tenant())) with check (tenant = (select this_tenant()));
-- The worker sees the job rows of every tenant. For the memories that they name it enters one tenant at a time.
create policy worker_sees_jobs on jobs to htm_worker using (true) with check (true);
grant select, insert, update, delete on jobs to htm_app, htm_worker;
create unique index jobs_once on jobs (tenant, kind, model, coalesce(node_id, '00000000-0000-0000-0000-000000000000'));
create index jobs_due on jobs (kind, model, run_at) where parked_at is null;
create index jobs_by_node on jobs (tenant, node_id);

-- Whether and how fast each model may be called, for all workers of the database: its circuit breaker and its rate limit. A row
-- comes with the first failure or the first counted call. It holds nothing of any tenant.
create table model_status (
  model       text primary key,
  failures    integer not null default 0,       -- in a row
  failed_at   timestamptz not null default 'epoch',
  open_until  timestamptz not null default 'epoch',   -- a model that failed often is not called before
  prober      uuid,                             -- the worker that tries whether it is back
  probe_until timestamptz not null default 'epoch',   -- after this the prober counts as dead
  spent_until timestamptz not null default 'epoch'    -- the calls made so far use up the rate until then
) with (fillfactor = 50);
grant select, insert, update on model_status to htm_worker;
