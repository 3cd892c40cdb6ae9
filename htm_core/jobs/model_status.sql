-- name: read
select model, failures, extract(epoch from open_until - clock_timestamp())::float8 as opens_in,
       extract(epoch from probe_until - clock_timestamp())::float8 as probed_for,
       extract(epoch from spent_until - clock_timestamp())::float8 as ahead
from model_status where model = any(%(models)s::text[])

-- name: insert
insert into model_status (model) values (%(model)s) on conflict do nothing

-- name: lock
select failures, extract(epoch from open_until - clock_timestamp())::float8 as opens_in,
       extract(epoch from probe_until - clock_timestamp())::float8 as probed_for,
       extract(epoch from spent_until - clock_timestamp())::float8 as ahead
from model_status where model = %(model)s for update

-- name: probe
update model_status set prober = %(prober)s, probe_until = clock_timestamp() + make_interval(secs => %(seconds)s) where model = %(model)s

-- name: cancel_probe
update model_status set probe_until = 'epoch' where model = %(model)s and prober = %(prober)s and probe_until > clock_timestamp()

-- name: set_spent
update model_status set spent_until = clock_timestamp() + make_interval(secs => %(ahead)s) where model = %(model)s

-- name: record_success
update model_status set failures = 0, open_until = 'epoch', probe_until = 'epoch' where model = %(model)s and failures > 0

-- name: record_failure
-- Calls that ran at the same time and failed count as one failure, however many workers made them.
insert into model_status as p (model, failures, failed_at) values (%(model)s, 1, clock_timestamp())
on conflict (model) do update set failures = p.failures + 1, failed_at = clock_timestamp(), probe_until = 'epoch'
where p.failed_at <= clock_timestamp() - make_interval(secs => %(lasted)s)
returning failures

-- name: leave_alone
update model_status set open_until = clock_timestamp() + make_interval(secs => %(seconds)s) where model = %(model)s

-- name: make_due
update model_status set open_until = 'epoch' where model = any(%(models)s::text[]) and open_until > clock_timestamp()
