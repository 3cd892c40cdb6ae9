"""Moves a tenant from one cell into another while it reads and writes. docs/why/scale.md says how,
and why nothing is lost.

Each step is committed before the next begins, and a move that was interrupted goes on where it was:

1. copy: passes that copy what has changed since the one before, until little is left. Nobody reads
   the copy yet.
2. switch: shut the tenant's fence in the source, copy the rest, compare counts and digests of every
   table, commit the copy, and write into the source that the tenant has left. From that commit on
   each transaction goes to the target, whatever its process knew before.
3. the directory learns of it, and the source's rows are deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from psycopg import errors as pg
from psycopg import sql

from ...base.errors import StorageError
from .. import indexes
from ..connection import Connection
from ..database import Database
from ..errors import translated
from ..queries import load
from .citus import is_moved
from .tenant_copy import TenantCopy, delete_rows, moved_tables, quiet
from .tenant_locations import HOME

FEW_ROWS = 500  # changed in a pass, with which the next one may be the last
MOST_PASSES = 8  # before the fence is shut, however much is written meanwhile
FENCE_TRIES = 60
# seconds until the fence is tried again, which a long transaction of the tenant holds open
FENCE_PAUSE = 0.25
# how often the tables of a cell may go to another node of a cluster while one of its tenants moves
MOST_NODES = 5
# What a pass may meet once in a while: rows that took the place of others. Copying everything anew
# is always right.
OUT_OF_ORDER = (pg.UniqueViolation, pg.ForeignKeyViolation, pg.CheckViolation)

# Called after each step with its name and a number of rows; what it raises ends the move there.
Step = Callable[[str, int], None]


@dataclass(slots=True)
class MoveReport:
    """Report of a move: `rows` of each table that arrived, as counted and compared by digest at the
    switch.
    """

    tenant: str
    source: str
    target: str
    version: int
    rows: Mapping[str, int] = field(default_factory=dict)
    passes: int = 0
    copied: int = 0
    fenced: float = 0.0  # seconds in which the tenant's transactions waited
    deleted: int = 0


def silent(name: str, rows: int) -> None:
    """Say nothing of a step."""


def move(home: Database, tenant: str, target: str, *, step: Step = silent) -> MoveReport:
    """Move a tenant into another cell, or go on with a move that was interrupted.

    Raises `StorageError` where the copy does not agree with the source, and when another move is
    running; then the tenant stays where it is.
    """
    for _ in range(MOST_NODES):
        try:
            return _moved(home, tenant, target, step)
        except StorageError as error:
            # The tables of a cell have gone to another node, where it goes on; what they have left
            # may be dropped already.
            cause = error.__cause__
            if cause is None or not (is_moved(cause) or isinstance(cause, pg.UndefinedTable)):
                raise
    return _moved(home, tenant, target, step)


def _moved(home: Database, tenant: str, target: str, step: Step) -> MoveReport:
    with translated(), home.owner() as directory, home.owner() as turn, _alone(turn):
        report, state = _begun(home, directory, tenant, target)
        cells = {each.cell: each for each in home.cells()}
        source, into = cells[report.source], cells[report.target]
        with ExitStack() as held:
            rows, copy = (
                directory if each is home else held.enter_context(each.owner())
                for each in (source, into)
            )
            held.enter_context(_alone_in(source, home))
            tables = moved_tables(rows)
            if state["state"] == "copying" and not _has_left(rows, report):
                step("began", 0)
                _copy_and_switch(
                    report, directory, TenantCopy(rows, copy, tenant, tables), into, state, step
                )
                step("switched", sum(report.rows.values()))
            _tell_directory(directory, report)
            step("told", 0)
            report.deleted = sum(delete_rows(rows, tenant, tables=tables).values())
            step("deleted", report.deleted)
            with _staying(copy):
                copy.execute(
                    load("db/cluster/tenant_moves")["arrive"],
                    {"tenant": tenant, "version": report.version},
                )
        with _staying(directory):
            directory.execute(load("db/cluster/tenant_moves")["end_move"], {"tenant": tenant})
    return report


@contextmanager
def _staying(connection: Connection) -> Iterator[None]:
    """A short transaction, in which the tables stay on their node where Citus distributes them."""
    with connection.transaction():
        connection.stay()
        yield


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Be the only process that moves tenants of this directory; a lock in its schema, which ends
    with the session.

    It keeps no tables on their node, since others would wait for it when Citus moves them; whoever
    has it looks afterwards whether they are still there.
    """
    with quiet(connection, stays=False):
        try:
            connection.execute(load("db/cluster/tenant_moves")["one_at_a_time"])
        except pg.LockNotAvailable as error:
            raise StorageError(
                "expected no other move to be running in this directory, but one is; wait for its "
                "end: htm cells list shows it"
            ) from error
        yield


