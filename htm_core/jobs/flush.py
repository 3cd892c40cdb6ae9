"""Waiting until what is owed is done."""

from __future__ import annotations

import time

from ..engine.engine import Mind
from ..store import jobs
from .worker import Worker

PAUSE = 0.02


def settle(mind: Mind, worker: Worker, *, timeout: float | None) -> bool:
    """Write access counts and wait for the tenant's jobs; False when time is up, or what is left keeps failing or is not ours."""
    mind.touches.write()
    end = None if timeout is None else time.monotonic() + timeout
    worker.hurry()
    with mind.transaction() as connection:
        jobs.hurry(connection)
    _work(mind, worker, end)
    untried, total = _left(mind, worker)
    while untried and not _over(end):
        time.sleep(PAUSE)
        _work(mind, worker, end)  # what another worker claimed and left, too
        untried, total = _left(mind, worker)
    return total == 0


def _work(mind: Mind, worker: Worker, end: float | None) -> None:
    if mind.settings.worker == "off":
        worker.drain(until=lambda: _over(end))
    else:
        worker.wake()


def _left(mind: Mind, worker: Worker) -> tuple[int, int]:
    asked = worker.asked()
    with mind.transaction() as connection:
        return jobs.waiting(connection, asked)


def _over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end
