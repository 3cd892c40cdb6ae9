-- oldest client: 9
--
-- The functions name the schema of the extension vector. Where it was moved since, they have to be made again.

alter table function_files add column extension_schema text;
