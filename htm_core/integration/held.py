"""What could not be written yet, and is written at the latest when the process ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable

from ..errors import StorageError
from ..fork import renewed_after_fork
from ..memory import Memory
from ..runtime.process import before_shutdown
from ..time_limit import TimeLimit, limited
from .deadline import TIMEOUT

_log = logging.getLogger("htm.deadline")


class HeldBack:
    """What writes the messages that are held back, by whose they are. Safe for threads.

    Whoever holds messages back is kept here until they are written: nothing is lost with the object that held them.
    """

    def __init__(self) -> None:
        self._writers: dict[Hashable, tuple[Memory, Callable[[], None]]] = {}
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which has nothing to write of its parent's."""
        self._lock = threading.Lock()
        self._writers = {}

    def add(self, key: Hashable, memory: Memory, write: Callable[[], None]) -> None:
        """Note that `write` has messages to write with a memory."""
        with self._lock:
            self._writers[key] = memory, write

    def discard(self, key: Hashable) -> None:
        """Note that nothing is held back any more."""
        with self._lock:
            self._writers.pop(key, None)

    def write(self) -> None:
        """Write all that is held back; after a failure nothing more with the same database, which is then said.

        It takes as long as the database answers, and waits `TIMEOUT` seconds at most for each transaction.
        """
        with self._lock:
            writers, self._writers = list(self._writers.values()), {}
        failed = set[object]()
        lost, reason = 0, ""
        for memory, write in writers:
            place = memory._engine.database.place
            if place in failed:
                lost += 1
                continue
            try:
                with limited(TimeLimit(TIMEOUT, slides=True)):
                    write()
            except Exception as error:  # of whatever kind: it keeps no other conversation from being written
                lost, reason = lost + 1, reason or str(error) or type(error).__name__
                if isinstance(error, StorageError | TimeoutError):
                    failed.add(place)
        if lost:
            _log.error("what was said last in %d conversations could not be written before the end (%s)", lost, reason)


held_back = HeldBack()
before_shutdown(held_back.write)
