"""The worker: does the jobs that memories owe, one tenant at a time, and loses none."""

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
from ..store.errors import contended
from ..store.jobs import Claimed, Lane
from ..telemetry import telemetry
from .breaker import OPEN
from .handlers import Counting, Duty, Embedding, Relating
from .rate_limits import Pacing

_log = logging.getLogger("htm.worker")

IDLE_SECONDS = 5.0
COUNT_SECONDS = 60.0  # between two looks for tenants whose words should be counted anew
MOST_TRIES = 5
LONGEST_WAIT = 300.0
CONTENTION_WAIT = 0.5  # seconds, when another writer was in the way
SLOW_BATCH = 4  # jobs of a chat model claimed at once: each may take many seconds
SLOW_LEASES = 4  # a chat model's job is claimed for so many leases


class Worker:
    """Does durable jobs for one database: threads of this process, or whoever calls `drain`.

    One thread does what is quick; where there are chat models, a second one waits for those, so that no vector does.
    """

    def __init__(self, database: Database, access_counts: AccessCounts) -> None:
        self._database = database
        self._access_counts = access_counts
        self._duties: dict[Lane, Duty] = {}
        self.pacing = Pacing(rates=database.settings.model_rates, dice=random.random)
        self._looked: float | None = None
        self._stopping = threading.Event()
        self._wanted = {False: threading.Event(), True: threading.Event()}
        self._lock = threading.Lock()
        self._threads: dict[bool, threading.Thread] = {}
        self._pid = os.getpid()
        for duty in (Counting(database), Relating(database)):
            self.takes_on(duty)
        renewed_after_fork(self)

    def knows(self, embedder: CheckedEmbedder) -> None:
        """Take on the jobs of an embedder."""
        self.takes_on(Embedding(self._database, embedder))

    def takes_on(self, duty: Duty) -> None:
        """Take on jobs of a kind and a model."""
        self._duties[duty.kind, duty.model] = duty

    def leaves(self, kind: str, model: str) -> None:
        """Leave the jobs of a kind and a model to others."""
        self._duties.pop((kind, model), None)

    @property
    def lanes(self) -> list[Lane]:
        """The kinds and models whose jobs it does."""
        return list(self._duties)

    def asked(self) -> list[Lane]:
        """Those of them whose model is not known to be away."""
        breakers = self.breakers()
        return [lane for lane in self.lanes if breakers.get(lane[1]) != OPEN]

    def breakers(self) -> dict[str, str]:
        """Each model's breaker: "closed", "open" while the model is away, "half-open" while it is tried again."""
        models = [model for _, model in self.lanes if model]
        with self._database.transaction("", role="htm_worker") as connection:
            return self.pacing.states(connection, models)

    def hurry(self) -> None:
        """Let models be tried now that are away: somebody is waiting."""
        with self._database.transaction("", role="htm_worker") as connection:
            model_status.hurry(connection, [model for _, model in self.lanes if model])

    def wake(self) -> None:
        """Say that there may be work; starts the threads the first time, and again after a fork."""
        for slow in self._speeds():
            self._wanted[slow].set()
            if not self._runs(slow):
                with self._lock:
                    if not self._runs(slow):
                        self._start(slow)

    def stop(self, timeout: float = 10.0) -> None:
        """Finish the batch in hand and end the threads."""
        self._stopping.set()
        for wanted in self._wanted.values():
            wanted.set()
        threads, self._threads = self._threads, {}
        end = time.monotonic() + timeout
        for thread in threads.values():
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    def drain(self, *, until: Callable[[], bool] = lambda: False) -> int:
        """Do all work that is due, in the calling thread, and say how many jobs were taken."""
        taken, again = 0, True
        while again and not until():
            quick = self._drain(False, until)
            slow = self._batch(
                True, until
            )  # then look again whether there is something quick: what was made may owe it
            taken, again = taken + quick + slow, slow > 0
        return taken

    def renew(self) -> None:
        """After a fork: the threads are the parent's, and its locks may have been held by them."""
        self._lock, self._stopping, self._threads = threading.Lock(), threading.Event(), {}
        self._wanted = {False: threading.Event(), True: threading.Event()}
        self.pacing.renew()

    def _drain(self, slow: bool, until: Callable[[], bool]) -> int:
        taken = 0
        while not until():
            done = self._batch(slow, until)
            if not done and (slow or not self._owe_counts()):
                break
            taken += done
        return taken

    def _batch(self, slow: bool, until: Callable[[], bool]) -> int:
        batch = self._claim(slow)
        self._do(batch, slow, until)
        return len(batch)

    def _speeds(self) -> list[bool]:
        """Whether there is quick work to do, always, and slow."""
        return [False, True] if any(duty.slow for duty in list(self._duties.values())) else [False]

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
                pause = self._pause(slow)
            except Exception as error:
                # The database is away, or worse: the rows stay, and the work is there when it is well again.
                _log.warning("the worker waits: %s", _told(error))
                pause = IDLE_SECONDS

    def _pause(self, slow: bool) -> float:
        lanes = [lane for lane, duty in list(self._duties.items()) if duty.slow == slow]
        with self._database.transaction("", role="htm_worker") as connection:
            waits = self.pacing.waits(connection, [model for _, model in lanes if model])
            due = jobs.next_due(connection, [lane for lane in lanes if not waits.get(lane[1])])
        held = [wait for wait in waits.values() if wait]
        return min([IDLE_SECONDS, *(max(0.05, each) for each in (*held, *([] if due is None else [due])))])

    def _claim(self, slow: bool) -> list[Claimed]:
        """Jobs of each lane of a pace, as many as its model may be asked now."""
        settings = self._database.settings
        most, lease = settings.worker_batch, settings.worker_lease
        if slow:
            most, lease = min(SLOW_BATCH, most), lease * SLOW_LEASES
        batch: list[Claimed] = []
        with self._database.transaction("", role="htm_worker") as connection:
            for lane in sorted(lane for lane, duty in list(self._duties.items()) if duty.slow == slow):
                if room := self.pacing.admit(connection, lane[1], most, each=slow, lease=lease):
                    found = jobs.claim(connection, lane, limit=room, lease=lease)
                    self.pacing.taken(connection, lane[1], len(found), each=slow)
                    batch += found
        return batch

    def _owe_counts(self) -> int:
        """Ask the database, once a minute at most, who should be counted: it is others who may have written."""
        now = time.monotonic()
        if self._looked is not None and now - self._looked < COUNT_SECONDS:
            return 0
        self._looked = now
        with self._database.transaction("", role="htm_worker") as connection:
            return jobs.owe_counts(connection)

    def _do(self, batch: Sequence[Claimed], slow: bool, until: Callable[[], bool]) -> None:
        kind = attrgetter("tenant", "kind", "model")
        for (tenant, name, model), group in groupby(sorted(batch, key=kind), key=kind):
            owed, duty = list(group), self._duties.get((name, model))
            if duty is None:  # left to others meanwhile
                self._give_back(model, tenant, owed)
            elif slow:
                self._one_by_one(duty, tenant, owed, until)
            else:
                self._attempt(duty, tenant, owed)

    def _one_by_one(self, duty: Duty, tenant: str, owed: Sequence[Claimed], until: Callable[[], bool]) -> None:
        """Jobs that take long, each kept when it is done, until the model is away."""
        for at, job in enumerate(owed):
            if until() or (at and not self._kept(duty.model, tenant, owed[at:])):
                self._give_back(duty.model, tenant, owed[at:])
                return
            self._attempt(duty, tenant, [job])

    def _kept(self, model: str, tenant: str, owed: Sequence[Claimed]) -> bool:
        """Whether the model is there, and if so the jobs are ours for another lease."""
        with self._database.transaction(tenant, role="htm_worker") as connection:
            if self.pacing.states(connection, [model])[model] == OPEN:
                return False
            jobs.renew(connection, owed, lease=self._database.settings.worker_lease * SLOW_LEASES)
            return True

    def _attempt(self, duty: Duty, tenant: str, owed: Sequence[Claimed]) -> None:
        telling, begun = telemetry(on=self._database.settings.telemetry), time.monotonic()
        try:
            with telling.span("htm.job", kind=owed[0].kind, count=len(owed)):
                duty.do(tenant, owed)
            self._answered(duty)
        except DatabaseUnavailable:
            raise  # no job's fault; who claimed them is gone for the database too, when the lease ends
        except Exception as error:
            self._failed(duty, tenant, owed, error, begun)

    def _answered(self, duty: Duty) -> None:
        """Note that a model answers; what waited for it need wait no longer."""
        if self.pacing.doubts(duty.model):
            with self._database.transaction("", role="htm_worker") as connection:
                if self.pacing.answered(connection, duty.model):
                    jobs.revive(connection, model=duty.model)

    def _failed(self, duty: Duty, tenant: str, owed: Sequence[Claimed], error: Exception, begun: float) -> None:
        """Tell a model that is down, which costs no job a try, from work that cannot be done, which ends parked."""
        if isinstance(error, ModelError) and not duty.answers():
            with self._database.transaction("", role="htm_worker") as connection:
                pause = self.pacing.failed(connection, duty.model, lasted=time.monotonic() - begun)
            self._put_off(tenant, owed, error=_told(error), seconds=pause)
            return
        self._answered(duty)
        if contended(error):
            self._put_off(tenant, owed, error=_told(error), seconds=CONTENTION_WAIT)
        elif self._handed_over(tenant, owed):
            _log.info("jobs of the model %s went to the one that the tenant has now", duty.model)
        elif len(owed) > 1:
            for job in owed:
                self._attempt(duty, tenant, [job])
        elif owed[0].attempts + 1 >= MOST_TRIES:
            with self._database.transaction(tenant, role="htm_worker") as connection:
                jobs.park(connection, owed, error=_told(error))
        else:
            wait = min(LONGEST_WAIT, 2.0 ** owed[0].attempts)
            self._put_off(tenant, owed, error=_told(error), seconds=wait, tried=True)

    def _handed_over(self, tenant: str, owed: Sequence[Claimed]) -> bool:
        with self._database.transaction(tenant, role="htm_worker") as connection:
            return jobs.hand_over(connection, owed) > 0

    def _put_off(
        self, tenant: str, owed: Sequence[Claimed], *, error: str, seconds: float, tried: bool = False
    ) -> None:
        _log.warning("%d jobs put off by about %.0f s", len(owed), seconds)
        with self._database.transaction(tenant, role="htm_worker") as connection:
            jobs.later(connection, owed, error=error, seconds=seconds, tried=tried)

    def _give_back(self, model: str, tenant: str, owed: Sequence[Claimed]) -> None:
        with self._database.transaction(tenant, role="htm_worker") as connection:
            self.pacing.withdraw(connection, model)
            jobs.release(connection, owed)


def _told(error: Exception) -> str:
    """What is said of an error: ours explain themselves, others need their type."""
    return str(error) if isinstance(error, HTMError) else f"{type(error).__name__}: {error}"
