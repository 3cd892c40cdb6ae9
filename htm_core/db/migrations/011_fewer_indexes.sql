-- Two indexes less, of what each message writes.
--
-- Without "oldest client": statements of processes before this name the index of jobs by its columns.

-- One index finds the jobs of a node, and keeps each of its jobs alone, also those of no node.
drop index jobs_by_node;
drop index jobs_once;
create unique index jobs_once on jobs (tenant, node_id, kind, model) nulls not distinct;

-- Vectors are looked up by their passage alone, which the primary key does where the passage comes before the space.
drop index vectors_by_passage;
alter table vectors drop constraint vectors_pkey;
alter table vectors add constraint vectors_pkey primary key (tenant, passage_id, space);
