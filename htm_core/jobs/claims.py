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
from ..db.jobs import ClaimedJob, Lane
from ..engine.fresh_nodes import FreshNode
from .clients import Clients, Duty
from .rate_limits import RateLimits
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

    def duties(self, pace: Pace) -> list[Duty]:
        """The duties whose jobs are claimed in turns by the thread of this pace."""
        return [] if pace is Pace.FRESH else self._clients.duties(slow=pace is Pace.SLOW)

    def seconds_until_due(self, pace: Pace) -> float:
        """Return the seconds until there is something to claim, as far as is known, at most
        `IDLE_SECONDS`.
        """
        duties = self.duties(pace)
        if not duties:
            return IDLE_SECONDS  # fresh nodes wake their thread
        with self._database.transaction("", role="htm_worker") as connection:
            waits = self._rate_limits.waits(
                connection, [duty.status for duty in duties if duty.status]
            )
        ready = [self._clients.tenants_of(duty) for duty in duties if not waits.get(duty.status)]
        seconds = [wait for wait in waits.values() if wait]
        seconds += [
            due
            for due in self._cells.ask(lambda connection: jobs.next_due(connection, ready))
            if due is not None
        ]
        return min([IDLE_SECONDS, *(max(0.05, each) for each in seconds)])

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
        return []

    def claim_in(self, cell: Database, pace: Pace) -> Batch:
        """Claim jobs of the quick duties or of the slow ones, as many as the rate limits of their
        clients allow now.
        """
        slow = pace is Pace.SLOW
        lease = self._database.settings.worker_lease * (SLOW_LEASES if slow else 1)
        batch: Batch = []
        with self._cells.with_home(cell) as (connection, place):
            for duty in self._next_duties(place, pace):
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
        by_cell: defaultdict[Database, defaultdict[Duty, list[tuple[str, UUID]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for node in taken:
            duty = self._clients.duty_of(("embed", node.model), node.tenant)
            if duty is not None:
                by_cell[self._database.of(node.tenant)][duty].append((node.tenant, node.id))
        batch: Batch = []
        lease = self._database.settings.worker_lease
        for cell, wanted in by_cell.items():
            with self._cells.with_home(cell) as (connection, place):
                for duty, nodes in sorted(wanted.items(), key=lambda item: item[0].status):
                    if room := self._rate_limits.admit(
                        connection, duty.status, len(nodes), per_job=False, lease=lease
                    ):
                        claimed = jobs.claim_nodes(place, duty.lane, nodes, limit=room, lease=lease)
                        self._rate_limits.record_claims(
                            connection, duty.status, len(claimed), per_job=False
                        )
                        if claimed:
                            batch.append((duty, claimed))
        return batch

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

    def _next_duties(self, connection: Connection, pace: Pace) -> list[Duty]:
        """Of the duties that have due jobs: those for all tenants, and the next few of those for
        single tenants.

        One question for all of them: most lanes have nothing most of the time, and a claim of each
        is a round trip.
        """
        tenants = [(duty, self._clients.tenants_of(duty)) for duty in self.duties(pace)]
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
