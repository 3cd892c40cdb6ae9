-- What tools, files, pages and models have said is nobody's standing wish: until now recall took it for one (traits: 256 is WISH, 2048
-- STANDING; rules/text/traits.py). New passages are written without these bits.
-- oldest client: 18

update passages p set traits = p.traits & ~(256 | 2048)
where p.traits & 256 <> 0 and not exists (
  select from mentions m where m.tenant = p.tenant and m.node_id = p.node_id
    and coalesce(m.source, m.role, 'user') = 'user' and coalesce(m.role, 'user') = 'user');
