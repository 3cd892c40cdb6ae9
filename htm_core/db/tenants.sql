-- name: ensure_rows
with tenant as (insert into tenants (tenant) values (this_tenant()) on conflict do nothing),
     words as (
  insert into lexicon (tenant, prefix, config)
  values (this_tenant(), left(encode(decode(md5(this_tenant()), 'hex'), 'base64'), 4) || ':', %(language)s::regconfig)
  on conflict do nothing),
     robot as (
  insert into robots (tenant, name) values (this_tenant(), %(robot)s)
  on conflict (tenant, name) do update set active_at = now())
insert into models (tenant, name, active)
select this_tenant(), %(model)s, true
where not exists (select 1 from models m where m.tenant = this_tenant() and m.active)
on conflict do nothing

-- name: state
select m.name as model, s.dimension, l.documents from lexicon l
left join models m on m.tenant = l.tenant and m.active left join vector_spaces s on s.id = m.space
where l.tenant = this_tenant()

-- name: active_model
select name from models where tenant = this_tenant() and active

-- name: set_robots_active
update robots r set active_at = greatest(r.active_at, d.at)
from (select * from unnest(%(names)s::text[], %(ats)s::timestamptz[]) as u(name, at) order by u.name) d
where r.tenant = this_tenant() and r.name = d.name

-- name: robots
-- Every robot of the tenant, with counts of what these owners see.
select r.name, r.created_at, r.active_at, coalesce(m.mentions, 0) as mentions, coalesce(m.nodes, 0) as nodes,
       coalesce(m.sessions, 0) as sessions, m.first_at, m.last_at, coalesce(w.items, 0) as working_items,
       coalesce(w.tokens, 0)::bigint as working_tokens,
       coalesce((select array_agg(g.group_name order by g.group_name) from group_members g
                 where g.tenant = r.tenant and g.robot = r.name), '{}') as groups
from robots r
left join (select robot, count(*) as mentions, count(distinct node_id) as nodes, min(at) as first_at, max(at) as last_at,
                  count(distinct (owner, session)) filter (where session <> '') as sessions
           from unnest(%(owners)s::text[]) as o(name)
           cross join lateral (                  -- by the owner: "offset 0" keeps PostgreSQL from reading all that the tenant has
             select b.robot, b.owner, b.session, b.node_id, b.at from mentions b
             where b.tenant = this_tenant() and b.owner = o.name and b.forgotten_at is null offset 0) said
           group by robot) m on m.robot = r.name
left join (select s.holder, count(*) as items, sum(n.tokens) as tokens
           from unnest(%(owners)s::text[]) as o(name)
           cross join lateral (
             select b.id, b.holder from working_sets b where b.tenant = this_tenant() and b.owner = o.name and not b.shared offset 0) s
           cross join lateral (
             select b.node_id from working_items b
             where b.tenant = this_tenant() and b.set_id = s.id and b.evicted_at is null offset 0) i
           cross join lateral (
             select b.tokens from nodes b where b.tenant = this_tenant() and b.id = i.node_id and b.live offset 0) n
           group by s.holder) w on w.holder = r.name
where r.tenant = this_tenant()
order by r.name

-- name: statistics
-- Mentions are read once, and grouped by robot: PostgreSQL would sort them to count distinct ones.
with said as materialized (
  select m.robot, count(*) filter (where m.forgotten_at is null) as mentions,
         count(*) filter (where m.forgotten_at is not null and not m.purged) as forgotten,
         min(m.at) filter (where m.forgotten_at is null) as oldest, max(m.at) filter (where m.forgotten_at is null) as newest
  from mentions m where m.tenant = this_tenant() and m.owner = any(%(owners)s::text[]) group by m.robot)
select (select count(*) from nodes where tenant = this_tenant() and live and owner = any(%(owners)s::text[])) as nodes,
       (select coalesce(sum(mentions), 0)::bigint from said) as mentions,
       (select coalesce(sum(forgotten), 0)::bigint from said) as forgotten,
       (select count(*) from sessions where tenant = this_tenant() and session <> '' and owner = any(%(owners)s::text[]))
         as sessions,
       (select count(*) from said) as robots,
       (select count(*) from (
         select t.tag from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
         where t.tenant = this_tenant() and t.explicit and n.owner = any(%(owners)s::text[]) group by t.tag) x) as tags,
       (select count(*) from passages where tenant = this_tenant() and live and owner = any(%(owners)s::text[])) as passages,
       (select count(*) from vectors where tenant = this_tenant() and live and owner = any(%(owners)s::text[])) as vectors,
       (select min(oldest) from said) as oldest,
       (select max(newest) from said) as newest,
       current_setting('server_version') as server

