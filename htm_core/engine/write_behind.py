"""Written behind: what recall has held, counted and seen is in memory at once, and in the tables a moment later."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterable
from datetime import datetime

from ..base import time_limit
from ..base.errors import DatabaseUnavailable, StorageError
from ..base.fork import renewed_after_fork
from ..db.database import Database
from ..working.store import SetKey
from ..working.working_sets import write_unwritten_sets
from .access_counts import AccessCounts

_log = logging.getLogger("htm.working_sets")

# Seconds that something waits before it is written, so that what comes together is written together. A killed process
# loses what it has held and counted in this time.
INTERVAL = 0.5
LONGEST_PAUSE = 30.0  # seconds between two attempts while it cannot be written
IDLE = 30.0  # seconds for which the thread waits for something to write


class WriteBehind:
    """Writes what gathers in this process: what recall holds, accesses, and when robots were last active.

    A thread does it, and is there only while there is something. `flush`, `close` and `shutdown` do not wait for it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._access_counts = AccessCounts(database)
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child: the parent writes what it has gathered."""
        self._lock = threading.Lock()
        self._due, self._stopping = threading.Event(), threading.Event()  # the latter is of one thread only
        self._thread: threading.Thread | None = None

    def count(self, key: SetKey, ids: Iterable[str], *, at: datetime) -> None:
        """Note an access to each node, also as an item of the working set of a key."""
        self._access_counts.add(key, ids, at=at)
        self.wake()

    def seen(self, tenant: str, robot: str, *, at: datetime) -> None:
        """Note that a robot is active."""
        if self._access_counts.seen(tenant, robot, at=at):
            self.wake()

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
                # A process that is ending starts no thread: its last act is `shutdown`, which writes.
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def write(self) -> None:
        """Write everything now. What cannot be written is kept for the next time, and the error raised."""
        try:
            write_unwritten_sets(self._database)
        except DatabaseUnavailable:
            raise
        except StorageError:
            self._access_counts.write()
            raise
        self._access_counts.write()  # after what was held, whose rows it counts in

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
                _log.warning("what recall has held and counted is written later: %s", type(error).__name__)
                pause = min(LONGEST_PAUSE, 2 * pause)
                due.set()
