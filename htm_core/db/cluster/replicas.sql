-- name: replayed
select pg_catalog.pg_is_in_recovery() as standby,
       pg_catalog.pg_wal_lsn_diff(coalesce(pg_catalog.pg_last_wal_replay_lsn(), '0/0'), '0/0')::bigint as replayed

-- name: written
-- Behind the last commit. Without synchronous commit that may not be flushed yet. A standby writes nothing.
select pg_catalog.pg_wal_lsn_diff(case when pg_catalog.pg_is_in_recovery() then coalesce(pg_catalog.pg_last_wal_replay_lsn(), '0/0')
                                       when pg_catalog.current_setting('synchronous_commit') = 'off'
                                       then pg_catalog.pg_current_wal_insert_lsn()
                                       else pg_catalog.pg_current_wal_flush_lsn() end, '0/0')::bigint as position

-- name: has_written
-- Before the end of a transaction: one that has only read needs no replica to follow.
select pg_catalog.pg_current_xact_id_if_assigned() is not null as has_written

-- name: system
select system_identifier::text as system from pg_catalog.pg_control_system()
