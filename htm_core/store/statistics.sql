-- name: count
select (select count(*) from nodes where tenant = this_tenant() and live and owner = any(%(owners)s::text[])) as nodes,
       (select count(*) from mentions where tenant = this_tenant() and forgotten_at is null and owner = any(%(owners)s::text[]))
         as mentions,
       (select count(*) from mentions where tenant = this_tenant() and forgotten_at is not null and not purged
         and owner = any(%(owners)s::text[])) as forgotten,
       (select count(*) from sessions where tenant = this_tenant() and session <> '' and owner = any(%(owners)s::text[]))
         as sessions,
       (select count(distinct robot) from mentions where tenant = this_tenant() and owner = any(%(owners)s::text[])) as robots,
       (select count(distinct t.tag) from tags t join nodes n on n.tenant = t.tenant and n.id = t.node_id
         where t.tenant = this_tenant() and t.explicit and n.owner = any(%(owners)s::text[])) as tags,
       (select count(*) from passages where tenant = this_tenant() and live and owner = any(%(owners)s::text[])) as passages,
       (select count(*) from vectors where tenant = this_tenant() and live and owner = any(%(owners)s::text[])) as vectors,
       (select min(at) from mentions where tenant = this_tenant() and forgotten_at is null and owner = any(%(owners)s::text[]))
         as oldest,
       (select max(at) from mentions where tenant = this_tenant() and forgotten_at is null and owner = any(%(owners)s::text[]))
         as newest,
       current_setting('server_version') as server
