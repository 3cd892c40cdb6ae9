-- How the cosines of a model are to be read here: calibrate_cosines writes it, from the tenant's own vectors.
-- oldest client: 20

alter table models
  add column cosine_scale real,                     -- what a cosine's distance from 1 is multiplied by; null: as it is
  add column measured integer not null default 0;   -- how many vectors there were when it was measured, up to 8,192
