"""The handlers that tidy: one job is a tenant's, and goes on until nothing is left or a second is
over.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import get_args

from ..base.types import TidyKind
from ..change import store
from ..change import tidying_steps as steps
from ..db import jobs
from ..db.database import Connection, Database
from ..db.jobs import ClaimedJob
from ..reading import readers

SECONDS = 1.0  # of one turn: others wait for it
AT_ONCE = 10  # sessions of one transaction
ROBOT = "htm:tidy"  # who merged, where the worker did
TIDY_SECONDS = 60.0  # between two searches for tenants with something to tidy


class TidyHandler:
    """Tidies the memories of a tenant: by rules, and the profile by the reader, where it is
    installed.
    """

    slow, together, model = False, False, ""
    batch: int | None = None

    def __init__(self, database: Database, kind: TidyKind) -> None:
        self._database = database
        self.kind: str = kind
        self._kind = kind

    def do(self, claimed: Mapping[str, Sequence[ClaimedJob]]) -> None:
        """Tidy each tenant for a second; what is left then is given back, and goes on in its next
        turn.
        """
        for tenant, group in claimed.items():
            end = time.monotonic() + SECONDS
            while self._step(tenant):
                if time.monotonic() > end:
                    with self._database.transaction(tenant, role="htm_worker") as connection:
                        jobs.release(connection, group)
                    break
            else:
                with self._database.transaction(tenant, role="htm_worker") as connection:
                    jobs.finish(connection, group)

    def answers(self) -> bool:
        """Say yes: where the reader is not installed, no profile is read."""
        return True

    def _step(self, tenant: str) -> bool:
        """Tidy the next sessions, and say whether there were any."""
        quiet = steps.QUIET_SECONDS if self._kind == "summarize" else None

        def begin() -> AbstractContextManager[Connection]:
            """Begin a transaction, which recalls on a replica see."""
            return self._database.transaction(tenant, role="htm_worker", followed=True)

        batch = steps.next_steps(begin, self._kind, owners=None, limit=AT_ONCE, quiet=quiet)
        if not batch:
            return False
        now = datetime.now(UTC)
        summaries = [
            steps.summarized(each.messages, each.session, at=now)
            if self._kind == "summarize"
            else None
            for each in batch
        ]
        with begin() as connection:
            for step, summary in zip(batch, summaries, strict=True):
                if self._kind == "profile":
                    steps.store_profile(connection, step)
                elif self._kind == "merge":
                    steps.merge(connection, step, robot=ROBOT, at=now)
                else:
                    steps.store_summary(connection, summary, step.messages, step.session)
        return True


def handlers(database: Database) -> list[TidyHandler]:
    """The handlers of all kinds of tidying: what a job asks for is done, also where `Settings.tidy`
    leaves it out.
    """
    return [TidyHandler(database, kind) for kind in get_args(TidyKind)]


def queue_due(connection: Connection, kinds: Sequence[TidyKind]) -> int:
    """Queue jobs of these kinds for the tenants with something to tidy, and give how many; none
    that waits for the reader.
    """
    kinds = [kind for kind in kinds if kind != "profile" or readers.is_here()]
    return sum(
        store.queue(connection, kind, rules=steps.RULES[kind], quiet=steps.QUIET_SECONDS)
        for kind in kinds
    )
