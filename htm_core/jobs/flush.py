"""Flush: wait until a tenant's pending jobs are done."""

from __future__ import annotations

import math
import time

from ..engine.engine import Engine
from ..store import jobs
from .worker import Worker

POLL_SECONDS = 0.02


def flush(engine: Engine, worker: Worker, *, timeout: float | None) -> bool:
    """Write the access counts, and wait for the tenant's jobs.

    False when the timeout is over, or when the jobs that are left keep failing or belong to models of other processes.
    """
    engine.access_counts.write()
    end = math.inf if timeout is None else time.monotonic() + timeout
    worker.retry_models_now()
    with engine.transaction() as connection:
        jobs.make_all_due(connection)
    while True:
        if engine.settings.worker == "off":
            worker.drain(until=lambda: time.monotonic() >= end or not _waiting(engine, worker)[0])
        else:
            worker.wake()
        waited_for, total = _waiting(engine, worker)
        if not waited_for or time.monotonic() >= end:
            return total == 0
        time.sleep(POLL_SECONDS)  # another worker may have claimed jobs; they are free again when its lease ends


def _waiting(engine: Engine, worker: Worker) -> tuple[int, int]:
    lanes = worker.available_lanes()
    with engine.transaction() as connection:
        return jobs.count_waiting(connection, lanes)
