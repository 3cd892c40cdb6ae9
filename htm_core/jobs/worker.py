"""The worker: does pending jobs in the background, one tenant at a time, and loses none."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter

from ..engine.access_counts import AccessCounts
from ..errors import DatabaseUnavailable, HTMError, ModelError
from ..fork import renewed_after_fork
from ..models.embedders import CheckedEmbedder
from ..store import jobs, model_status
from ..store.database import Database
from ..store.errors import is_retryable
from ..store.jobs import ClaimedJob, Lane
from ..telemetry import telemetry
from .handlers import CountHandler, EmbedHandler, Handler, RelateHandler
from .rate_limits import OPEN, RateLimits

_log = logging.getLogger("htm.worker")

IDLE_SECONDS = 5.0
COUNT_SECONDS = 60.0  # between two searches for tenants that need a new word count
MOST_TRIES = 5
LONGEST_WAIT = 300.0
CONTENTION_WAIT = 0.5  # seconds, after a lock conflict with another writer
SLOW_BATCH = 4  # jobs of a chat model that are claimed at once: each may take many seconds
SLOW_LEASES = 4  # the lease of a chat model's job, in leases of a quick job


class Worker:
    """Does the jobs of one database, in threads of this process or in the thread that calls `drain`.

    A lane is a kind of job with the model that does it. One thread serves the quick lanes. A second one serves the slow
    lanes, those of chat models, so that no vector waits for a chat model; it runs only where there are any.
    """

    def __init__(self, database: Database, access_counts: AccessCounts) -> None:
        self._database = database
        self._access_counts = access_counts
        self._handlers: dict[Lane, Handler] = {}
        self._rate_limits = RateLimits(rates=database.settings.model_rates, jitter=random.random)
        self._counts_checked: float | None = None
        self._stopping = threading.Event()
        self._wanted = {False: threading.Event(), True: threading.Event()}
        self._lock = threading.Lock()
        self._threads: dict[bool, threading.Thread] = {}
        self._pid = os.getpid()
        for handler in (CountHandler(database), RelateHandler(database)):
            self.add_handler(handler)
        renewed_after_fork(self)

    def add_embedder(self, embedder: CheckedEmbedder) -> None:
        """Do the jobs of this embedder from now on."""
        self.add_handler(EmbedHandler(self._database, embedder))

    def add_handler(self, handler: Handler) -> None:
        """Do the jobs of this handler's kind and model from now on."""
        self._handlers[handler.kind, handler.model] = handler

    def remove_handler(self, kind: str, model: str) -> None:
        """Leave the jobs of a kind and a model to other workers."""
        self._handlers.pop((kind, model), None)

    @property
    def lanes(self) -> list[Lane]:
        """The kinds and models whose jobs this worker does."""
        return list(self._handlers)

    def available_lanes(self) -> list[Lane]:
        """Give the lanes whose model's breaker is not open."""
        breakers = self.breakers()
        return [lane for lane in self.lanes if breakers.get(lane[1]) != OPEN]

    def breakers(self) -> dict[str, str]:
        """Give each model's breaker: "closed", "open" while the model is away, "half-open" while it is tried again."""
        models = [model for _, model in self.lanes if model]
        with self._database.transaction("", role="htm_worker") as connection:
            return self._rate_limits.breaker_states(connection, models)

    def retry_models_now(self) -> None:
        """End the pauses of open breakers, so that models that were away are tried at once: somebody is waiting."""
        with self._database.transaction("", role="htm_worker") as connection:
            model_status.make_due(connection, [model for _, model in self.lanes if model])

    def wake(self) -> None:
        """Look for jobs now; starts the threads the first time, and again after a fork."""
        speeds = [False, True] if any(handler.slow for handler in list(self._handlers.values())) else [False]
        for slow in speeds:
            self._wanted[slow].set()
            if not self._runs(slow):
                with self._lock:
                    if not self._runs(slow):
                        self._start(slow)

    def stop(self, timeout: float = 10.0) -> None:
        """Finish the current batch and end the threads."""
        self._stopping.set()
        for wanted in self._wanted.values():
            wanted.set()
        threads, self._threads = self._threads, {}
        end = time.monotonic() + timeout
        for thread in threads.values():
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    def drain(self, *, until: Callable[[], bool] = lambda: False) -> int:
        """Do all jobs that are due, in the calling thread, and give how many were claimed."""
        total = 0
        while not until():
            quick = self._drain(False, until)
            slow = self._do_batch(True, until)
            total += quick + slow
            if not slow:  # after slow jobs look again: their results may have added quick jobs
                break
        return total

    def renew(self) -> None:
        """Start again in a forked child: the threads are the parent's, and they may have held its locks."""
        self._lock, self._stopping, self._threads = threading.Lock(), threading.Event(), {}
        self._wanted = {False: threading.Event(), True: threading.Event()}
        self._rate_limits.renew()

    # -- threads ---------------------------------------------------------------------------------------------------------

    def _runs(self, slow: bool) -> bool:
        thread = self._threads.get(slow)
        return thread is not None and thread.is_alive() and self._pid == os.getpid()

    def _start(self, slow: bool) -> None:
        if self._pid != os.getpid():
            self._pid, self._threads = os.getpid(), {}
        self._stopping.clear()
        name = "htm-worker-chat" if slow else "htm-worker"
        self._threads[slow] = threading.Thread(target=self._run, args=(slow,), name=name, daemon=True)
        self._threads[slow].start()

    def _run(self, slow: bool) -> None:
        pause, wanted = 0.0, self._wanted[slow]
        while not self._stopping.is_set():
            wanted.wait(pause)
            wanted.clear()
            try:
                if not slow:
                    self._access_counts.write()
                self._drain(slow, self._stopping.is_set)
                pause = self._seconds_until_due(slow)
            except Exception as error:
                # The database is away, or worse: the jobs are rows, and are still there when it is back.
                _log.warning("the worker waits: %s", _description(error))
                pause = IDLE_SECONDS

    def _seconds_until_due(self, slow: bool) -> float:
        lanes = [lane for lane, handler in list(self._handlers.items()) if handler.slow == slow]
        with self._database.transaction("", role="htm_worker") as connection:
            waits = self._rate_limits.waits(connection, [model for _, model in lanes if model])
            due = jobs.next_due(connection, [lane for lane in lanes if not waits.get(lane[1])])
        seconds = [wait for wait in waits.values() if wait] + ([] if due is None else [due])
        return min([IDLE_SECONDS, *(max(0.05, each) for each in seconds)])

    # -- batches ---------------------------------------------------------------------------------------------------------

    def _drain(self, slow: bool, until: Callable[[], bool]) -> int:
        total = 0
        while not until():
            claimed = self._do_batch(slow, until)
            if not claimed and (slow or not self._add_counts()):
                break
            total += claimed
        return total

    def _do_batch(self, slow: bool, until: Callable[[], bool]) -> int:
        """Claim jobs and do them, grouped by tenant, kind and model; give how many were claimed."""
        batch = self._claim(slow)
        lane_of_tenant = attrgetter("tenant", "kind", "model")
        for (tenant, kind, model), group in groupby(sorted(batch, key=lane_of_tenant), key=lane_of_tenant):
            claimed, handler = list(group), self._handlers.get((kind, model))
            if handler is None:  # removed since the claim
                self._give_back(model, tenant, claimed)
            elif slow:
                self._do_one_by_one(handler, tenant, claimed, until)
            else:
                self._attempt(handler, tenant, claimed)
        return len(batch)

    def _claim(self, slow: bool) -> list[ClaimedJob]:
        """Claim jobs of the quick lanes or of the slow ones, as many as the rate limits of their models allow now."""
        settings = self._database.settings
        limit, lease = settings.worker_batch, settings.worker_lease
        if slow:
            limit, lease = min(SLOW_BATCH, limit), lease * SLOW_LEASES
        batch: list[ClaimedJob] = []
        with self._database.transaction("", role="htm_worker") as connection:
            for lane in sorted(lane for lane, handler in list(self._handlers.items()) if handler.slow == slow):
                if room := self._rate_limits.admit(connection, lane[1], limit, each=slow, lease=lease):
                    claimed = jobs.claim(connection, lane, limit=room, lease=lease)
                    self._rate_limits.record_claims(connection, lane[1], len(claimed), each=slow)
                    batch += claimed
        return batch

    def _add_counts(self) -> int:
        """Add count jobs for tenants that grew, at most once a minute: other processes may have written."""
        now = time.monotonic()
        if self._counts_checked is not None and now - self._counts_checked < COUNT_SECONDS:
            return 0
        self._counts_checked = now
        with self._database.transaction("", role="htm_worker") as connection:
            return jobs.enqueue_due_counts(connection)

    def _do_one_by_one(
        self, handler: Handler, tenant: str, claimed: Sequence[ClaimedJob], until: Callable[[], bool]
    ) -> None:
        """Do slow jobs and store each result at once; give the rest back when the model is away or `until` is true."""
        for at, job in enumerate(claimed):
            rest = claimed[at:]
            if until() or (at and not self._renew_lease(handler.model, tenant, rest)):
                self._give_back(handler.model, tenant, rest)
                return
            self._attempt(handler, tenant, [job])

    def _renew_lease(self, model: str, tenant: str, claimed: Sequence[ClaimedJob]) -> bool:
        """Keep the jobs for another lease, unless the model's breaker is open."""
        with self._database.transaction(tenant, role="htm_worker") as connection:
            if self._rate_limits.breaker_states(connection, [model])[model] == OPEN:
                return False
            jobs.renew(connection, claimed, lease=self._database.settings.worker_lease * SLOW_LEASES)
            return True

    def _attempt(self, handler: Handler, tenant: str, claimed: Sequence[ClaimedJob]) -> None:
        tracing, begun = telemetry(on=self._database.settings.telemetry), time.monotonic()
        try:
            with tracing.span("htm.job", kind=claimed[0].kind, count=len(claimed)):
                handler.do(tenant, claimed)
            self._record_success(handler)
        except DatabaseUnavailable:
            raise  # no job's fault: the claims end with their lease
        except Exception as error:
            self._handle_failure(handler, tenant, claimed, error, begun)

    # -- failures --------------------------------------------------------------------------------------------------------

    def _record_success(self, handler: Handler) -> None:
        """Record that a model answers; jobs that were put off because it was away are due at once."""
        if self._rate_limits.is_failing(handler.model):
            with self._database.transaction("", role="htm_worker") as connection:
                if self._rate_limits.record_success(connection, handler.model):
                    jobs.make_due(connection, model=handler.model)

    def _handle_failure(
        self, handler: Handler, tenant: str, claimed: Sequence[ClaimedJob], error: Exception, begun: float
    ) -> None:
        """Put the jobs off, hand them over, or park them, depending on what failed.

        A model that is away counts as no attempt of its jobs. A batch that fails is tried again job by job, so that only
        the jobs that fail themselves are counted. A job that has failed `MOST_TRIES` times is parked with its error.
        """
        description = _description(error)
        if isinstance(error, ModelError) and not handler.answers():
            with self._database.transaction("", role="htm_worker") as connection:
                pause = self._rate_limits.record_failure(connection, handler.model, lasted=time.monotonic() - begun)
            self._put_off(tenant, claimed, error=description, seconds=pause)
            return
        self._record_success(handler)
        if is_retryable(error):
            self._put_off(tenant, claimed, error=description, seconds=CONTENTION_WAIT)
            return
        with self._database.transaction(tenant, role="htm_worker") as connection:
            handed_over = jobs.move_to_active_model(connection, claimed)
        if handed_over:
            _log.info("jobs of the model %s were given to the model that the tenant has now", handler.model)
        elif len(claimed) > 1:
            for job in claimed:
                self._attempt(handler, tenant, [job])
        elif claimed[0].attempts + 1 >= MOST_TRIES:
            with self._database.transaction(tenant, role="htm_worker") as connection:
                jobs.park(connection, claimed, error=description)
        else:
            wait = min(LONGEST_WAIT, 2.0 ** claimed[0].attempts)
            self._put_off(tenant, claimed, error=description, seconds=wait, tried=True)

    def _put_off(
        self, tenant: str, claimed: Sequence[ClaimedJob], *, error: str, seconds: float, tried: bool = False
    ) -> None:
        _log.warning("%d jobs put off by about %.0f s", len(claimed), seconds)
        with self._database.transaction(tenant, role="htm_worker") as connection:
            jobs.postpone(connection, claimed, error=error, seconds=seconds, tried=tried)

    def _give_back(self, model: str, tenant: str, claimed: Sequence[ClaimedJob]) -> None:
        with self._database.transaction(tenant, role="htm_worker") as connection:
            self._rate_limits.cancel_probe(connection, model)
            jobs.release(connection, claimed)


def _description(error: Exception) -> str:
    """Describe an error in a line; the errors of this package explain themselves, others need their type in front."""
    return str(error) if isinstance(error, HTMError) else f"{type(error).__name__}: {error}"
