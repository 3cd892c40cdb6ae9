"""The listener: receives what other processes commit, and updates the working sets of this process's groups."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from contextlib import closing

from ..engine.working_sets import WorkingSet, open_sets
from ..errors import HTMError
from ..fork import renewed_after_fork
from ..store.database import Database
from ..store.listening import ListenConnection
from .heartbeat import Heartbeat

_log = logging.getLogger("htm.hive")

LISTEN_SECONDS = 0.2  # how long it waits for notifications before it checks whether it must stop
POLL_SECONDS = 0.5  # between two reads of all sets while there are no notifications
RETRY_SECONDS = 0.05  # until a set that could not be updated is tried again
LONGEST_WAIT = 5.0  # seconds between two attempts to connect


class Listener:
    """One listening connection for all groups of a process. A notification is a hint; the tables are the truth.

    After each connect it reads all sets and roles, so notifications that were missed do not matter. While it cannot listen
    (behind a pooler without `Settings.listen_url`, or while the server is away) it reads them twice a second.
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
        while (left := end - time.monotonic()) > 0 and not self._stopping.wait(min(left, POLL_SECONDS)):
            self._heartbeat.wake()
            self._update(self._shared_sets())

    def _listen(self, connection: ListenConnection) -> None:
        self.listening = True
        self._heartbeat.wake()
        behind = self._update(self._shared_sets())
        while not self._stopping.is_set():
            ids = connection.hear(seconds=RETRY_SECONDS if behind else LISTEN_SECONDS)
            if ids or behind:
                self._heartbeat.wake_for(ids)
                # A set without an id has no row yet: a notification may be about it, and one read finds out.
                notified = [each for each in self._shared_sets() if each.id is None or str(each.id) in ids]
                behind = self._update({*notified, *behind})

    def _shared_sets(self) -> list[WorkingSet]:
        return [each for each in open_sets(self._database) if each.key.shared]

    def _update(self, sets: Iterable[WorkingSet]) -> list[WorkingSet]:
        """Bring sets up to date with their tables, and give those that are still behind."""
        behind = []
        for each in sets:
            try:
                evictions = each.catch_up(now=time.time())
            except HTMError as error:
                _log.warning("a working set will be read later: %s", type(error).__name__)
                behind.append(each)
                continue
            except Exception:  # raised by the application's eviction policy; other groups need this thread as well
                _log.exception("a working set was not read")
                continue
            engine = self._heartbeat.engine_of(each) if evictions else None
            if engine is not None:
                engine.report(evictions)
            if each.behind:
                behind.append(each)
        return behind