@contextmanager
def _alone_in(source: Database, home: Database) -> Iterator[None]:
    """Be the only process that moves tenants out of a cell, also when Citus moves home, and the
    lock is left behind there.
    """
    if source is home or source.placement is None:
        yield
        return
    with source.owner() as turn, _alone(turn):
        yield


def _begun(
    home: Database, directory: Connection, tenant: str, target: str
) -> tuple[MoveReport, Mapping[str, Any]]:
    """The move of a tenant as the directory has it, begun where it is not; a move elsewhere that
    was not switched is given up.
    """
    statements = load("db/cluster/tenant_moves")
    with _staying(directory):
        state = directory.execute(statements["move"], {"tenant": tenant}).fetchone()
    if state is not None and state["target"] != target:
        cells = {each.cell: each for each in home.cells()}
        with cells[state["source"]].owner() as rows:
            if state["state"] == "switched" or _has_left(
                rows, MoveReport(tenant, "", "", state["version"])
            ):
                raise StorageError(
                    f"expected the move of {tenant!r} to {state['target']!r}, which is all but "
                    "done, to be ended first; run: "
                    f"htm cells move {tenant} {state['target']}"
                )
        if state["target"] in cells:  # else it was dropped before anything was copied
            with cells[state["target"]].owner() as copy:
                delete_rows(copy, tenant)
        state = None
    if state is None:
        with _staying(directory):
            # One that nobody has asked for yet is at home from now on, also for those who ask
            # meanwhile.
            directory.execute(
                load("db/cluster/cells")["place_first"], {"tenant": tenant, "cell": HOME}
            )
            here = directory.execute(
                load("db/cluster/cells")["place_of"], {"tenant": tenant}
            ).fetchone()
            assert here is not None  # it was there, or has just been written
            values = {
                "tenant": tenant,
                "source": here["cell"],
                "target": target,
                "version": here["version"] + 1,
            }
            directory.execute(statements["begin_move"], values)
            state = directory.execute(statements["move"], {"tenant": tenant}).fetchone()
    assert state is not None  # it was there, or has just been written
    return MoveReport(
        tenant, state["source"], state["target"], state["version"], passes=state["passes"]
    ), state


def _has_left(rows: Connection, report: MoveReport) -> bool:
    with _staying(rows):
        row = rows.execute(
            load("db/cluster/tenant_moves")["departed"], {"tenant": report.tenant}
        ).fetchone()
    return row is not None and row["version"] >= report.version


