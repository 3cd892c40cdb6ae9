"""The worker: does pending jobs in the background, one tenant at a time, and loses none."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from uuid import UUID

from ..engine.access_counts import AccessCounts
from ..engine.fresh_nodes import FreshNodes
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
from .turns import Turns

_log = logging.getLogger("htm.worker")

IDLE_SECONDS = 5.0
COUNT_SECONDS = 60.0  # between two searches for tenants that need a new word count
MOST_TRIES = 5
LONGEST_WAIT = 300.0
CONTENTION_WAIT = 0.5  # seconds, after a lock conflict with another writer
SLOW_LEASES = 4  # the lease of a chat model's job, in leases of a quick job
FRESH_BATCH = 16  # nodes that were just written and are embedded at once: few, so that the next ones come soon

# Jobs by tenant, as handlers take them.
ByTenant = Mapping[str, Sequence[ClaimedJob]]


class Pace(Enum):
    """What has a thread of its own, so that it waits for nothing slower."""

    FRESH = "fresh"  # the vectors of what this process has just written
    QUICK = "quick"  # all other jobs without a chat model, of anybody
    SLOW = "slow"  # the jobs of chat models


class Worker:
    """Does the jobs of one database, in threads of this process or in the thread that calls `drain`.

    A lane is a kind of job with the model that does it. One thread serves the quick lanes. A second one serves the slow
    lanes, those of chat models, so that no vector waits for a chat model; it runs only where there are any. A third one
    embeds what this process has just written, so that it waits neither for other tenants nor for a long batch.
    """

    def __init__(self, database: Database, access_counts: AccessCounts, fresh_nodes: FreshNodes) -> None:
        self._database = database
        self._access_counts = access_counts
        self._fresh_nodes = fresh_nodes
        self._handlers: dict[Lane, Handler] = {}
        self._rate_limits = RateLimits(rates=database.settings.model_rates, jitter=random.random)
        self._turns: defaultdict[Lane, Turns] = defaultdict(Turns)
        self._counts_checked: float | None = None
        self._told = False
        self._stopping = threading.Event()
        self._wanted = {pace: threading.Event() for pace in Pace}
        self._lock = threading.Lock()
        self._threads: dict[Pace, threading.Thread] = {}
        self._pid = os.getpid()
        for handler in (CountHandler(database), RelateHandler(database)):
            self.add_handler(handler)
        renewed_after_fork(self)

    def add_embedder(self, embedder: CheckedEmbedder) -> None:
        """Do the jobs of this embedder from now on."""
        self.add_handler(EmbedHandler(self._database, embedder, self._fresh_nodes))

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
        """Give the lanes whose model's breaker is not open; none when this process's login may do no jobs."""
        if not self._database.may_work:
            return []
        breakers = self.breakers()
        return [lane for lane in self.lanes if breakers.get(lane[1]) != OPEN]

    def breakers(self) -> dict[str, str]:
        """Give each model's breaker: "closed", "open" while the model is away, "half-open" while it is tried again.

        Empty when this process's login may do no jobs: it calls no model for them, and may not see who does.
        """
        if not self._database.may_work:
            return {}
        models = [model for _, model in self.lanes if model]
        with self._database.transaction("", role="htm_worker") as connection:
            return self._rate_limits.breaker_states(connection, models)

    def retry_models_now(self) -> None:
        """End the pauses of open breakers, so that models that were away are tried at once: somebody is waiting."""
        if not self._database.may_work:
            return
        with self._database.transaction("", role="htm_worker") as connection:
            model_status.make_due(connection, [model for _, model in self.lanes if model])

    def wake(self) -> None:
        """Look for jobs now; starts the threads the first time, and again after a fork.

        When this process's login may do no jobs, the log says so once, and they wait for a worker of another login.
        """
        if not self._database.may_work:
            self._say_that_jobs_wait()
            return
        needed = {Pace.FRESH: bool(self._fresh_nodes), Pace.QUICK: True, Pace.SLOW: bool(self._lanes(Pace.SLOW))}
        for pace in (pace for pace in Pace if needed[pace]):
            self._wanted[pace].set()
            if not self._runs(pace):
                with self._lock:
                    if not self._runs(pace):
                        self._start(pace)

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
        if not self._database.may_work:
            self._say_that_jobs_wait()
            return 0
        total = 0
        while not until():
            quick = self._drain(Pace.FRESH, until) + self._drain(Pace.QUICK, until)
            slow = self._do_batch(Pace.SLOW, until)
            total += quick + slow
            if not slow:  # after slow jobs look again: their results may have added quick jobs
                break
        return total

    def renew(self) -> None:
        """Start again in a forked child: the threads are the parent's, and they may have held its locks."""
        self._lock, self._stopping, self._threads = threading.Lock(), threading.Event(), {}
        self._wanted = {pace: threading.Event() for pace in Pace}
        self._rate_limits.renew()

    def _say_that_jobs_wait(self) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "this login is no member of %s: jobs wait for a process of one that is, such as htm worker",
                self._database.roles.worker,
            )

    # -- threads ---------------------------------------------------------------------------------------------------------

    def _runs(self, pace: Pace) -> bool:
        thread = self._threads.get(pace)
        return thread is not None and thread.is_alive() and self._pid == os.getpid()

    def _start(self, pace: Pace) -> None:
        if self._pid != os.getpid():
            self._pid, self._threads = os.getpid(), {}
        self._stopping.clear()
        self._threads[pace] = threading.Thread(
            target=self._run, args=(pace,), name=f"htm-worker-{pace.value}", daemon=True
        )
        self._threads[pace].start()

    def _run(self, pace: Pace) -> None:
        pause, wanted = 0.0, self._wanted[pace]
        while not self._stopping.is_set():
            wanted.wait(pause)
            wanted.clear()
            try:
                if pace is Pace.QUICK:
                    self._access_counts.write()
                self._drain(pace, self._stopping.is_set)
                pause = self._seconds_until_due(pace)
            except Exception as error:
                # The database is away, or worse: the jobs are rows, and are still there when it is back.
                _log.warning("the worker waits: %s", _description(error))
                pause = IDLE_SECONDS

    def _seconds_until_due(self, pace: Pace) -> float:
        lanes = self._lanes(pace)
        if not lanes:
            return IDLE_SECONDS  # fresh nodes wake their thread
        with self._database.transaction("", role="htm_worker") as connection:
            waits = self._rate_limits.waits(connection, [model for _, model in lanes if model])
            due = jobs.next_due(connection, [lane for lane in lanes if not waits.get(lane[1])])
        seconds = [wait for wait in waits.values() if wait] + ([] if due is None else [due])
        return min([IDLE_SECONDS, *(max(0.05, each) for each in seconds)])

    def _lanes(self, pace: Pace) -> list[Lane]:
        """The lanes whose jobs are claimed in turns by the thread of this pace."""
        slow = {Pace.QUICK: False, Pace.SLOW: True}.get(pace)
        return sorted(lane for lane, handler in list(self._handlers.items()) if handler.slow == slow)

    # -- batches ---------------------------------------------------------------------------------------------------------

    def _drain(self, pace: Pace, until: Callable[[], bool]) -> int:
        total = 0
        while not until():
            claimed = self._do_batch(pace, until)
            if not claimed and not self._has_more(pace):
                break
            total += claimed
        return total

    def _has_more(self, pace: Pace) -> bool:
        """Say whether it is worth another look after a claim that got nothing."""
        if pace is Pace.FRESH:
            return bool(self._fresh_nodes)
        return pace is Pace.QUICK and bool(self._add_counts())

    def _do_batch(self, pace: Pace, until: Callable[[], bool]) -> int:
        """Claim jobs and do them, grouped by kind and model; give how many were claimed."""
        by_lane: defaultdict[Lane, list[ClaimedJob]] = defaultdict(list)
        for job in self._claim_fresh() if pace is Pace.FRESH else self._claim(pace):
            by_lane[job.kind, job.model].append(job)
        for lane in sorted(by_lane):
            claimed, handler = _by_tenant(by_lane[lane]), self._handlers.get(lane)
            if handler is None:  # removed since the claim
                self._give_back(lane[1], claimed)
            elif handler.slow:
                self._do_one_by_one(handler, by_lane[lane], until)
            elif handler.together:
                self._attempt(handler, claimed)
            else:
                for tenant, group in claimed.items():
                    self._attempt(handler, {tenant: group})
        return sum(map(len, by_lane.values()))

    def _claim(self, pace: Pace) -> list[ClaimedJob]:
        """Claim jobs of the quick lanes or of the slow ones, as many as the rate limits of their models allow now."""
        slow = pace is Pace.SLOW
        lease = self._database.settings.worker_lease * (SLOW_LEASES if slow else 1)
        batch: list[ClaimedJob] = []
        with self._database.transaction("", role="htm_worker") as connection:
            for lane in self._lanes(pace):
                wanted = self._batch_of(lane)
                if room := self._rate_limits.admit(connection, lane[1], wanted, each=slow, lease=lease):
                    turns = self._turns[lane]
                    claimed = jobs.claim(
                        connection,
                        lane,
                        limit=room,
                        lease=lease,
                        classes=turns.classes(),
                        after_tenants=turns.after_tenants(),
                        after_owners=turns.after_owners(),
                    )
                    turns.took(claimed)
                    self._rate_limits.record_claims(connection, lane[1], len(claimed), each=slow)
                    batch += claimed
        return batch

    def _batch_of(self, lane: Lane) -> int:
        """How many jobs of a lane to claim: all that are allowed where each call counts, else as many as its handler does soon."""
        most, handler = self._database.settings.worker_batch, self._handlers.get(lane)
        if handler is None or handler.batch is None or (not handler.slow and self._rate_limits.is_limited(lane[1])):
            return most
        return min(most, handler.batch)

    def _claim_fresh(self) -> list[ClaimedJob]:
        """Claim the embed jobs of what this process has just written; those that it does not get are done in their turn."""
        nodes: defaultdict[str, list[tuple[str, UUID]]] = defaultdict(list)
        for node in self._fresh_nodes.take(min(FRESH_BATCH, self._database.settings.worker_batch)):
            if ("embed", node.model) in self._handlers:
                nodes[node.model].append((node.tenant, node.id))
        batch: list[ClaimedJob] = []
        lease = self._database.settings.worker_lease
        if nodes:
            with self._database.transaction("", role="htm_worker") as connection:
                for model, wanted in sorted(nodes.items()):
                    lane = ("embed", model)
                    if room := self._rate_limits.admit(connection, model, len(wanted), each=False, lease=lease):
                        claimed = jobs.claim_nodes(connection, lane, wanted, limit=room, lease=lease)
                        self._rate_limits.record_claims(connection, model, len(claimed), each=False)
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

    def _do_one_by_one(self, handler: Handler, claimed: Sequence[ClaimedJob], until: Callable[[], bool]) -> None:
        """Do slow jobs and store each result at once; give the rest back when the model is away or `until` is true."""
        for at, job in enumerate(claimed):
            rest = _by_tenant(claimed[at:])
            if until() or (at and not self._renew_lease(handler.model, rest)):
                self._give_back(handler.model, rest)
                return
            self._attempt(handler, {job.tenant: [job]})

    def _renew_lease(self, model: str, claimed: ByTenant) -> bool:
        """Keep the jobs for another lease, unless the model's breaker is open."""
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                if self._rate_limits.breaker_states(connection, [model])[model] == OPEN:
                    return False
                jobs.renew(connection, group, lease=self._database.settings.worker_lease * SLOW_LEASES)
        return True

    def _attempt(self, handler: Handler, claimed: ByTenant) -> None:
        tracing, begun = telemetry(on=self._database.settings.telemetry), time.monotonic()
        try:
            with tracing.span("htm.job", kind=handler.kind, count=sum(map(len, claimed.values()))):
                handler.do(claimed)
            self._record_success(handler)
        except DatabaseUnavailable:
            raise  # no job's fault: the claims end with their lease
        except Exception as error:
            self._handle_failure(handler, claimed, error, begun)

    # -- failures --------------------------------------------------------------------------------------------------------

    def _record_success(self, handler: Handler) -> None:
        """Record that a model answers; jobs that were put off because it was away are due at once."""
        if self._rate_limits.is_failing(handler.model):
            with self._database.transaction("", role="htm_worker") as connection:
                if self._rate_limits.record_success(connection, handler.model):
                    jobs.make_due(connection, model=handler.model)

    def _handle_failure(self, handler: Handler, claimed: ByTenant, error: Exception, begun: float) -> None:
        """Put the jobs off, hand them over, or park them, depending on what failed.

        A model that is away counts as no attempt of its jobs. A batch that fails is tried again tenant by tenant, then job by
        job, so that only the jobs that fail themselves are counted. A job that has failed `MOST_TRIES` times is parked with its
        error.
        """
        description = _description(error)
        if isinstance(error, ModelError) and not handler.answers():
            with self._database.transaction("", role="htm_worker") as connection:
                pause = self._rate_limits.record_failure(connection, handler.model, lasted=time.monotonic() - begun)
            for tenant, group in claimed.items():
                self._put_off(tenant, group, error=description, seconds=pause)
            return
        self._record_success(handler)
        if len(claimed) > 1:
            for tenant, group in claimed.items():
                self._attempt(handler, {tenant: group})
            return
        [(tenant, group)] = claimed.items()
        if is_retryable(error):
            self._put_off(tenant, group, error=description, seconds=CONTENTION_WAIT)
            return
        with self._database.transaction(tenant, role="htm_worker") as connection:
            handed_over = jobs.move_to_active_model(connection, group)
        if handed_over:
            _log.info("jobs of the model %s were given to the model that the tenant has now", handler.model)
        elif len(group) > 1:
            for job in group:
                self._attempt(handler, {tenant: [job]})
        elif group[0].attempts + 1 >= MOST_TRIES:
            with self._database.transaction(tenant, role="htm_worker") as connection:
                jobs.park(connection, group, error=description)
        else:
            wait = min(LONGEST_WAIT, 2.0 ** group[0].attempts)
            self._put_off(tenant, group, error=description, seconds=wait, tried=True)

    def _put_off(
        self, tenant: str, claimed: Sequence[ClaimedJob], *, error: str, seconds: float, tried: bool = False
    ) -> None:
        _log.warning("%d jobs put off by about %.0f s", len(claimed), seconds)
        with self._database.transaction(tenant, role="htm_worker") as connection:
            jobs.postpone(connection, claimed, error=error, seconds=seconds, tried=tried)

    def _give_back(self, model: str, claimed: ByTenant) -> None:
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                self._rate_limits.cancel_probe(connection, model)
                jobs.release(connection, group)


def _by_tenant(claimed: Sequence[ClaimedJob]) -> dict[str, list[ClaimedJob]]:
    groups: dict[str, list[ClaimedJob]] = {}
    for job in claimed:
        groups.setdefault(job.tenant, []).append(job)
    return groups


def _description(error: Exception) -> str:
    """Describe an error in a line; the errors of this package explain themselves, others need their type in front."""
    return str(error) if isinstance(error, HTMError) else f"{type(error).__name__}: {error}"
