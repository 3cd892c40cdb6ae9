"""Outcomes of claimed jobs: done, put off, given back, handed over to another model, or parked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from ..base.errors import DatabaseUnavailable, HTMError, ModelError
from ..base.telemetry import Figure, telemetry
from ..db import jobs
from ..db.database import Database
from ..db.errors import is_retryable
from ..db.jobs import ClaimedJob
from ..models.stopping import Stopped
from .claims import SLOW_LEASES, Batch
from .clients import Clients, Duty
from .handlers import Handler
from .rate_limits import OPEN, RateLimits
from .served_cells import ServedCells

_log = logging.getLogger("htm.worker")

MOST_TRIES = 5
LONGEST_WAIT = 300.0  # seconds, before a job that failed is tried again
CONTENTION_WAIT = 0.5  # seconds, after a lock conflict with another writer

# Jobs by tenant, as handlers take them.
ByTenant = Mapping[str, Sequence[ClaimedJob]]


class Attempts:
    """Does claimed jobs, and records how each attempt ended."""

    def __init__(
        self, database: Database, cells: ServedCells, clients: Clients, rate_limits: RateLimits
    ) -> None:
        self._database = database
        self._cells = cells
        self._clients = clients
        self._rate_limits = rate_limits

    def do(self, batch: Batch, until: Callable[[], bool]) -> int:
        """Do a batch, duty by duty, and give how many jobs it had. Slow jobs that are left when
        `until` is true are given back.
        """
        for duty, claimed in batch:
            if duty.any_handler.slow:
                self._do_one_by_one(duty, claimed, until)
            elif duty.any_handler.together:
                self._attempt(duty, _by_tenant(claimed))
            else:
                for tenant, group in _by_tenant(claimed).items():
                    self._attempt(duty, {tenant: group})
        return sum(len(claimed) for _, claimed in batch)

    def _do_one_by_one(
        self, duty: Duty, claimed: Sequence[ClaimedJob], until: Callable[[], bool]
    ) -> None:
        """Do slow jobs and store each result at once; give the rest back when the model is away or
        `until` is true.
        """
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
                jobs.renew(
                    connection, group, lease=self._database.settings.worker_lease * SLOW_LEASES
                )
        return True

    def _attempt(self, duty: Duty, batch: ByTenant) -> None:
        """Do jobs with the client of each tenant. Jobs whose tenant has another client by now are
        given back.
        """
        handlers = {tenant: self._clients.handler_of(duty, tenant) for tenant in batch}
        self._give_back(
            duty, {tenant: batch[tenant] for tenant, handler in handlers.items() if handler is None}
        )
        claimed = {tenant: group for tenant, group in batch.items() if handlers[tenant] is not None}
        handler = next((each for each in handlers.values() if each is not None), None)
        if handler is None:
            return
        tracing, begun = telemetry(on=self._database.settings.telemetry), time.monotonic()
        try:
            figures: dict[str, Figure] = {
                "htm.kind": handler.kind,
                "htm.count": sum(map(len, claimed.values())),
            }
            with tracing.span("htm.job", figures=figures):
                handler.do(claimed)
            self._record_success(duty)
        except DatabaseUnavailable:
            raise  # no job's fault: the claims end with their lease
        except Stopped:
            self._give_back(duty, claimed)
        except Exception as error:
            self._handle_failure(duty, handler, claimed, error, begun)

    def _record_success(self, duty: Duty) -> None:
        """Record that a model answers; jobs that were put off because it was away are
        due at once.
        """
        if self._rate_limits.is_failing(duty.status):
            with self._database.transaction("", role="htm_worker") as connection:
                is_news = self._rate_limits.record_success(connection, duty.status)
            if is_news:
                self._cells.ask(
                    lambda connection: jobs.make_due(connection, self._clients.tenants_of(duty))
                )

    def _handle_failure(
        self, duty: Duty, handler: Handler, claimed: ByTenant, error: Exception, begun: float
    ) -> None:
        """Put the jobs off, hand them over, or park them, depending on what failed.

        A model that is away counts as no attempt of its jobs. A batch that fails is tried again
        tenant by tenant, then job by job, so that only the jobs that fail themselves are counted. A
        job that has failed `MOST_TRIES` times is parked with its error.
        """
        described = describe(error)
        if isinstance(error, ModelError) and not handler.answers():
            with self._database.transaction("", role="htm_worker") as connection:
                pause = self._rate_limits.record_failure(
                    connection, duty.status, lasted=time.monotonic() - begun
                )
            for tenant, group in claimed.items():
                self._put_off(tenant, group, error=described, seconds=pause)
            return
        self._record_success(duty)
        if len(claimed) > 1:
            for tenant, group in claimed.items():
                self._attempt(duty, {tenant: group})
            return
        [(tenant, group)] = claimed.items()
        if is_retryable(error):
            self._put_off(tenant, group, error=described, seconds=CONTENTION_WAIT)
            return
        with self._database.transaction(tenant, role="htm_worker") as connection:
            handed_over = jobs.move_to_active_model(connection, group)
        if handed_over:
            _log.info(
                "jobs of the model %s were given to the model that the tenant has now",
                handler.model,
            )
        elif len(group) > 1:
            for job in group:
                self._attempt(duty, {tenant: [job]})
        elif group[0].attempts + 1 >= MOST_TRIES:
            with self._database.transaction(tenant, role="htm_worker") as connection:
                jobs.park(connection, group, error=described)
        else:
            wait = min(LONGEST_WAIT, 2.0 ** group[0].attempts)
            self._put_off(tenant, group, error=described, seconds=wait, tried=True)

    def _put_off(
        self,
        tenant: str,
        claimed: Sequence[ClaimedJob],
        *,
        error: str,
        seconds: float,
        tried: bool = False,
    ) -> None:
        _log.warning("%d jobs put off by about %.0f s", len(claimed), seconds)
        with self._database.transaction(tenant, role="htm_worker") as connection:
            jobs.postpone(connection, claimed, error=error, seconds=seconds, tried=tried)

    def _give_back(self, duty: Duty, claimed: ByTenant) -> None:
        for tenant, group in claimed.items():
            with self._database.transaction(tenant, role="htm_worker") as connection:
                self._rate_limits.cancel_probe(connection, duty.status)
                jobs.release(connection, group)


def _by_tenant(claimed: Sequence[ClaimedJob]) -> dict[str, list[ClaimedJob]]:
    groups: dict[str, list[ClaimedJob]] = {}
    for job in claimed:
        groups.setdefault(job.tenant, []).append(job)
    return groups


def describe(error: Exception) -> str:
    """Describe an error in a line; the errors of this package explain themselves, others need their
    type in front.
    """
    return str(error) if isinstance(error, HTMError) else f"{type(error).__name__}: {error}"
