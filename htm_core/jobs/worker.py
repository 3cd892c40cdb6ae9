"""The worker: does pending jobs in the background, one tenant at a time, and loses none."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar
from uuid import UUID

from ..engine.fresh_nodes import FreshNode, FreshNodes
from ..engine.verbs import bounded
from ..errors import DatabaseUnavailable, HTMError, ModelError
from ..fork import renewed_after_fork
from ..models.embedders import CheckedEmbedder
from ..models.stopping import Stopped, stopped_when
from ..store import forgetting, jobs, model_status, working
from ..store.database import Connection, Database
from ..store.errors import is_retryable
from ..store.jobs import ClaimedJob, Lane
from ..telemetry import Figure, PendingJobs, telemetry
from .clients import Clients, Duty
from .handlers import CountHandler, EmbedHandler, Handler, RelateHandler, SupersedeHandler
from .rate_limits import OPEN, RateLimits
from .tidying import TIDY_SECONDS, queue_due
from .tidying import handlers as tidy_handlers

_log = logging.getLogger("htm.worker")

IDLE_SECONDS = 5.0
COUNT_SECONDS = 60.0  # between two searches for tenants that need a new word count
AWAY_SECONDS = 15.0  # for which a cell that does not answer is left alone
SWEEP_SECONDS = 60.0  # between two searches for what has expired
MOST_TRIES = 5
LONGEST_WAIT = 300.0
CONTENTION_WAIT = 0.5  # seconds, after a lock conflict with another writer
SLOW_LEASES = 4  # the lease of a chat model's job, in leases of a quick job
OWN_AT_ONCE = (
    8  # clients of single tenants whose jobs are claimed at once: what is claimed must be done within its lease
)
FRESH_BATCH = 16  # nodes that were just written and are embedded at once: few, so that the next ones come soon

T = TypeVar("T")

# Jobs by tenant, as handlers take them.
ByTenant = Mapping[str, Sequence[ClaimedJob]]


class Pace(Enum):
    """What has a thread of its own, so that it waits for nothing slower."""

    FRESH = "fresh"  # the vectors of what this process has just written
    QUICK = "quick"  # all other jobs without a chat model, of anybody
    SLOW = "slow"  # the jobs of chat models


class Worker:
    """Does the jobs of one database, in threads of this process or in the thread that calls `drain`.

    A lane is a kind of job with the name of the model that does it; a duty is the part of a lane that one client of that
    name does: the jobs of the tenants that it was given for, or of all. Jobs of a tenant without a client here are left to
    other workers. One thread serves the quick lanes. A second one serves the slow
    lanes, those of chat models, so that no vector waits for a chat model; it runs only where there are any. A third one
    embeds what this process has just written, so that it waits neither for other tenants nor for a long batch.
    """

    def __init__(self, database: Database, fresh_nodes: FreshNodes) -> None:
        self._database = database
        self._fresh_nodes = fresh_nodes
        self._clients = Clients()
        self._rate_limits = RateLimits(rates=database.settings.model_rates, jitter=random.random)
        self._last_own: dict[Pace, tuple[Lane, str]] = {}  # the duty for single tenants that had the last turn
        self._last_cell: dict[Pace, str] = {}  # that had the last turn
        self._only_cells: frozenset[str] | None = None  # None: all
        self._away: dict[str, float] = {}  # cells that did not answer, and until when they are left alone
        self._counts_checked: float | None = None
        self._swept: float | None = None
        self._tidying_checked = time.monotonic()  # what lives for less than a minute tidies nothing by itself
        self._told = False
        self._stopping = threading.Event()
        self._wanted = {pace: threading.Event() for pace in Pace}
        self._lock = threading.Lock()
        self._resting, self._rests = threading.Condition(), 0
        self._threads: dict[Pace, threading.Thread] = {}
        self._pid = os.getpid()
        own: list[Handler] = [
            CountHandler(database), RelateHandler(database), SupersedeHandler(database), *tidy_handlers(database)
        ]  # fmt: skip
        for handler in own:
            self._clients.add(handler, "")
        renewed_after_fork(self)

    @property
    def clients(self) -> Clients:
        """The clients of models that this worker does jobs with, and for which tenants."""
        return self._clients

    def add_embedder(self, embedder: CheckedEmbedder, *, tenant: str | None = None) -> None:
        """Do the jobs of this embedder from now on, for a tenant or for all of them."""
        self._clients.add(EmbedHandler(self._database, embedder, self._fresh_nodes), embedder.client, tenant=tenant)

    def serve_cells(self, names: Sequence[str] | None) -> None:
        """Do the jobs of these cells alone from now on, or of all (None). Without `Settings.cells` there is one, home."""
        self._only_cells = None if names is None else frozenset(names)

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
        """Give the lanes that this worker does for a tenant, and in which the client's breaker is not open.

        None when this process's login may do no jobs.
        """
        if not self._database.may_work:
            return []
        breakers = self.breakers(tenant)
        return [lane for lane in self.lanes_of(tenant) if breakers.get(lane[1]) != OPEN]

    def breakers(self, tenant: str) -> dict[str, str]:
        """Give the breaker of each of a tenant's models: "closed", "open" while it is away, "half-open" while it is tried again.

        Empty when this process's login may do no jobs: it calls no model for them, and may not see who does.
        """
        if not self._database.may_work:
            return {}
        status = {duty.status: duty.lane[1] for duty in self._clients.duties_of(tenant) if duty.lane[1]}
        with self._database.transaction("", role="htm_worker") as connection:
            states = self._rate_limits.breaker_states(connection, list(status))
        return {status[name]: state for name, state in states.items()}

    def backlog(self) -> list[PendingJobs]:
        """The jobs of all tenants by lane and class; none before the database is used, or where this login may do no jobs."""
        if not self._database.opened or not self._database.may_work:
            return []
        with bounded(self._database.settings):
            return _united([each for cell in self._in_cells(jobs.backlog) for each in cell])

    def retry_models_now(self, tenant: str) -> None:
        """End the pauses of a tenant's open breakers, so that models that were away are tried at once: somebody is waiting."""
        if not self._database.may_work:
            return
        names = [duty.status for duty in self._clients.duties_of(tenant) if duty.lane[1]]
        with self._database.transaction("", role="htm_worker") as connection:
            model_status.make_due(connection, names)

    def wake(self) -> None:
        """Look for jobs now; starts the threads the first time, and again after a fork.

        When this process's login may do no jobs, the log says so once, and they wait for a worker of another login.
        """
        if not self._database.may_work:
            self._say_that_jobs_wait()
            return
        for pace in self._needed():
            self._wanted[pace].set()
        self._ensure_running()

    def start(self) -> None:
        """Start the threads where they do not run yet; those that do look for jobs in their own time."""
        if self._database.may_work:
            self._ensure_running()

    @property
    def rests(self) -> int:
        """How often a thread of this worker has found nothing more to do."""
        return self._rests

    def await_rest(self, known: int, *, timeout: float) -> int:
        """Wait until `rests` is no longer what is known, or the time is over; give what it is then."""
        with self._resting:
            self._resting.wait_for(lambda: self._rests != known, timeout)
            return self._rests

    def _needed(self) -> list[Pace]:
        """The paces that have something to do, or may have."""
        needed = {Pace.FRESH: bool(self._fresh_nodes), Pace.QUICK: True, Pace.SLOW: bool(self._duties(Pace.SLOW))}
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
        self._wanted, self._resting = {pace: threading.Event() for pace in Pace}, threading.Condition()
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
                with stopped_when(self._stopping.is_set):
                    self._drain(pace, self._stopping.is_set)
                self._rest()
                pause = self._seconds_until_due(pace)
            except Exception as error:
                # The database is away, or worse: the jobs are rows, and are still there when it is back.
                _log.warning("the worker waits: %s", _description(error))
                pause = IDLE_SECONDS

    def _rest(self) -> None:
        with self._resting:
            self._rests += 1
            self._resting.notify_all()

    def _seconds_until_due(self, pace: Pace) -> float:
        duties = self._duties(pace)
        if not duties:
            return IDLE_SECONDS  # fresh nodes wake their thread
        with self._database.transaction("", role="htm_worker") as connection:
            waits = self._rate_limits.waits(connection, [duty.status for duty in duties if duty.status])
        ready = [self._clients.tenants_of(duty) for duty in duties if not waits.get(duty.status)]
        seconds = [wait for wait in waits.values() if wait]
        seconds += [
            due for due in self._in_cells(lambda connection: jobs.next_due(connection, ready)) if due is not None
        ]
        return min([IDLE_SECONDS, *(max(0.05, each) for each in seconds)])

    def _duties(self, pace: Pace) -> list[Duty]:
        """The duties whose jobs are claimed in turns by the thread of this pace."""
        return [] if pace is Pace.FRESH else self._clients.duties(slow=pace is Pace.SLOW)

    def _next_duties(self, connection: Connection, pace: Pace) -> list[Duty]:
        """Of the duties that have due jobs: those for all tenants, and the next few of those for single tenants.

        One question for all of them: most lanes have nothing most of the time, and a claim of each is a round trip.
        """
        tenants = [(duty, self._clients.tenants_of(duty)) for duty in self._duties(pace)]
        due = jobs.with_due(connection, [of for _, of in tenants]) if tenants else set()
        having = [
            duty for duty, of in tenants
            if any((of.lane, each) in due for each in ((None,) if of.only is None else of.only))
        ]  # fmt: skip
        shared, waiting = [each for each in having if each.serves_all], [each for each in having if not each.serves_all]
        last = self._last_own.get(pace)
        in_turn = sorted(
            waiting, key=lambda duty: (last is not None and (duty.lane, duty.home) <= last, duty.lane, duty.home)
        )
        chosen = in_turn[:OWN_AT_ONCE]
        if chosen:
            self._last_own[pace] = chosen[-1].lane, chosen[-1].home
        return [*shared, *chosen]

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
        if pace is not Pace.QUICK:
            return False
        self._sweep()
        return bool(self._add_counts() + self._add_tidying())

    def _do_batch(self, pace: Pace, until: Callable[[], bool]) -> int:
        """Claim jobs and do them, duty by duty; give how many were claimed."""
        if pace is Pace.FRESH:
            return self._do_fresh(until)
        return self._do_claimed(self._claim(pace), until)

    def _do_fresh(self, until: Callable[[], bool]) -> int:
        """Do jobs of what this process has just written; recalls that need the same vectors wait for them."""
        taken = self._fresh_nodes.take(min(FRESH_BATCH, self._database.settings.worker_batch))
        try:
            return self._do_claimed(self._claim_fresh(taken), until)
        finally:
            self._fresh_nodes.let_go((node.tenant, node.id) for node in taken)

    def _do_claimed(self, batch: Sequence[tuple[Duty, list[ClaimedJob]]], until: Callable[[], bool]) -> int:
        for duty, claimed in batch:
            if duty.any_handler.slow:
                self._do_one_by_one(duty, claimed, until)
            elif duty.any_handler.together:
                self._attempt(duty, _by_tenant(claimed))
            else:
                for tenant, group in _by_tenant(claimed).items():
                    self._attempt(duty, {tenant: group})
        return sum(len(claimed) for _, claimed in batch)

    def _claim(self, pace: Pace) -> list[tuple[Duty, list[ClaimedJob]]]:
        """Claim jobs of the next cell that has due ones: cells take turns, and a batch is of one of them."""
        cells, last = self._cells(), self._last_cell.get(pace, "")
        for cell in sorted(cells, key=lambda each: (each.cell <= last, each.cell)):
            try:
                batch = self._claim_in(cell, pace)
            except DatabaseUnavailable as error:
                self._leave_alone(cell, error)
                continue
            if batch:
                self._last_cell[pace] = cell.cell
                return batch
        return []

    def _cells(self) -> list[Database]:
        """The cells whose jobs this worker does, but for those that did not answer a moment ago."""
        now = time.monotonic()
        return [
            each
            for each in self._database.cells()
            if (self._only_cells is None or each.cell in self._only_cells) and self._away.get(each.cell, now) <= now
        ]

    def _in_cells(self, work: Callable[[Connection], T]) -> list[T]:
        """What `work` answers in a worker's transaction of each cell that can be asked."""
        found: list[T] = []
        for cell in self._cells():
            try:
                with cell.transaction("", role="htm_worker") as connection:
                    found.append(work(connection))
            except DatabaseUnavailable as error:
                self._leave_alone(cell, error)
        return found

    def _leave_alone(self, cell: Database, error: DatabaseUnavailable) -> None:
        """Go on without a cell for a while. Without home nothing goes on: then raise the error."""
        if cell is self._database:
            raise error
        self._away[cell.cell] = time.monotonic() + AWAY_SECONDS
        _log.warning("the cell %s is left alone for %.0f s: %s", cell.cell, AWAY_SECONDS, error)

    @contextmanager
    def _in_both(self, cell: Database) -> Iterator[tuple[Connection, Connection]]:
        """Transactions in home, for the breakers and the rates of models, and in a cell, for its jobs; one, where it is home."""
        with self._database.transaction("", role="htm_worker") as connection:
            if cell is self._database:
                yield connection, connection
            else:
                with cell.transaction("", role="htm_worker") as place:
                    yield connection, place

    def _claim_in(self, cell: Database, pace: Pace) -> list[tuple[Duty, list[ClaimedJob]]]:
        """Claim jobs of the quick duties or of the slow ones, as many as the rate limits of their clients allow now."""
        slow = pace is Pace.SLOW
        lease = self._database.settings.worker_lease * (SLOW_LEASES if slow else 1)
        batch: list[tuple[Duty, list[ClaimedJob]]] = []
        with self._in_both(cell) as (connection, place):
            for duty in self._next_duties(place, pace):
                wanted = self._batch_of(duty)
                if room := self._rate_limits.admit(connection, duty.status, wanted, each=slow, lease=lease):
                    turns, tenants = duty.turns[cell.cell], self._clients.tenants_of(duty)
                    claimed = jobs.claim(
                        place,
                        duty.lane,
                        limit=room,
                        lease=lease,
                        classes=turns.classes(),
                        after_tenants=turns.after_tenants(),
                        after_owners=turns.after_owners(),
                        only=tenants.only,
                        besides=tenants.besides,
                    )
                    turns.took(claimed)
                    self._rate_limits.record_claims(connection, duty.status, len(claimed), each=slow)
                    if claimed:
                        batch.append((duty, claimed))
        return batch

    def _batch_of(self, duty: Duty) -> int:
        """How many jobs of a duty to claim: all that are allowed where each call counts, else as many as its handler does soon."""
        most, handler = self._database.settings.worker_batch, duty.any_handler
        if handler.batch is None or (not handler.slow and self._rate_limits.is_limited(duty.status)):
            return most
        return min(most, handler.batch)

    def _claim_fresh(self, taken: Sequence[FreshNode]) -> list[tuple[Duty, list[ClaimedJob]]]:
        """Claim the embed jobs of nodes; those that it does not get are done in their turn."""
        by_cell: defaultdict[Database, defaultdict[Duty, list[tuple[str, UUID]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for node in taken:
            duty = self._clients.duty_of(("embed", node.model), node.tenant)
            if duty is not None:
                by_cell[self._database.of(node.tenant)][duty].append((node.tenant, node.id))
        batch: list[tuple[Duty, list[ClaimedJob]]] = []
        lease = self._database.settings.worker_lease
        for cell, wanted in by_cell.items():
            with self._in_both(cell) as (connection, place):
                for duty, nodes in sorted(wanted.items(), key=lambda each: each[0].status):
                    if room := self._rate_limits.admit(connection, duty.status, len(nodes), each=False, lease=lease):
                        claimed = jobs.claim_nodes(place, duty.lane, nodes, limit=room, lease=lease)
                        self._rate_limits.record_claims(connection, duty.status, len(claimed), each=False)
                        if claimed:
                            batch.append((duty, claimed))
        return batch

    def _add_counts(self) -> int:
        """Add count jobs for tenants that grew, at most once a minute: other processes may have written."""
        now = time.monotonic()
        if self._counts_checked is not None and now - self._counts_checked < COUNT_SECONDS:
            return 0
        self._counts_checked = now
        return sum(self._in_cells(jobs.enqueue_due_counts))

    def _sweep(self) -> None:
        """Hide and erase what has expired, and delete old records of working memory, at most once a minute, by the server's time.

        No process has to be told.
        """
        now = time.monotonic()
        if self._swept is not None and now - self._swept < SWEEP_SECONDS:
            return
        self._swept = now
        before = datetime.now(UTC) - self._database.settings.expired_grace

        def expired(connection: Connection) -> list[str]:
            """The tenants of a cell with something to sweep."""
            working.drop_all_history(connection, before=datetime.now(UTC) - self._database.settings.working_history)
            return list(forgetting.tenants_with_expired(connection, before=before))

        for tenant in dict.fromkeys(tenant for cell in self._in_cells(expired) for tenant in cell):
            with self._database.transaction(tenant, role="htm_worker") as connection:
                forgetting.sweep(connection, before=before)

    def _add_tidying(self) -> int:
        """Add jobs for what there is to tidy, at most once a minute; give how many."""
        now, kinds = time.monotonic(), self._database.settings.tidy
        if not kinds or now - self._tidying_checked < TIDY_SECONDS:
            return 0
        self._tidying_checked = now
        return sum(self._in_cells(lambda connection: queue_due(connection, kinds)))

    def _do_one_by_one(self, duty: Duty, claimed: Sequence[ClaimedJob], until: Callable[[], bool]) -> None:
        """Do slow jobs and store each result at once; give the rest back when the model is away or `until` is true."""
        for at, job in enumerate(claimed):
            rest = _by_tenant(claimed[at:])
            if until() or (at and not self._renew_lease(duty, rest)):
                self._give_back(duty, rest)
                return
            self._attempt(duty, {job.tenant: [job]})

    def _renew_lease(self, duty: Duty, claimed: ByTenant) -> bool:
        """Keep the jobs for another lease, unless the client's breaker is open."""
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                if self._rate_limits.breaker_states(connection, [duty.status])[duty.status] == OPEN:
                    return False
                jobs.renew(connection, group, lease=self._database.settings.worker_lease * SLOW_LEASES)
        return True

    def _attempt(self, duty: Duty, given: ByTenant) -> None:
        """Do jobs with the client of each tenant. Jobs whose tenant has another client by now are given back."""
        handlers = {tenant: self._clients.handler_of(duty, tenant) for tenant in given}
        self._give_back(duty, {tenant: given[tenant] for tenant, handler in handlers.items() if handler is None})
        claimed = {tenant: group for tenant, group in given.items() if handlers[tenant] is not None}
        handler = next((each for each in handlers.values() if each is not None), None)
        if handler is None:
            return
        tracing, begun = telemetry(on=self._database.settings.telemetry), time.monotonic()
        try:
            figures: dict[str, Figure] = {"htm.kind": handler.kind, "htm.count": sum(map(len, claimed.values()))}
            with tracing.span("htm.job", figures=figures):
                handler.do(claimed)
            self._record_success(duty)
        except DatabaseUnavailable:
            raise  # no job's fault: the claims end with their lease
        except Stopped:
            self._give_back(duty, claimed)
        except Exception as error:
            self._handle_failure(duty, handler, claimed, error, begun)

    # -- failures --------------------------------------------------------------------------------------------------------

    def _record_success(self, duty: Duty) -> None:
        """Record that a model answers; jobs that were put off because it was away are due at once."""
        if self._rate_limits.is_failing(duty.status):
            with self._database.transaction("", role="htm_worker") as connection:
                is_news = self._rate_limits.record_success(connection, duty.status)
            if is_news:
                self._in_cells(lambda connection: jobs.make_due(connection, self._clients.tenants_of(duty)))

    def _handle_failure(self, duty: Duty, handler: Handler, claimed: ByTenant, error: Exception, begun: float) -> None:
        """Put the jobs off, hand them over, or park them, depending on what failed.

        A model that is away counts as no attempt of its jobs. A batch that fails is tried again tenant by tenant, then job by
        job, so that only the jobs that fail themselves are counted. A job that has failed `MOST_TRIES` times is parked with its
        error.
        """
        description = _description(error)
        if isinstance(error, ModelError) and not handler.answers():
            with self._database.transaction("", role="htm_worker") as connection:
                pause = self._rate_limits.record_failure(connection, duty.status, lasted=time.monotonic() - begun)
            for tenant, group in claimed.items():
                self._put_off(tenant, group, error=description, seconds=pause)
            return
        self._record_success(duty)
        if len(claimed) > 1:
            for tenant, group in claimed.items():
                self._attempt(duty, {tenant: group})
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
                self._attempt(duty, {tenant: [job]})
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

    def _give_back(self, duty: Duty, claimed: ByTenant) -> None:
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                self._rate_limits.cancel_probe(connection, duty.status)
                jobs.release(connection, group)


def _united(found: Sequence[PendingJobs]) -> list[PendingJobs]:
    """The jobs of several cells by their lane."""
    lanes: defaultdict[tuple[str, str, bool], list[PendingJobs]] = defaultdict(list)
    for each in found:
        lanes[each.kind, each.model, each.bulk].append(each)
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


def _by_tenant(claimed: Sequence[ClaimedJob]) -> dict[str, list[ClaimedJob]]:
    groups: dict[str, list[ClaimedJob]] = {}
    for job in claimed:
        groups.setdefault(job.tenant, []).append(job)
    return groups


def _description(error: Exception) -> str:
    """Describe an error in a line; the errors of this package explain themselves, others need their type in front."""
    return str(error) if isinstance(error, HTMError) else f"{type(error).__name__}: {error}"
