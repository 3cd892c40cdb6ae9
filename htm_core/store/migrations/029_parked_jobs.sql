-- Jobs that were given up can be counted without reading those that wait, of which there may be a million.
-- oldest client: 20

create index jobs_parked on jobs (kind, model, bulk) where parked_at is not null;
