-- name: find
-- The owner of the table of jobs, and the roles that its two policies are for.
select pg_get_userbyid(c.relowner) as owner, pg_get_userbyid(a.polroles[1]) as app, pg_get_userbyid(w.polroles[1]) as worker
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_policy a on a.polrelid = c.oid and a.polname = 'tenant_isolation'
join pg_policy w on w.polrelid = c.oid and w.polname = 'worker_sees_jobs'
where n.nspname = %(schema)s and c.relname = 'jobs' and c.relkind in ('r', 'p')
   or n.nspname = %(schema)s || '_tables' and c.relname ~ '^jobs_[0-9]+$' and c.relkind = 'r'       -- distributed by Citus

-- name: hints
select current_database() as database,
       (select left(o.rolname, -6) from pg_namespace n join pg_roles o on o.oid = n.nspowner
        where n.nspname = %(schema)s and o.rolname ~ '^[a-z_][a-z0-9_]{0,55}_owner$'
          and 2 = (select count(*) from pg_roles r where r.rolname in (left(o.rolname, -5) || 'app', left(o.rolname, -5) || 'worker'))
       ) as prefix

-- name: rights
-- From version 16 on, a membership may lack the right to `set role`.
select session_user as login,
       coalesce((select pg_has_role(session_user, r.oid, v.needed) from pg_roles r where r.rolname = %(app)s), false) as app,
       coalesce((select pg_has_role(session_user, r.oid, v.needed) from pg_roles r where r.rolname = %(worker)s), false) as worker
from (select case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end as needed) v
