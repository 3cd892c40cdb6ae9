-- Which index the vectors of a space have: of their numbers in half precision, or of the signs of their numbers, one bit each.
-- oldest client: 15

alter table vector_spaces add column quantized boolean not null default false;
