"""Flush: wait until a tenant's pending jobs are done."""

from __future__ import annotations

import logging
import math
import time

from ..engine.engine import Engine
from ..store import jobs
from .worker import Worker

_log = logging.getLogger("htm.worker")

POLL_SECONDS = 0.02


def flush(engine: Engine, worker: Worker, *, timeout: float | None) -> bool:
    """Write the access counts, and wait for the tenant's jobs.

    False when the timeout is over, or when the jobs that are left keep failing or need a client that this process does not have;
    a warning says which.
    """
    engine.access_counts.write()
    end = math.inf if timeout is None else time.monotonic() + timeout
    worker.retry_models_now(engine.tenant)
    with engine.transaction() as connection:
        jobs.make_all_due(connection)
    while True:
        if engine.settings.worker == "off":
            worker.drain(until=lambda: time.monotonic() >= end or not _waiting(engine, worker)[0])
        else:
            worker.wake()
        waited_for, total = _waiting(engine, worker)
        if not waited_for or time.monotonic() >= end:
            if total:
                _warn_of_missing(engine, worker)
            return total == 0
        time.sleep(POLL_SECONDS)  # another worker may have claimed jobs; they are free again when its lease ends


def _waiting(engine: Engine, worker: Worker) -> tuple[int, int]:
    lanes = worker.available_lanes(engine.tenant)
    with engine.transaction() as connection:
        return jobs.count_waiting(connection, lanes)


def _warn_of_missing(engine: Engine, worker: Worker) -> None:
    """Say which jobs wait for a client that this process does not have for the tenant."""
    served = worker.lanes_of(engine.tenant)
    with engine.transaction() as connection:
        waiting = jobs.waiting_lanes(connection)
    missing = [
        f"{count:,} {kind} jobs for the model {model!r:.80}"
        for (kind, model), count in waiting.items()
        if (kind, model) not in served
    ]
    if missing:
        _log.warning(
            "tenant %.80r waits for a client that this process does not have: %s; open a memory of this tenant with that model, "
            "or name one for all tenants by Settings(shared_models=...) or by htm worker", engine.tenant, ", ".join(missing),
        )  # fmt: skip
