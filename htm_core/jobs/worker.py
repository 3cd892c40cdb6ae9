"""The worker: does pending jobs in the background, one tenant at a time, and loses none."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

from ..base import time_limit
from ..base.errors import StorageError
from ..base.fork import renewed_after_fork
from ..base.telemetry import PendingJobs
from ..db import jobs
from ..db.database import Database
from ..db.jobs import Lane
from ..db.verbs import bounded
from ..engine.fresh_nodes import FreshNodes
from ..models.embedders import CheckedEmbedder
from ..models.stopping import stopped_when
from . import model_status
from .attempts import Attempts, describe
from .chores import Chores
from .claims import IDLE_SECONDS, JobClaims, Pace
from .clients import Clients
from .handlers import CountHandler, EmbedHandler, Handler, RelateHandler, SupersedeHandler
from .rate_limits import OPEN, RateLimits
from .served_cells import ServedCells
from .tidying import handlers as tidy_handlers

_log = logging.getLogger("htm.worker")

# nodes that were just written and are embedded at once: few, so that the next ones come soon
FRESH_BATCH = 16
# Seconds after a write until all but the fresh nodes are looked for: what comes together is looked
# at together, and nothing competes with the recall that most often follows what a user says.
SETTLE = 0.25


class Worker:
    """Does the jobs of one database, in threads of this process or in the thread that calls
    `drain`.

    A lane is a kind of job with the name of the model that does it; a duty is the part of a lane
    that one client of that name does: the jobs of the tenants that it was given for, or of all.
    Jobs of a tenant without a client here are left to other workers. One thread serves the quick
    lanes. A second one serves the slow lanes, those of chat models, so that no vector waits for a
    chat model; it runs only where there are any. A third one embeds what this process has just
    written, so that it waits neither for other tenants nor for a long batch. `JobClaims` says which
    jobs come next, `Attempts` does them.
    """

    def __init__(self, database: Database, fresh_nodes: FreshNodes) -> None:
        self._database = database
        self._fresh_nodes = fresh_nodes
        self._clients = Clients()
        self._rate_limits = RateLimits(rates=database.settings.model_rates, jitter=random.random)
        self._cells = ServedCells(database)
        self._claims = JobClaims(database, self._cells, self._clients, self._rate_limits)
        self._attempts = Attempts(database, self._cells, self._clients, self._rate_limits)
        self._chores = Chores(database, self._cells)
        self._told = False
        self._stopping = threading.Event()
        self._wanted = {pace: threading.Event() for pace in Pace}
        self._hurried = threading.Event()
        self._lock = threading.Lock()
        self._resting, self._rests = threading.Condition(), 0
        self._threads: dict[Pace, threading.Thread] = {}
        self._pid = os.getpid()
        own: list[Handler] = [
            CountHandler(database),
            RelateHandler(database),
            SupersedeHandler(database),
            *tidy_handlers(database),
        ]
        for handler in own:
            self._clients.add(handler, "")
        renewed_after_fork(self)

    @property
    def clients(self) -> Clients:
        """The clients of models that this worker does jobs with, and for which tenants."""
        return self._clients

    def add_embedder(self, embedder: CheckedEmbedder, *, tenant: str | None = None) -> None:
        """Do the jobs of this embedder from now on, for a tenant or for all of them."""
        self._clients.add(
            EmbedHandler(self._database, embedder, self._fresh_nodes),
            embedder.client,
            tenant=tenant,
        )

    def serve_cells(self, names: Sequence[str] | None) -> None:
        """Do the jobs of these cells alone from now on, or of all (None). Without `Settings.cells`
        there is one, home.
        """
        self._cells.serve_only(names)

    def remove_handler(self, kind: str, model: str) -> None:
        """Leave the jobs of a kind and a model to other workers."""
        self._clients.remove(kind, model)

    @property
    def lanes(self) -> list[Lane]:
        """The kinds and models whose jobs this worker does, for whichever tenants."""
        return list(dict.fromkeys(duty.lane for duty in self._clients.duties()))

    def lanes_of(self, tenant: str) -> list[Lane]:
        """The kinds and models whose jobs this worker does for a tenant."""
        return [duty.lane for duty in self._clients.duties_of(tenant)]

    def available_lanes(self, tenant: str) -> list[Lane]:
        """Give the lanes that this worker does for a tenant, and in which the client's breaker is
        not open.

        None when this process's login may do no jobs.
        """
        if not self._database.may_work:
            return []
        breakers = self.breakers(tenant)
        return [lane for lane in self.lanes_of(tenant) if breakers.get(lane[1]) != OPEN]

    def breakers(self, tenant: str) -> dict[str, str]:
        """Give the breaker of each of a tenant's models: "closed", "open" while it is away,
        "half-open" while it is tried again.

        Empty when this process's login may do no jobs: it calls no model for them, and may not see
        who does.
        """
        if not self._database.may_work:
            return {}
        status = {
            duty.status: duty.lane[1] for duty in self._clients.duties_of(tenant) if duty.lane[1]
        }
        with self._database.transaction("", role="htm_worker") as connection:
            states = self._rate_limits.breaker_states(connection, list(status))
        return {status[name]: state for name, state in states.items()}

    def backlog(self) -> list[PendingJobs]:
        """The jobs of all tenants by lane and class; none before the database is used, or where
        this login may do no jobs.
        """
        if not self._database.opened or not self._database.may_work:
            return []
        with bounded(self._database.settings):
            return _united([each for cell in self._cells.ask(jobs.backlog) for each in cell])

    def retry_models_now(self, tenant: str) -> None:
        """End the pauses of a tenant's open breakers, so that models that were away are tried at
        once: somebody is waiting.
        """
        if not self._database.may_work:
            return
        names = [duty.status for duty in self._clients.duties_of(tenant) if duty.lane[1]]
        with self._database.transaction("", role="htm_worker") as connection:
            model_status.make_due(connection, names)

    def wake(self) -> None:
        """Look for jobs now; starts the threads the first time, and again after a fork.

        What this process has just written comes first, and other jobs a moment later. When this
        process's login may do no jobs, the log says so once, and they wait for a worker of another
        login.
        """
        if not self._database.may_work:
            self._say_that_jobs_wait()
            return
        for pace in self._needed():
            self._wanted[pace].set()
        self._ensure_running()

    def hurry(self) -> None:
        """Look for all jobs now, since somebody waits for them; as `wake` in all else."""
        self._hurried.set()
        self.wake()

    def start(self) -> None:
        """Start the threads where they do not run yet; those that do look for jobs in their own
        time.
        """
        if self._database.may_work:
            self._ensure_running()

    @property
    def rests(self) -> int:
        """Return how often a thread of this worker has found nothing more to do."""
        return self._rests

    def await_rest(self, known: int, *, timeout: float) -> int:
        """Wait until `rests` is no longer what is known, or the time is over; give
        what it is then.
        """
        with self._resting:
            self._resting.wait_for(lambda: self._rests != known, timeout)
            return self._rests

    def _needed(self) -> list[Pace]:
        """The paces that have something to do, or may have."""
        needed = {
            Pace.FRESH: bool(self._fresh_nodes),
            Pace.QUICK: True,
            Pace.SLOW: bool(self._claims.duties(Pace.SLOW)),
        }
        return [pace for pace in Pace if needed[pace]]

    def _ensure_running(self) -> None:
        for pace in self._needed():
            if not self._runs(pace):
                with self._lock:
                    if not self._runs(pace):
                        self._start(pace)

    def stop(self, timeout: float = 10.0) -> None:
        """Finish the current batch and end the threads."""
        self._stopping.set()
        self._hurried.set()
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

    def compare(self, tenant: str, nodes: Sequence[UUID]) -> None:
        """Compare nodes with what was said before, in the calling thread, as far as their jobs are
        there and nobody has them.

        For a process that has no worker and stops when it has replied. Whatever fails leaves the
        jobs to a worker.
        """
        if nodes and self._database.may_work:
            with suppress(StorageError, time_limit.OutOfTime):
                self._attempts.do(
                    self._claims.claim_of(SupersedeHandler.kind, tenant, nodes), lambda: False
                )

    def renew(self) -> None:
        """Start again in a forked child: the threads are the parent's, and they may have held its
        locks.
        """
        self._lock, self._stopping, self._threads = threading.Lock(), threading.Event(), {}
        self._wanted, self._resting = (
            {pace: threading.Event() for pace in Pace},
            threading.Condition(),
        )
        self._hurried = threading.Event()
        self._rate_limits.renew()

    def _say_that_jobs_wait(self) -> None:
        if not self._told:
            self._told = True
            _log.warning(
                "this login is no member of %s: jobs wait for a process of one that is, such as "
                "htm worker",
                self._database.roles.worker,
            )

    # -- threads -----------------------------------------------------------------------------------

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
            if wanted.wait(pause) and pace is Pace.QUICK:
                self._hurried.wait(SETTLE)
                self._hurried.clear()
            wanted.clear()
            try:
                with stopped_when(self._stopping.is_set):
                    self._drain(pace, self._stopping.is_set)
                self._rest()
                pause = self._claims.seconds_until_due(pace)
            except Exception as error:
                # The database is away, or worse: the jobs are rows, and are still there when it is
                # back.
                _log.warning("the worker waits: %s", describe(error))
                pause = IDLE_SECONDS

    def _rest(self) -> None:
        with self._resting:
            self._rests += 1
            self._resting.notify_all()

    # -- batches -----------------------------------------------------------------------------------

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
        if pace is not Pace.QUICK:
            return False
        return bool(self._chores.do())

    def _do_batch(self, pace: Pace, until: Callable[[], bool]) -> int:
        """Claim jobs and do them, duty by duty; give how many were claimed."""
        if pace is Pace.FRESH:
            return self._do_fresh(until)
        return self._attempts.do(self._claims.claim(pace), until)

    def _do_fresh(self, until: Callable[[], bool]) -> int:
        """Do jobs of what this process has just written; recalls that need the same vectors wait
        for them.
        """
        taken = self._fresh_nodes.take(min(FRESH_BATCH, self._database.settings.worker_batch))
        try:
            return self._attempts.do(self._claims.claim_fresh(taken), until)
        finally:
            self._fresh_nodes.let_go((node.tenant, node.id) for node in taken)


def _united(pending: Sequence[PendingJobs]) -> list[PendingJobs]:
    """The jobs of several cells by their lane."""
    lanes: defaultdict[tuple[str, str, bool], list[PendingJobs]] = defaultdict(list)
    for entry in pending:
        lanes[entry.kind, entry.model, entry.bulk].append(entry)
    return [
        PendingJobs(
            *lane,
            pending=sum(each.pending for each in same),
            parked=sum(each.parked for each in same),
            oldest=max((each.oldest for each in same if each.oldest is not None), default=None),
            more=any(each.more for each in same),
        )
        for lane, same in lanes.items()
    ]
