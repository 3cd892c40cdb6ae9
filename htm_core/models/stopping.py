"""A long call of a model ends early when its thread is to end, and no interpreter is taken down
around a model's native code.

A thread that comes back from native code while the interpreter ends is ended right there. In C++
code that is an error, and the whole process ends by SIGABRT ("terminate called without an active
exception"). So a thread that makes long calls says when it is to end, a model that works in parts
asks between them, and the end of the process waits for the part that is still at work.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..base.fork import renewed_after_fork

LONGEST_PART = 10.0  # seconds that the end of a process waits for the parts that are at work


class Stopped(BaseException):
    """The thread is to end, and what it was doing was given up. No error of the model: nothing that
    handles those should get it.
    """


# A call that runs in several threads takes it along.
_stopping: ContextVar[Callable[[], bool] | None] = ContextVar("stopping", default=None)


@contextmanager
def stopped_when(stopping: Callable[[], bool]) -> Iterator[None]:
    """Within this block, calls of models by this thread raise `Stopped` soon after `stopping()` has
    become true.
    """
    before = _stopping.set(stopping)
    try:
        yield
    finally:
        _stopping.reset(before)


class NativeParts:
    """The parts of calls that are in native code now, of all threads. Once it is closed, threads
    but the main one begin no more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running, self._closed = 0, False
        renewed_after_fork(self)

    @contextmanager
    def part(self) -> Iterator[None]:
        """Around one part, which should take well below a second. Raises `Stopped` if this thread
        is to end.
        """
        stopping = _stopping.get()
        if stopping is not None and stopping():
            raise Stopped
        with self._changed:
            self._changed.wait_for(
                lambda: not self._closed or threading.current_thread() is threading.main_thread()
            )
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Wait until no part is at work, and let none begin. For the end of the process, when only
        daemon threads are left.
        """
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._running, LONGEST_PART)

    def renew(self) -> None:
        """Begin anew in a forked child, which has none of its parent's threads."""
        self._changed, self._running, self._closed = threading.Condition(), 0, False


native_parts = NativeParts()
# What is registered later is called earlier: memories are shut down first, and their threads end
# well.
atexit.register(native_parts.close)
