"""Sweeping: deleting for good, every so often, what has expired."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError

_log = logging.getLogger("htm.langchain")


class Sweeper:
    """A thread that calls `sweep` every so many minutes, until it is stopped or its future cancelled."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._future: Future[None] = Future()
        self._end = threading.Event()

    def start(self, minutes: float) -> Future[None]:
        """Begin, the first time after so many minutes; what runs already goes on, and its future is given back."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive() and not self._end.is_set():
                return self._future
            self._end, self._future = threading.Event(), Future()
            work = (self._sweep, minutes * 60, self._end, self._future)
            self._thread = threading.Thread(target=_sweep_on, args=work, name="htm-store-sweeper", daemon=True)
            self._future.add_done_callback(lambda _, end=self._end: end.set())  # type: ignore[misc]
            self._thread.start()
            return self._future

    def ask_to_stop(self) -> None:
        """End without waiting."""
        self._end.set()

    def stop(self, timeout: float | None = None) -> bool:
        """End, and say whether it has, within so many seconds."""
        self.ask_to_stop()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()


def _sweep_on(sweep: Callable[[], int], seconds: float, end: threading.Event, future: Future[None]) -> None:
    while not end.wait(seconds):
        try:
            count = sweep()
        except Exception:
            _log.warning("a sweep of expired items failed; the next is tried in %.0f seconds", seconds, exc_info=True)
        else:
            if count:
                _log.info("swept %d expired items", count)
    with contextlib.suppress(InvalidStateError):  # it was cancelled
        future.set_result(None)
