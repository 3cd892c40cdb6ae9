"""Claims of the next jobs: those that are due, in turns of cells, lanes and tenants, as many as the
models' rates allow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias
from uuid import UUID

from ..base.errors import DatabaseUnavailable
from ..db import jobs
from ..db.database import Connection, Database
from ..db.jobs import ClaimedJob, Lane, LaneClaim
from ..engine.fresh_nodes import FreshNode
from . import model_status
from .clients import Clients, Duty
from .rate_limits import FAILURES, RateLimits
from .served_cells import ServedCells

IDLE_SECONDS = 5.0  # the longest time between two looks for due jobs
SLOW_LEASES = 4  # the lease of a chat model's job, in leases of a quick job
OWN_AT_ONCE = (
    # clients of single tenants whose jobs are claimed at once: what is claimed must be done within
    # its lease
    8
)

# Claimed jobs, and the duty that each of them belongs to.
Batch: TypeAlias = list[tuple[Duty, list[ClaimedJob]]]


class Pace(Enum):
    """Kinds of jobs with a thread of their own, so that they wait for nothing slower."""

    FRESH = "fresh"  # the vectors of what this process has just written
    QUICK = "quick"  # all other jobs without a chat model, of anybody
    SLOW = "slow"  # the jobs of chat models


class JobClaims:
    """Claims jobs for a worker: those that are due, as many as may be done now."""

    def __init__(
        self, database: Database, cells: ServedCells, clients: Clients, rate_limits: RateLimits
    ) -> None:
        self._database = database
        self._cells = cells
        self._clients = clients
        self._rate_limits = rate_limits
        # the duty for single tenants that had the last turn
        self._last_own: dict[Pace, tuple[Lane, str]] = {}
        self._last_cell: dict[Pace, str] = {}  # that had the last turn
        # the seconds until something is due, where the last claim has found nothing
        self._read_due: dict[Pace, list[float]] = {}

    def duties(self, pace: Pace) -> list[Duty]:
        """The duties whose jobs are claimed in turns by the thread of this pace."""
        return [] if pace is Pace.FRESH else self._clients.duties(slow=pace is Pace.SLOW)

    def seconds_until_due(self, pace: Pace) -> float:
        """Return the seconds until there is something to claim, as far as is known, at most
        `IDLE_SECONDS`. Where a claim has just found nothing, it knows.
        """
        duties = self.duties(pace)
        if not duties:
            return IDLE_SECONDS  # fresh nodes wake their thread
        seconds = self._read_due.pop(pace, None)
        if seconds is None:
            seconds = self._ask_due(duties)
        return min([IDLE_SECONDS, *(max(0.05, each) for each in seconds)])

    def _ask_due(self, duties: Sequence[Duty]) -> list[float]:
        """Return the seconds until there is something to claim in each cell, and until each model
        may be called.
        """
        with self._database.transaction("", role="htm_worker") as connection:
            waits = self._rate_limits.waits(
                connection, [duty.status for duty in duties if duty.status]
            )
        ready = [self._clients.tenants_of(duty) for duty in duties if not waits.get(duty.status)]
        due = self._cells.ask(lambda connection: jobs.next_due(connection, ready))
        return [wait for wait in waits.values() if wait] + [
            seconds for seconds in due if seconds is not None
        ]

    def claim(self, pace: Pace) -> Batch:
        """Claim jobs of the next cell that has due ones: cells take turns, and a batch is of one of
        them.
        """
        cells, last = self._cells.reachable(), self._last_cell.get(pace, "")
        for cell in sorted(cells, key=lambda candidate: (candidate.cell <= last, candidate.cell)):
            try:
                batch = self.claim_in(cell, pace)
            except DatabaseUnavailable as error:
                self._cells.leave_alone(cell, error)
                continue
            if batch:
                self._last_cell[pace] = cell.cell
                return batch
        if len(cells) > 1:
            self._read_due.pop(pace, None)  # what one of them knows says nothing of the others
        return []

    def claim_in(self, cell: Database, pace: Pace) -> Batch:
        """Claim jobs of the quick duties or of the slow ones, as many as the rate limits of their
        clients allow now.
        """
        duties = self.duties(pace)
        at_once: Sequence[Duty] = []
        own = sum(not duty.serves_all for duty in duties)
        if cell is self._database and own <= OWN_AT_ONCE:  # no more, so that none needs its turn
            at_once = [d for d in duties if self._rate_limits.admits_at_once(d.status)]
        batch = self._claim_at_once(pace, at_once) if at_once else []
        done = {duty for duty, _ in batch} | {
            d for d in at_once if self._rate_limits.admits_at_once(d.status)
        }
        others = [duty for duty in duties if duty not in done]
        if others:
            self._read_due.pop(pace, None)
            batch += self._claim_one_by_one(cell, pace, others)
        return batch

    def _claim_at_once(self, pace: Pace, duties: Sequence[Duty]) -> Batch:
        """Claim jobs of duties whose models seem to answer, in one message with the status of these
        models, and with when the next job is due.

        It may be done twice where its session ends: what nobody knows of waits for its lease.
        """
        models = [duty.status for duty in duties if duty.status]
        tenants = [self._clients.tenants_of(duty) for duty in duties]
        turns = [duty.turns[self._database.cell] for duty in duties]
        claims = [
            LaneClaim(
                of,
                duty.status,
                self._batch_of(duty),
                turn.classes(),
                turn.after_tenants(),
                turn.after_owners(),
            )
            for duty, of, turn in zip(duties, tenants, turns, strict=True)
        ]
        read_statuses, read_claimed, read_due = self._database.in_one_message(
            "",
            lambda connection: (
                model_status.queue_read(connection, models),
                jobs.queue_claims(connection, claims, lease=self._lease(pace), failures=FAILURES),
                jobs.queue_next_due(connection, tenants),
            ),
            role="htm_worker",
        )
        self._rate_limits.note(models, read_statuses())
        claimed, due = read_claimed(), read_due()
        for place, turn in enumerate(turns):
            turn.took(claimed.get(place, []))
        if not claimed:
            self._read_due[pace] = [] if due is None else [due]
        return [(duties[place], of) for place, of in sorted(claimed.items())]

    def _claim_one_by_one(self, cell: Database, pace: Pace, duties: Sequence[Duty]) -> Batch:
        """Claim jobs of duties whose models may have to wait, or of which many are for single
        tenants, or in another cell than the models' status.
        """
        slow, lease = pace is Pace.SLOW, self._lease(pace)
        batch: Batch = []
        with self._cells.with_home(cell) as (connection, place):
            for duty in self._next_duties(place, pace, duties):
                wanted = self._batch_of(duty)
                if room := self._rate_limits.admit(
                    connection, duty.status, wanted, per_job=slow, lease=lease
                ):
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
                    self._rate_limits.record_claims(
                        connection, duty.status, len(claimed), per_job=slow
                    )
                    if claimed:
                        batch.append((duty, claimed))
        return batch

    def claim_fresh(self, taken: Sequence[FreshNode]) -> Batch:
        """Claim the embed jobs of nodes; those that it does not get are done in their turn."""
        wanted: defaultdict[tuple[Duty, str], list[UUID]] = defaultdict(list)
        for node in taken:
            duty = self._clients.duty_of(("embed", node.model), node.tenant)
            if duty is not None:
                wanted[duty, node.tenant].append(node.id)
        claimed: defaultdict[Duty, list[ClaimedJob]] = defaultdict(list)
        for (duty, tenant), nodes in wanted.items():
            cell, admits = self._database.of(tenant), self._rate_limits.admits_at_once
            if cell is self._database and admits(duty.status):
                of = self._claim_with_texts(duty, tenant, nodes)
                claimed[duty] += of
                if of or admits(duty.status):  # else the model has failed meanwhile
                    continue
            claimed[duty] += self._claim_fresh_in(cell, duty, tenant, nodes)
        return [(duty, of) for duty, of in claimed.items() if of]

    def _claim_with_texts(self, duty: Duty, tenant: str, nodes: Sequence[UUID]) -> list[ClaimedJob]:
        """Claim the jobs of nodes of a tenant and read what is to be embedded, in one message with
        the status of the model. As `_claim_at_once`, it may be done twice.
        """
        read_statuses, read_claimed = self._database.in_one_message(
            tenant,
            lambda connection: (
                model_status.queue_read(connection, [duty.status]),
                jobs.queue_claim_of_fresh(
                    connection,
                    duty.lane,
                    nodes,
                    tenant=tenant,
                    status=duty.status,
                    limit=max(self._batch_of(duty), len(nodes)),
                    lease=self._lease(Pace.FRESH),
                    failures=FAILURES,
                ),
            ),
            role="htm_worker",
        )
        self._rate_limits.note([duty.status], read_statuses())
        return read_claimed()

    def _claim_fresh_in(
        self, cell: Database, duty: Duty, tenant: str, nodes: Sequence[UUID]
    ) -> list[ClaimedJob]:
        """Claim as many of the jobs of nodes of a tenant as the model's breaker and rate allow."""
        lease = self._lease(Pace.FRESH)
        with self._cells.with_home(cell) as (connection, place):
            room = self._rate_limits.admit(
                connection, duty.status, len(nodes), per_job=False, lease=lease
            )
            if not room:
                return []
            claimed = jobs.claim_nodes(
                place, duty.lane, [(tenant, node) for node in nodes], limit=room, lease=lease
            )
            self._rate_limits.record_claims(connection, duty.status, len(claimed), per_job=False)
        return claimed

    def claim_of(self, kind: str, tenant: str, nodes: Sequence[UUID]) -> Batch:
        """Claim the jobs of a kind without a model that nodes have, and that are due."""
        duty = self._clients.duty_of((kind, ""), tenant)
        if duty is None:
            return []
        lease = self._database.settings.worker_lease
        with self._cells.with_home(self._database.of(tenant)) as (_, place):
            claimed = jobs.claim_nodes(
                place, duty.lane, [(tenant, each) for each in nodes], limit=len(nodes), lease=lease
            )
        return [(duty, claimed)] if claimed else []

    def _lease(self, pace: Pace) -> float:
        return self._database.settings.worker_lease * (SLOW_LEASES if pace is Pace.SLOW else 1)

    def _next_duties(
        self, connection: Connection, pace: Pace, duties: Sequence[Duty]
    ) -> list[Duty]:
        """Of the duties that have due jobs: those for all tenants, and the next few of those for
        single tenants.

        One question for all of them: most lanes have nothing most of the time, and a claim of each
        is a round trip.
        """
        tenants = [(duty, self._clients.tenants_of(duty)) for duty in duties]
        due = jobs.with_due(connection, [of for _, of in tenants]) if tenants else set()
        having = [
            duty
            for duty, of in tenants
            if any((of.lane, each) in due for each in ((None,) if of.only is None else of.only))
        ]
        shared, waiting = (
            [each for each in having if each.serves_all],
            [each for each in having if not each.serves_all],
        )
        last = self._last_own.get(pace)
        in_turn = sorted(
            waiting,
            key=lambda duty: (
                last is not None and (duty.lane, duty.home) <= last,
                duty.lane,
                duty.home,
            ),
        )
        chosen = in_turn[:OWN_AT_ONCE]
        if chosen:
            self._last_own[pace] = chosen[-1].lane, chosen[-1].home
        return [*shared, *chosen]

    def _batch_of(self, duty: Duty) -> int:
        """Return the number of jobs to claim of a duty: all allowed if each call counts, else as
        many as its handler does soon.
        """
        most, handler = self._database.settings.worker_batch, duty.any_handler
        if handler.batch is None or (
            not handler.slow and self._rate_limits.is_limited(duty.status)
        ):
            return most
        return min(most, handler.batch)
