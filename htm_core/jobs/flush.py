"""Waiting until what is owed is done."""

from __future__ import annotations

import time

from ..engine.engine import Engine
from ..store import jobs
from .worker import Worker

PAUSE = 0.02


def settle(engine: Engine, worker: Worker, *, timeout: float | None) -> bool:
    """Write access counts and wait for the tenant's jobs; False when time is up, or what is left keeps failing or is not ours."""
    engine.access_counts.write()
    end = None if timeout is None else time.monotonic() + timeout
    worker.hurry()
    with engine.transaction() as connection:
        jobs.hurry(connection)
    _work(engine, worker, end)
    untried, total = _left(engine, worker)
    while untried and not _over(end):
        time.sleep(PAUSE)
        _work(engine, worker, end)  # what another worker claimed and left, too
        untried, total = _left(engine, worker)
    return total == 0


def _work(engine: Engine, worker: Worker, end: float | None) -> None:
    if engine.settings.worker == "off":
        worker.drain(until=lambda: _over(end))
    else:
        worker.wake()


def _left(engine: Engine, worker: Worker) -> tuple[int, int]:
    asked = worker.asked()
    with engine.transaction() as connection:
        return jobs.waiting(connection, asked)


def _over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end
