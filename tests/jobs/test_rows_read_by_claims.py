"""What a worker reads to find its next jobs does not grow with how many wait."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator

import pytest

from htm_core.db import jobs
from htm_core.db.cluster.citus import tables_schema
from htm_core.db.database import Connection, Database
from htm_core.db.jobs import Lane, LaneTenants
from tests.store.index_use import rows_read

WAITING = 15_000
LOOKED_AT = 10_000  # jobs by next_due, at most
# By its shard on a Citus cluster.
TABLE = """
select c.oid::regclass::text as name from pg_class c
where c.relkind = 'r' and c.relname ~ '^jobs(_[0-9]{6,})?$' and c.relnamespace in (to_regnamespace(%s), to_regnamespace(%s))
order by length(c.relname) desc limit 1
"""


@pytest.fixture
def lane() -> Lane:
    """A lane of this test alone: what another one has rolled back is still in the index, and would be read as well."""
    return "embed", f"rows-read-{uuid.uuid4().hex[:8]}"


class Undone(Exception):
    """Ends a transaction whose rows nobody is to see."""


@pytest.fixture(params=["as they are", "of a table that was empty"])
def crowded(database: Database, lane: Lane, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A worker's transaction in which a job of each of many tenants waits; it is rolled back. The statistics say nothing of it."""
    if request.param == "of a table that was empty":
        with database.owner() as owner:
            schema = database.settings.schema_
            (table,) = owner.execute(TABLE, [schema, tables_schema(schema)]).fetchall()
            owner.execute(f"analyze {table['name']}")  # type: ignore[arg-type]
    with contextlib.suppress(Undone), database.transaction("", role="htm_worker") as connection:
        connection.execute(
            "insert into jobs (tenant, kind, model) select 'crowd-' || g, %s, %s from generate_series(1, %s) g",
            [*lane, WAITING],
        )
        yield connection
        raise Undone


def test_a_claim_reads_about_as_many_rows_as_it_takes(
    database: Database, crowded: Connection, lane: Lane
) -> None:
    taken: list[int] = []
    read = rows_read(
        database,
        lambda: taken.append(len(jobs.claim(crowded, lane, limit=64, lease=30))),
        tables=("jobs",),
    )
    assert taken == [64]
    assert read < 10 * 64


def test_a_worker_that_rests_looks_at_a_bounded_number_of_jobs(
    database: Database, crowded: Connection, lane: Lane
) -> None:
    found: list[float | None] = []
    of = [LaneTenants(lane), LaneTenants(lane, only=["crowd-7", "nobody"])]
    read = rows_read(database, lambda: found.append(jobs.next_due(crowded, of)), tables=("jobs",))
    assert found[0] is not None
    assert found[0] <= 0
    assert LOOKED_AT <= read < 1.1 * LOOKED_AT


def test_tenants_with_a_client_of_their_own_are_looked_up_one_by_one(
    database: Database, crowded: Connection, lane: Lane
) -> None:
    of = [LaneTenants(lane, only=["crowd-7", "nobody", "crowd-9"])]
    assert rows_read(database, lambda: jobs.with_due(crowded, of), tables=("jobs",)) < 50
