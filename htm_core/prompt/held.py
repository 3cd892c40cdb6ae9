"""Messages that could not be written yet, and are written at the latest when the process ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Sized

from ..base.errors import StorageError
from ..base.fork import renewed_after_fork
from ..base.last_used import LastUsed as LastUsed  # the adapters have it from here
from ..base.time_limit import TimeLimit, limited
from ..memory.memory import Memory
from ..memory.process import ENDING, before_shutdown

_log = logging.getLogger("htm.deadline")


class HeldBack:
    """Writers of the messages that are held back, by whose they are. Safe for threads.

    Whoever holds messages back is kept here until they are written: nothing is lost with the object
    that held them.
    """

    def __init__(self) -> None:
        self._writers: dict[Hashable, tuple[Memory, Callable[[], None], Sized]] = {}
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which has nothing to write of its parent's."""
        self._lock = threading.Lock()
        self._writers = {}

    def add(
        self, key: Hashable, memory: Memory, write: Callable[[], None], *, waiting: Sized
    ) -> None:
        """Note that `write` has messages to write with a memory: those that are `waiting` then."""
        with self._lock:
            self._writers[key] = memory, write, waiting

    def discard(self, key: Hashable) -> None:
        """Note that nothing is held back any more."""
        with self._lock:
            self._writers.pop(key, None)

    def write(self) -> set[object]:
        """Write all that is held back; after a failure nothing more with the same database, which
        is then said.

        It takes as long as the database answers, and waits `ENDING` seconds at most for each
        transaction. Answers with the places of the databases that failed.
        """
        with self._lock:
            writers, self._writers = list(self._writers.values()), {}
        failed = set[object]()
        lost, reason = 0, ""
        for memory, write, waiting in writers:
            place = memory._engine.database.place
            try:
                if place not in failed:
                    with limited(TimeLimit(ENDING, slides=True)):
                        write()
            # of whatever kind: it keeps no other conversation from being written
            except Exception as error:
                reason = reason or str(error) or type(error).__name__
                if isinstance(error, StorageError | TimeoutError):
                    failed.add(place)
            lost += len(waiting)
        if lost:
            _log.error("%d messages could not be written before the end (%s)", lost, reason)
        return failed


held_back = HeldBack()
before_shutdown(held_back.write)
