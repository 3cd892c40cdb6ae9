"""What a worker reads to find its next jobs does not grow with how many wait."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from htm_core.store import jobs
from htm_core.store.database import Connection, Database
from htm_core.store.jobs import LaneTenants

LANE = ("embed", "rows-read-by-claims")
WAITING = 15_000
LOOKED_AT = 10_000  # jobs by next_due, at most
READ = """
select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::bigint as read
from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relname in ('jobs', 'jobs_by_turn', 'jobs_by_node', 'jobs_once')
"""


class Undone(Exception):
    """Ends a transaction whose rows nobody is to see."""


@pytest.fixture
def crowded(database: Database) -> Iterator[Connection]:
    """A worker's transaction in which a job of each of many tenants waits; it is rolled back."""
    with contextlib.suppress(Undone), database.transaction("", role="htm_worker") as connection:
        connection.execute(
            "insert into jobs (tenant, kind, model) select 'crowd-' || g, %s, %s from generate_series(1, %s) g",
            [*LANE, WAITING],
        )
        yield connection
        raise Undone


def read_by(connection: Connection, work: Callable[[], object]) -> int:
    before = connection.execute(READ).fetchall()[0]["read"]
    work()
    return int(connection.execute(READ).fetchall()[0]["read"] - before)


def test_a_claim_reads_about_as_many_rows_as_it_takes(crowded: Connection) -> None:
    taken: list[int] = []
    read = read_by(crowded, lambda: taken.append(len(jobs.claim(crowded, LANE, limit=64, lease=30))))
    assert taken == [64]
    assert read < 10 * 64


def test_a_worker_that_rests_looks_at_a_bounded_number_of_jobs(crowded: Connection) -> None:
    found: list[float | None] = []
    of = [LaneTenants(LANE), LaneTenants(LANE, only=["crowd-7", "nobody"])]
    read = read_by(crowded, lambda: found.append(jobs.next_due(crowded, of)))
    assert found[0] is not None
    assert found[0] <= 0
    assert read < 2.5 * LOOKED_AT


def test_tenants_with_a_client_of_their_own_are_looked_up_one_by_one(crowded: Connection) -> None:
    of = [LaneTenants(LANE, only=["crowd-7", "nobody", "crowd-9"])]
    assert read_by(crowded, lambda: jobs.with_due(crowded, of)) < 50
