-- A log can be read as a queue: what has left the queue is archived, and still in the log.

alter table mentions add column archived boolean not null default false;

create or replace view said with (security_invoker = true) as
select m.tenant, m.id, m.node_id, m.owner, m.robot, m.session, m.seq, m.external_id, m.role, m.name, m.at, m.metadata,
       m.payload, m.log_position, m.forgotten_at, m.purged, coalesce(n.content, m.content, '') as content, m.archived
from mentions m left join nodes n on n.tenant = m.tenant and n.id = m.node_id;
