"""Written behind: what recall has held, counted and seen is in memory at once, and in the tables a
moment later.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from ..base import time_limit
from ..base.errors import DatabaseUnavailable, StorageError
from ..base.fork import renewed_after_fork
from ..db import tenants
from ..db.database import Connection, Database
from ..db.errors import retry_transaction
from ..db.owner_claims import claim_of
from ..working import store
from ..working.store import CountedAccesses, SetKey
from ..working.working_sets import counted, write_unwritten_sets
from ..writing import nodes

_log = logging.getLogger("htm.working_sets")

Counts = dict[UUID, tuple[int, datetime]]

OFTEN = timedelta(minutes=1)  # how exactly it is known when a robot was last active
# Seconds that something waits before it is written, so that what comes together is written
# together. A killed process loses what it has held and counted in this time.
INTERVAL = 0.5
LONGEST_PAUSE = 30.0  # seconds between two attempts while it cannot be written
IDLE = 30.0  # seconds for which the thread waits for something to write


class WriteBehind:
    """Writes what gathers in this process: what recall holds, accesses, and when robots were last
    active.

    A thread does it, and is there only while there is something. `flush`, `close` and `shutdown` do
    not wait for it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.accesses = AccessCounts(database, wake=self.wake)
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child: the parent writes what it has gathered."""
        self._lock = threading.Lock()
        # the latter is of one thread only
        self._due, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Write what there is within `INTERVAL`."""
        if self._due.is_set() and self._thread is not None:
            return
        with self._lock:
            self._due.set()
            if self._thread is None:
                self._stopping = threading.Event()
                thread = threading.Thread(
                    target=self._run, args=(self._stopping,), name="htm-write-behind", daemon=True
                )
                # A process that is ending starts no thread: its last act is `shutdown`, which
                # writes.
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def write(self) -> None:
        """Write everything now. What cannot be written is kept for the next time, and the error
        raised.
        """
        try:
            write_unwritten_sets(self._database)
        except DatabaseUnavailable:
            raise
        except StorageError:
            self.accesses.write()
            raise
        self.accesses.write()  # after what was held, whose rows it counts in

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread, which finishes what it is writing."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopping.set()
            self._due.set()
            self._due.clear()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self, stopping: threading.Event) -> None:
        pause, due = INTERVAL, self._due
        while not stopping.is_set():
            if not due.wait(IDLE):
                with self._lock:
                    if not due.is_set():
                        self._thread = None if self._stopping is stopping else self._thread
                        return
            if stopping.wait(pause):
                return
            due.clear()
            try:
                with time_limit.limited(None):
                    self.write()
                pause = INTERVAL
            except Exception as error:  # the database is away: what was held is in memory still
                _log.warning(
                    "what recall has held and counted is written later: %s", type(error).__name__
                )
                pause = min(LONGEST_PAUSE, 2 * pause)
                due.set()


# -- access counts ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _OfTenant:
    """Counts to be written for one tenant: accesses to nodes and to items of working sets, and when
    robots were last active.
    """

    nodes: Counts = field(default_factory=dict)
    held: dict[SetKey, Counts] = field(default_factory=dict)
    robots: dict[str, datetime] = field(default_factory=dict)

    def include(self, earlier: _OfTenant) -> None:
        """Add what could not be written before."""
        _add(self.nodes, earlier.nodes)
        for key, counts in earlier.held.items():
            _add(self.held.setdefault(key, {}), counts)
        for robot, at in earlier.robots.items():
            self.robots[robot] = max(at, self.robots.get(robot, at))


class AccessCounts:
    """The accesses since the last write, for each tenant; `wake` has them written soon."""

    def __init__(self, database: Database, *, wake: Callable[[], None]) -> None:
        self._database = database
        self._wake = wake
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start empty in a forked child: the parent writes what was gathered before."""
        self._lock = threading.Lock()
        # A thread that waits for what was gathered also waits for what another thread is writing.
        self._writing = threading.Lock()
        self._pending: dict[str, _OfTenant] = {}
        self._last_active: dict[tuple[str, str], datetime] = {}

    def add(self, key: SetKey, ids: Iterable[str], *, at: datetime) -> None:
        """Note an access to each node, also as an item of the working set of a key."""
        counts = {UUID(id): (1, at) for id in ids}
        with self._lock:
            pending = self._pending.setdefault(key.tenant, _OfTenant())
            pending.include(_OfTenant(nodes=counts, held={key: counts}))
        self._wake()

    def seen(self, tenant: str, robot: str, *, at: datetime) -> None:
        """Note that a robot is active.

        Its first time in this process is written with the rows of `Engine.transaction`.
        """
        with self._lock:
            last = self._last_active.setdefault((tenant, robot), at)
            if at - last < OFTEN:
                return
            self._last_active[tenant, robot] = at
            self._pending.setdefault(tenant, _OfTenant()).include(_OfTenant(robots={robot: at}))
        self._wake()

    def write(self) -> None:
        """Write what was gathered. What cannot be written now is kept for the next time."""
        with time_limit.locked(self._writing, what="the counts of accesses"):
            with self._lock:
                pending, self._pending = self._pending, {}
            while pending:
                tenant, access_counts = pending.popitem()
                try:
                    written = retry_transaction(partial(self._write, tenant, access_counts))
                except BaseException:
                    self._put_back(pending | {tenant: access_counts})
                    raise
                for key, counts in written.items():
                    counted(self._database, key, counts)

    def _write(self, tenant: str, access_counts: _OfTenant) -> Mapping[SetKey, CountedAccesses]:
        """Write one tenant's counts in one transaction, every table in the order of its keys."""
        keys = sorted(
            access_counts.held, key=lambda key: (key.owner, key.shared, key.holder, key.session)
        )

        def queue(connection: Connection) -> list[Callable[[], CountedAccesses | None]]:
            """Queue all of it. Counted twice is better than not at all, also where this fails."""
            if access_counts.nodes:
                nodes.add_accesses(connection, access_counts.nodes)
            counts = [store.add_accesses(connection, key, access_counts.held[key]) for key in keys]
            tenants.set_robots_active(connection, access_counts.robots)
            return counts

        counts = self._database.in_one_message(
            tenant, queue, claim=claim_of(*{key.owner for key in keys}), followed=False
        )
        written = {key: read() for key, read in zip(keys, counts, strict=True)}
        return {key: each for key, each in written.items() if each is not None}

    def _put_back(self, pending: Mapping[str, _OfTenant]) -> None:
        with self._lock:
            for tenant, access_counts in pending.items():
                self._pending.setdefault(tenant, _OfTenant()).include(access_counts)


def _add(counts: Counts, more: Counts) -> None:
    for id, (times, at) in more.items():
        known = counts.get(id)
        counts[id] = (times + known[0], max(at, known[1])) if known else (times, at)
