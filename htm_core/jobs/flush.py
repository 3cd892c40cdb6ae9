"""Flush: wait until a tenant's pending jobs are done."""

from __future__ import annotations

import logging
import math

from ..base import time_limit
from ..base.errors import DeadlineExceeded, QueryTimeout
from ..db import jobs
from ..db.errors import attempts
from ..engine.engine import Engine
from .worker import Worker

_log = logging.getLogger("htm.worker")

# Between two looks while another worker has the jobs. This process's own says when it has none
# left.
POLL_SECONDS, LONGEST_POLL = 0.02, 0.25
ALMOST = 0.05  # seconds: the server may end a statement a little before its time is over


def flush(engine: Engine, worker: Worker, *, timeout: float | None) -> bool:
    """Write what is written behind, and wait for the tenant's jobs.

    False when the timeout is over, or when the jobs that are left keep failing or need a client
    that this process does not have; a warning says which.
    """
    longest = engine.settings.verb_timeout
    limit = time_limit.TimeLimit(longest, total=timeout, slides=timeout is None)
    try:
        with time_limit.limited(limit):
            done = _flush(engine, worker, limit)
            engine.database.follow()  # the jobs were done by transactions that no read waits for
            return done
    except (DeadlineExceeded, QueryTimeout, time_limit.OutOfTime):
        # The server did not answer; the time that the caller gave is not over.
        if timeout is None or limit.left > ALMOST:
            raise
        return False


def _flush(engine: Engine, worker: Worker, limit: time_limit.TimeLimit) -> bool:
    engine.write_behind.write()
    worker.retry_models_now(engine.tenant)
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            jobs.make_all_due(connection)
    pause, rests, wakes = POLL_SECONDS, worker.rests, True
    while True:
        if engine.settings.worker == "off":
            _drain(engine, worker, limit)
        elif wakes:
            worker.hurry()
        waited_for, left = _waiting(engine, worker)
        if not waited_for or not limit.left:
            if left and limit.left:
                _warn_of_missing(engine, worker)
            return not left
        # Another worker may have claimed jobs; they are free when its lease ends.
        latest = worker.await_rest(rests, timeout=min(pause, limit.left))
        wakes, rests, pause = latest == rests, latest, min(2 * pause, LONGEST_POLL)


def _drain(engine: Engine, worker: Worker, limit: time_limit.TimeLimit) -> None:
    """Do the jobs that are due. A batch that is at work when the time is over is finished in a
    thread of its own.
    """

    def is_over() -> bool:
        """True if the time is over, or nothing is left to do."""
        return (not limit.slides and not limit.left) or not _waiting(engine, worker)[0]

    def work() -> None:
        """Do them. A batch takes as long as a slow model does; each answer of the server has its
        time.
        """
        with time_limit.limited(time_limit.TimeLimit(limit.seconds, total=math.inf)):
            worker.drain(until=is_over)

    if limit.slides:
        work()
        limit.restart()
    else:
        time_limit.within(limit.left, work, client=("jobs", engine.database.place, engine.tenant))


def _waiting(engine: Engine, worker: Worker) -> tuple[bool, bool]:
    lanes = worker.available_lanes(engine.tenant)
    with engine.transaction() as connection:
        return jobs.are_waiting(connection, lanes)


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
            "tenant %.80r waits for a client that this process does not have: %s; open a memory "
            "of this tenant with that model, "
            "or name one for all tenants by Settings(shared_models=...) or by htm worker",
            engine.tenant,
            ", ".join(missing),
        )
