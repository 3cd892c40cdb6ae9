"""The listener: receives what other processes commit, and updates the working sets of this
process's groups.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Collection, Iterable
from contextlib import closing

from ...base.errors import HTMError
from ...base.fork import renewed_after_fork
from ...db.database import Database
from ...db.listening import ListenConnection
from ...working.working_sets import WorkingSet, open_sets
from .heartbeat import Heartbeat

_log = logging.getLogger("htm.groups")

LISTEN_SECONDS = 0.2  # how long it waits for notifications before it checks whether it must stop
POLL_SECONDS = 0.5  # between two reads of all sets while there are no notifications
RETRY_SECONDS = 0.05  # until a set that could not be updated is tried again
FOLLOW_SECONDS = 0.05  # between two reads of sets that notifications name
LONGEST_WAIT = 5.0  # seconds between two attempts to connect


class Hints:
    """Notifications to follow now, so that no flood of them causes more work than looking without
    them would.

    The first is followed at once, and what comes in the next `FOLLOW_SECONDS` together after them.
    An id that is nobody's here may be of a set that has no row yet: those are read twice a second
    at most.
    """

    def __init__(self) -> None:
        # ids of this process's sets and groups: never more than there are
        self._ids: set[str] = set()
        self._unknown = False
        self._followed = self._looked = -math.inf

    @property
    def waiting(self) -> bool:
        """True if there is something to follow later."""
        return bool(self._ids) or self._unknown

    def due(
        self, received: Collection[str], *, known: Collection[str], now: float
    ) -> tuple[set[str], bool]:
        """The known ids to follow now, and whether to read the sets without an id."""
        self._ids.update(each for each in received if each in known)
        self._unknown = self._unknown or any(each not in known for each in received)
        ids: set[str] = set()
        if self._ids and now - self._followed >= FOLLOW_SECONDS:
            ids, self._ids, self._followed = self._ids, set(), now
        unknown = self._unknown and now - self._looked >= POLL_SECONDS
        if unknown:
            self._unknown, self._looked = False, now
        return ids, unknown


class Listener:
    """One listening connection for all groups of a process. A notification is a hint; the tables
    are the truth.

    After each connect it reads all sets and roles, so notifications that were missed do not matter.
    While it cannot listen (behind a pooler without `Settings.listen_url`, or while the server is
    away), and where cells are on other servers, it reads them twice a second.
    """

    def __init__(self, database: Database, heartbeat: Heartbeat) -> None:
        self._database = database
        self._heartbeat = heartbeat
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child: the connection is the parent's."""
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.listening = False

    def start(self) -> None:
        """Listen from now on."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopping.clear()
                self._thread = threading.Thread(target=self._run, name="htm-listener", daemon=True)
                self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread, which closes its connection."""
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self) -> None:
        wait = 0.0
        while not self._stopping.is_set():
            try:
                with closing(ListenConnection(self._database)) as connection:
                    wait = 0.0
                    self._listen(connection)
            except HTMError as error:
                wait = min(LONGEST_WAIT, 2 * wait or 0.1)
                _log.warning("no notifications for %.1f s: %s", wait, type(error).__name__)
            self.listening = False
            self._poll(wait)

    def _poll(self, seconds: float) -> None:
        """Read all sets twice a second until the next attempt to connect."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._stopping.wait(
            min(left, POLL_SECONDS)
        ):
            self._heartbeat.wake()
            self._update(self._shared_sets())

    def _listen(self, connection: ListenConnection) -> None:
        self.listening = True
        self._heartbeat.wake()
        behind = self._update(self._shared_sets())
        hints, tried, polled = Hints(), time.monotonic(), time.monotonic()
        while not self._stopping.is_set():
            received = connection.hear(
                seconds=RETRY_SECONDS if behind or hints.waiting else LISTEN_SECONDS
            )
            sets = self._shared_sets()
            known = {
                str(each.id) for each in sets if each.id is not None
            } | self._heartbeat.group_ids()
            now = time.monotonic()
            ids, unknown = hints.due(received, known=known, now=now)
            # A set without an id has no row yet: a notification may be about it, and one read finds
            # out.
            due = {each for each in sets if str(each.id) in ids or (unknown and each.id is None)}
            if behind and now - tried >= RETRY_SECONDS:
                due, behind, tried = due.union(behind), [], now
            if not self._database.is_one_server and now - polled >= POLL_SECONDS:
                due, polled = set(sets), now  # nobody here hears of cells on other servers
                self._heartbeat.wake()
            if ids or due:
                self._heartbeat.wake_for(ids)
                behind = [*behind, *self._update(due)]

    def _shared_sets(self) -> list[WorkingSet]:
        return [each for each in open_sets(self._database) if each.key.shared]

    def _update(self, sets: Iterable[WorkingSet]) -> list[WorkingSet]:
        """Bring sets up to date with their tables, and give those that are still behind."""
        behind = []
        for working_set in sets:
            try:
                evictions = working_set.catch_up(now=time.time())
            except HTMError as error:
                _log.warning("a working set will be read later: %s", type(error).__name__)
                behind.append(working_set)
                continue
            # raised by the application's eviction policy; other groups need this thread as well
            except Exception:
                _log.exception("a working set was not read")
                continue
            engine = self._heartbeat.engine_of(working_set) if evictions else None
            if engine is not None:
                engine.report(evictions)
            if working_set.behind:
                behind.append(working_set)
        return behind
