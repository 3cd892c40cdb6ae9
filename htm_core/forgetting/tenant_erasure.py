"""Erases everything that a tenant has, in transactions of a few thousand rows each, so that it may
be interrupted and goes on.

Others may write meanwhile. So the last transaction keeps all writers of the tables waiting, deletes
what is left, and writes the
receipt: at its commit nothing of the tenant is there. docs/why/erasure.md says what that means for
    who has the tenant open.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from psycopg import errors as pg

from ..base.errors import QueryTimeout, StorageError
from ..db.database import Connection, Database
from ..db.errors import attempts
from ..db.owner_claims import EVERYBODY
from ..db.queries import load

BATCH = 5_000  # rows that are deleted in one transaction
# rows of the basis that are deleted while all writers wait; it takes about a quarter of a second
MOST_HELD = 20_000
HOLD_PAUSES = (
    0.5,
    1.0,
    2.0,
    4.0,
    8.0,
    15.0,
    30.0,
    30.0,
    30.0,
)  # seconds until writers are held again, who took too long

Record = Callable[
    [Connection, Mapping[str, int]], None
]  # writes into the audit: the last thing that a transaction does
Progress = Callable[[int], None]


def silent(rows: int) -> None:
    """Say nothing of how many rows are deleted."""


def count_rows(connection: Connection, *, of_basis: bool = False) -> dict[str, int]:
    """Count the tenant's rows in the tables of its cell, without those that have none; or only what
    writers build on.
    """
    row = connection.execute(
        load("forgetting/tenant_erasure")["count"], {"of_basis": of_basis}
    ).fetchone()
    assert row is not None  # a function that is no set has one row
    return dict(row["rows"])


def has_audit(connection: Connection) -> bool:
    """True if something was ever written into the tenant's audit."""
    row = connection.execute(load("forgetting/tenant_erasure")["has_audit"]).fetchone()
    assert row is not None  # a select without from has one row
    return bool(row["found"])


def refuse_while_moving(database: Database, tenant: str) -> None:
    """Raise `StorageError` while a move of the tenant is not done: a copy would be left in another
    cell.
    """
    with database.transaction(tenant, claim=EVERYBODY, patient=True, at_home=True) as connection:
        row = connection.execute(load("forgetting/tenant_erasure")["unfinished_move"]).fetchone()
    if row is not None and row["target"] is not None:
        raise StorageError(
            f"expected no move of the tenant {tenant!r}, which would leave a part of it, but its "
            "move to the cell "
            f"{row['target']!r} is not done; let it end, or run: htm cells move {tenant} "
            f"{row['target']}. Then erase it again"
        )


def erase(
    database: Database, tenant: str, *, rows: int, record: Record, progress: Progress | None
) -> dict[str, int]:
    """Delete everything that a tenant has, and record it; returns the rows that this call deleted,
    by table.

    The audit stays. `rows` is about how many there are: whoever writes all the time keeps this from
    its end no longer than that. `progress` gets the rows deleted so far. Whatever it is interrupted
    by, another call goes on. Raises `StorageError` when the writers of other tenants could not be
    held for a moment: then little is left.
    """
    counts, report = Counter[str](), progress or silent
    counts["tokens"] = _drop_tokens(database, tenant)  # first, so that nobody comes in any more
    # What writers build on goes last, so that they are in nobody's way until then; of too much of
    # it a part goes before.
    for with_basis in (False, True):
        for _ in range(rows // BATCH + 1):
            if with_basis and _basis(database, tenant) <= MOST_HELD:
                break
            deleted = _batch(database, tenant, with_basis=with_basis)
            counts.update(deleted)
            report(counts.total())
            if sum(deleted.values()) < BATCH:
                break
    counts.update(_rest(database, tenant, counts, record))
    report(counts.total())
    return {name: rows for name, rows in counts.items() if rows}


def _drop_tokens(database: Database, tenant: str) -> int:
    with database.transaction(tenant, claim=EVERYBODY, patient=True, at_home=True) as connection:
        row = connection.execute(load("forgetting/tenant_erasure")["tokens"]).fetchone()
    assert row is not None  # an aggregate has one row
    return int(row["gone"])


def _basis(database: Database, tenant: str) -> int:
    with database.transaction(tenant, claim=EVERYBODY, patient=True) as connection:
        return sum(count_rows(connection, of_basis=True).values())


def _batch(database: Database, tenant: str, *, with_basis: bool) -> Mapping[str, int]:
    for attempt in attempts():
        with attempt, database.transaction(tenant, claim=EVERYBODY, patient=True) as connection:
            deleted = _delete(connection, with_basis=with_basis)
    return deleted


def _delete(connection: Connection, *, with_basis: bool) -> Mapping[str, int]:
    row = connection.execute(
        load("forgetting/tenant_erasure")["erase"], {"most": BATCH, "with_basis": with_basis}
    ).fetchone()
    assert row is not None  # a function that is no set has one row
    rows: Mapping[str, int] = row["rows"]
    return rows


def _rest(
    database: Database, tenant: str, before: Mapping[str, int], record: Record
) -> Counter[str]:
    """Hold the writers, delete what they have written meanwhile, and record the whole."""
    for pause in HOLD_PAUSES:
        with suppress(_Busy):
            return _last(database, tenant, before, record)
        time.sleep(pause)
    try:
        return _last(database, tenant, before, record)
    except _Busy as busy:
        raise StorageError(
            "expected the writers of this schema to let a lock pass, but one has been in a "
            f"transaction for minutes: {busy}. "
            f"What the tenant {tenant!r} had is gone, but not what was written since, and there "
            "is no receipt yet; when that "
            "import, or whatever it is, has ended, run the same again"
        ) from busy.__cause__


class _Busy(Exception):
    """Somebody is in a long transaction that writes."""


def _last(
    database: Database, tenant: str, before: Mapping[str, int], record: Record
) -> Counter[str]:
    statements = load("forgetting/tenant_erasure")
    try:
        for attempt in attempts():
            with attempt, database.transaction(tenant, claim=EVERYBODY, patient=True) as connection:
                counts = Counter[str]()
                connection.execute(statements["impatient"])
                connection.execute(statements["hold_writers"])
                while deleted := _delete(connection, with_basis=True):
                    counts.update(deleted)
                record(connection, Counter(before) + counts)
    except QueryTimeout as error:
        if isinstance(error.__cause__, pg.LockNotAvailable):
            raise _Busy(str(error.__cause__).splitlines()[0]) from error
        raise
    return counts
