"""Chores of a worker besides claimed jobs, each at most once a minute: word counts, expiry,
tidying.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from ..db import jobs
from ..db.database import Connection, Database
from ..working import store
from ..writing import forgetting
from .served_cells import ServedCells
from .tidying import TIDY_SECONDS, queue_due

COUNT_SECONDS = 60.0  # between two searches for tenants that need a new word count
SWEEP_SECONDS = 60.0  # between two searches for what has expired


class Chores:
    """Looks in all cells for what is due without a job."""

    def __init__(self, database: Database, cells: ServedCells) -> None:
        self._database = database
        self._cells = cells
        self._counts_checked: float | None = None
        self._swept: float | None = None
        # what lives for less than a minute tidies nothing by itself
        self._tidying_checked = time.monotonic()

    def do(self) -> int:
        """Sweep what has expired, and add jobs for what is to be counted or tidied; give how many
        jobs.
        """
        self._sweep()
        return self._add_counts() + self._add_tidying()

    def _add_counts(self) -> int:
        """Add count jobs for tenants that grew, at most once a minute: other processes may have
        written.
        """
        now = time.monotonic()
        if self._counts_checked is not None and now - self._counts_checked < COUNT_SECONDS:
            return 0
        self._counts_checked = now
        return sum(self._cells.ask(jobs.enqueue_due_counts))

    def _sweep(self) -> None:
        """Hide and erase what has expired, and delete old records of working memory, at most once a
        minute, by the server's time.

        No process has to be told.
        """
        now = time.monotonic()
        if self._swept is not None and now - self._swept < SWEEP_SECONDS:
            return
        self._swept = now
        before = datetime.now(UTC) - self._database.settings.expired_grace

        def expired(connection: Connection) -> list[str]:
            """The tenants of a cell with something to sweep."""
            store.drop_all_history(
                connection, before=datetime.now(UTC) - self._database.settings.working_history
            )
            return list(forgetting.tenants_with_expired(connection, before=before))

        for tenant in dict.fromkeys(tenant for cell in self._cells.ask(expired) for tenant in cell):
            with self._database.transaction(tenant, role="htm_worker") as connection:
                forgetting.sweep(connection, before=before)

    def _add_tidying(self) -> int:
        """Add jobs for what there is to tidy, at most once a minute; give how many."""
        now, kinds = time.monotonic(), self._database.settings.tidy
        if not kinds or now - self._tidying_checked < TIDY_SECONDS:
            return 0
        self._tidying_checked = now
        return sum(self._cells.ask(lambda connection: queue_due(connection, kinds)))