def _copy_and_switch(
    report: MoveReport,
    directory: Connection,
    copy: TenantCopy,
    into: Database,
    state: Mapping[str, Any],
    step: Step,
) -> None:
    copy.refuse_same_collections()
    # Another node has transactions of its own, so that what was seen on the one says nothing there.
    seen, _, node = (state["seen"] or "").partition("@")
    seen = seen if seen and node == copy.source.node else None
    if seen is None:
        delete_rows(
            copy.target, report.tenant, tables=copy.tables
        )  # of a move that was interrupted, or of another time here
    while True:
        seen_before = seen
        # A node that the source's tables have left may be read: the next transaction there is
        # refused, and all is copied anew.
        with quiet(copy.source, snapshot=True, stays=False), quiet(copy.target):
            seen, written = _caught_up(report, copy, seen)
        with _staying(directory):
            noted = f"{seen}@{copy.source.node}" if copy.source.node else seen
            directory.execute(
                load("db/cluster/tenant_moves")["note_pass"],
                {"tenant": report.tenant, "seen": noted},
            )
        report.passes += 1
        step("copied", written)
        if seen_before is None and written >= indexes.THRESHOLD:
            indexes.build_due(into)  # before anybody searches there
        if written <= FEW_ROWS or report.passes >= MOST_PASSES:
            break
    for attempt in range(FENCE_TRIES):
        try:
            _switch(report, copy, seen, step)
            return
        except (pg.LockNotAvailable, *OUT_OF_ORDER):
            if attempt == FENCE_TRIES - 1:
                raise
            time.sleep(FENCE_PAUSE)


def _caught_up(
    report: MoveReport, copy: TenantCopy, seen: str | None, *, last: bool = False
) -> tuple[str, int]:
    """Copy what has changed; everything, where rows came out of order."""
    try:
        with copy.target.transaction(), copy.source.transaction():
            done = copy.run(seen=seen, last=last)
    except OUT_OF_ORDER:
        if seen is None:
            raise
        with copy.target.transaction():
            done = copy.run(seen=None, last=last)
    report.copied += done.written
    return done.seen, done.written + done.deleted


def _switch(report: MoveReport, copy: TenantCopy, seen: str, step: Step) -> None:
    """Shut the fence, copy the rest, compare, and let the tenant go; or change nothing."""
    statements = load("db/cluster/tenant_moves")
    number = copy.source.execute(statements["fence"], {"tenant": report.tenant}).fetchone()
    assert number is not None  # a select without from has one row
    fence = copy.source.table(f"fence_{number['number']}")
    with quiet(
        copy.source, snapshot=True, first=sql.SQL(statements["shut_fence"]).format(fence=fence)
    ):
        begun = time.monotonic()
        step("fenced", 0)
        with quiet(copy.target):
            _caught_up(report, copy, seen, last=True)
            differing, counts = _compared(copy)
            if differing:
                _caught_up(report, copy, None, last=True)
                differing, counts = _compared(copy)
            if differing:
                raise StorageError(
                    f"expected the copy of {report.tenant!r} in {report.target!r} to agree with "
                    f"{report.source!r}, but it "
                    f"differs in {', '.join(differing)}; nothing was switched, the tenant is "
                    "where it was"
                )
            step("verified", sum(counts.values()))
        step("kept", 0)
        copy.source.execute(
            statements["depart"],
            {"tenant": report.tenant, "cell": report.target, "version": report.version},
        )
    # The snapshot may be older than the wait for the lock that keeps the tables here: only now it
    # is sure that they were.
    if copy.source.entrance is not None and not _has_left(copy.source, report):
        raise StorageError(
            f"expected the tables of {report.source!r} to stay on their node for the switch of "
            f"{report.tenant!r}, but they did "
            "not; nothing was switched: run the same command again"
        )
    report.fenced = time.monotonic() - begun
    report.rows = {name: count for name, count in counts.items() if count}


def _compared(copy: TenantCopy) -> tuple[list[str], dict[str, int]]:
    """The tables in which source and target differ, and the rows of each."""
    here, there = copy.digests()
    return [name for name in here if here[name] != there[name]], {
        name: rows for name, (rows, _) in here.items()
    }


def _tell_directory(directory: Connection, report: MoveReport) -> None:
    values = {"tenant": report.tenant, "cell": report.target, "version": report.version}
    with _staying(directory):
        directory.execute(load("db/cluster/cells")["place"], values)
        directory.execute(load("db/cluster/tenant_moves")["note_switch"], {"tenant": report.tenant})
