-- name: known
select m.session, m.external_id, m.node_id from mentions m
join unnest(%(sessions)s::text[], %(ids)s::text[]) as d(session, id) on m.session = d.session and m.external_id = d.id
where m.tenant = this_tenant() and m.owner = %(owner)s

-- name: robots
select name from robots where tenant = this_tenant() order by active_at desc, name
