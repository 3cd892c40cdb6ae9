"""Deletes expired items for good, at regular intervals."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError

_log = logging.getLogger("htm.langchain")


class Sweeper:
    """A thread that calls `sweep` every so many minutes, until it is stopped or its future is
    cancelled.
    """

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._future: Future[None] = Future()
        self._end = threading.Event()

    def start(self, minutes: float) -> Future[None]:
        """Start; the first sweep comes after so many minutes. When it runs already, return its
        future.
        """
        with self._lock:
            if self._thread is not None and self._thread.is_alive() and not self._end.is_set():
                return self._future
            self._end, self._future = threading.Event(), Future()
            work = (self._sweep, minutes * 60, self._end, self._future)
            self._thread = threading.Thread(
                target=_sweep_until, args=work, name="htm-store-sweeper", daemon=True
            )
            self._future.add_done_callback(lambda _, end=self._end: end.set())  # type: ignore[misc]
            self._thread.start()
            return self._future

    def ask_to_stop(self) -> None:
        """Stop without waiting."""
        self._end.set()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop, and return whether the thread has ended within so many seconds."""
        self.ask_to_stop()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()


def _sweep_until(
    sweep: Callable[[], int], seconds: float, end: threading.Event, future: Future[None]
) -> None:
    while not end.wait(seconds):
        try:
            count = sweep()
        except Exception:
            _log.warning(
                "a sweep of expired items failed; the next is tried in %.0f seconds",
                seconds,
                exc_info=True,
            )
        else:
            if count:
                _log.info("swept %d expired items", count)
    with contextlib.suppress(InvalidStateError):  # it was cancelled
        future.set_result(None)
