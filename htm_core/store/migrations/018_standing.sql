-- The passages with a preference or a standing instruction, which recall looks at whatever a question is about (traits: 256 is WISH).
-- oldest client: 16

create index passages_with_wishes on passages (tenant, owner, node_id) where (traits & 256) <> 0;
