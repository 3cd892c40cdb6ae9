"""The listener: hears what other processes commit, and keeps the working sets of groups to their tables."""

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

HEAR_SECONDS = 0.2  # how long it waits for news before it looks whether it is to stop
LOOK_SECONDS = 0.5  # between two looks at all sets while nobody tells
RETRY_SECONDS = 0.05  # until what was in the way of taking over a change is tried again
LONGEST_WAIT = 5.0  # seconds between two attempts to reach the server


class Listener:
    """One listening connection for all groups of a process. What it hears is a hint; the tables are the truth.

    After every connection it looks at all sets and roles, so it does not matter what was told while nobody listened. While
    it cannot listen (behind a pooler without `Settings.listen_url`, or the server is away) it looks twice a second.
    """

    def __init__(self, database: Database, heartbeat: Heartbeat) -> None:
        self._database = database
        self._heartbeat = heartbeat
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Begin again in a forked child: the line is the parent's."""
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
        """Hang up and end the thread."""
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self) -> None:
        wait = 0.0
        while not self._stopping.is_set():
            try:
                with closing(ListenConnection(self._database)) as line:
                    wait = 0.0
                    self._listen(line)
            except HTMError as error:
                wait = min(LONGEST_WAIT, 2 * wait or 0.1)
                _log.warning("nothing is heard for %.1f s: %s", wait, type(error).__name__)
            self.listening = False
            self._look(wait)

    def _look(self, seconds: float) -> None:
        """Look at all sets now and then until the next attempt to listen."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._stopping.wait(min(left, LOOK_SECONDS)):
            self._heartbeat.wake()
            self._take_over(self._sets())

    def _listen(self, line: ListenConnection) -> None:
        self.listening = True
        self._heartbeat.wake()
        late = self._take_over(self._sets())
        while not self._stopping.is_set():
            heard = line.hear(seconds=RETRY_SECONDS if late else HEAR_SECONDS)
            if heard or late:
                self._heartbeat.hint(heard)
                late = self._take_over({*self._told(heard), *late})

    def _told(self, heard: set[str]) -> list[WorkingSet]:
        """The sets that were spoken of; one that has no row yet cannot be told apart, and costs one look."""
        return [each for each in self._sets() if each.id is None or str(each.id) in heard]

    def _sets(self) -> list[WorkingSet]:
        return [each for each in open_sets(self._database) if each.key.shared]

    def _take_over(self, sets: Iterable[WorkingSet]) -> list[WorkingSet]:
        """Let sets be what their tables say, and give those that could not be yet."""
        late = []
        for each in sets:
            try:
                evictions = each.catch_up(now=time.time())
            except HTMError as error:
                _log.warning("a working set will be read later: %s", type(error).__name__)
                late.append(each)
                continue
            except Exception:  # a policy of the application's; it is the others' listener as well
                _log.exception("a working set was not read")
                continue
            observer = self._heartbeat.observer(each) if evictions else None
            if observer is not None:
                observer.report(evictions)
            if each.behind:
                late.append(each)
        return late
