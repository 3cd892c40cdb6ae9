-- What a drawer of MemPalace holds: one row for each of its fields, in the order in which the drawers were filed. Chroma keeps the
-- text as the field chroma:document. The closets are an index of the drawers, which is not read.
select e.id as number, e.embedding_id as id, m.key as field,
       coalesce(m.string_value, m.int_value, m.float_value, m.bool_value) as value
from embeddings e
join segments s on s.id = e.segment_id
join collections c on c.id = s.collection
join embedding_metadata m on m.id = e.id
where c.name not like '%closets' and exists (select 1 from embedding_metadata w where w.id = e.id and w.key = 'wing')
order by e.id, m.key