-- name: users
-- What some owners of the tenant have, those with the most messages first, and what all have together. Bytes are those of the values as they
-- are stored, compressed, without their indexes: by column, since the size of a whole row would fetch what is stored beside the table.
with said as materialized (
  select owner, count(*) filter (where forgotten_at is null) as mentions, max(at) filter (where forgotten_at is null) as last_at
  from mentions where tenant = this_tenant() group by owner),
has as materialized (
  select owner, count(*) filter (where live) as nodes, coalesce(sum(tokens) filter (where live), 0) as tokens
  from nodes where tenant = this_tenant() group by owner),
everyone as materialized (
  select owner, coalesce(h.nodes, 0) as nodes, coalesce(h.tokens, 0)::bigint as tokens, coalesce(s.mentions, 0) as mentions, s.last_at
  from said s full join has h using (owner)),
shown as materialized (select * from everyone order by mentions desc, owner limit %(limit)s offset %(first)s),
whole as (select count(*) as users, coalesce(sum(nodes), 0)::bigint as all_nodes, coalesce(sum(mentions), 0)::bigint as all_mentions from everyone)
select e.owner, e.nodes, e.tokens, e.mentions, e.last_at, coalesce(s.n, 0) as sessions, coalesce(j.n, 0) as pending_jobs,
       (coalesce(n.bytes, 0) + coalesce(m.bytes, 0) + coalesce(p.bytes, 0) + coalesce(v.bytes, 0))::bigint as bytes,
       w.users, w.all_nodes, w.all_mentions,
       (select count(*) from jobs where tenant = this_tenant() and parked_at is null) as all_pending
from whole w left join shown e on true
left join (select owner, count(*) as n from sessions
           where tenant = this_tenant() and session <> '' and owner = any(array(select owner from shown)) group by owner) s on s.owner = e.owner
left join (select owner, count(*) as n from jobs
           where tenant = this_tenant() and parked_at is null and owner = any(array(select owner from shown)) group by owner) j on j.owner = e.owner
left join (select owner, sum(pg_column_size(content) + 65) as bytes from nodes
           where tenant = this_tenant() and owner = any(array(select owner from shown)) group by owner) n on n.owner = e.owner
left join (select owner, sum(coalesce(pg_column_size(content), 0) + pg_column_size(metadata) + coalesce(pg_column_size(payload), 0) + 140) as bytes
           from mentions where tenant = this_tenant() and owner = any(array(select owner from shown)) group by owner) m on m.owner = e.owner
left join (select owner, sum(coalesce(pg_column_size(body), 0) + pg_column_size(lexemes) + pg_column_size(weights) + 90) as bytes
           from passages where tenant = this_tenant() and owner = any(array(select owner from shown)) group by owner) p on p.owner = e.owner
left join (select owner, sum(pg_column_size(embedding) + 80) as bytes
           from vectors where tenant = this_tenant() and owner = any(array(select owner from shown)) group by owner) v on v.owner = e.owner
order by e.mentions desc, e.owner

-- name: sizes
select * from tenant_sizes(%(after)s::text, %(limit)s::integer, %(counted)s::integer)

-- name: in_order
select name from unnest(%(names)s::text[]) as given(name) order by name

-- name: growth
-- How many messages were said, and how many new memories they made, in each span of time up to the last one with a message; a span without
-- any is a zero. A memory is counted where it was first said. Spans begin by the clock of the zone, also where it is set forward or back.
with counted as materialized (
  select date_trunc(%(unit)s, at at time zone %(zone)s) as local, count(*) as mentions, count(*) filter (where first) as nodes
  from (select m.at, m.node_id is not null and row_number() over (partition by m.node_id order by m.at, m.id) = 1 as first
        from mentions m where m.tenant = this_tenant() and m.owner = any(%(owners)s::text[]) and m.forgotten_at is null) said
  group by 1),
spans as (
  select generate_series(greatest(min(local), max(local) - (%(limit)s::integer - 1) * ('1 ' || %(unit)s)::interval), max(local),
                         ('1 ' || %(unit)s)::interval) as local
  from counted)
select s.local at time zone %(zone)s as begins, coalesce(c.mentions, 0) as mentions, coalesce(c.nodes, 0) as nodes
from spans s left join counted c on c.local = s.local
order by s.local desc
