-- A span of time as JSON; null stays null. Stable as its body is: what claims more is called, and not inlined.
create or replace function htm.span_json(span tstzrange) returns jsonb language sql stable parallel safe
begin atomic
  select case when span is not null then jsonb_build_object('start', lower(span), 'stop', upper(span)) end;
end;

-- Mentions with their words, behind the same wall as the tables.
create or replace view htm.mentions_with_content with (security_invoker = true) as
select m.tenant, m.id, m.node_id, m.owner, m.robot, m.session, m.seq, m.external_id, m.role, m.name, m.at, m.metadata,
       m.payload, m.log_position, m.archived, m.forgotten_at, m.purged, coalesce(n.content, m.content, '') as content,
       m.valid, m.valid_words, m.expires_at, m.source, m.trust, m.forgotten_by, m.copy_of
from htm.mentions m left join htm.nodes n on n.tenant = m.tenant and n.id = m.node_id;
grant select on htm.mentions_with_content to htm_app, htm_worker;
