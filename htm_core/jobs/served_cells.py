"""The cells whose jobs a worker does: each in its turn, and one that does not answer is left alone
for a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from ..base.errors import DatabaseUnavailable
from ..db.database import Connection, Database

_log = logging.getLogger("htm.worker")

AWAY_SECONDS = 15.0  # for which a cell that does not answer is left alone

T = TypeVar("T")


class ServedCells:
    """The cells of a database that a worker serves: all, or those it was told. Without
    `Settings.cells` there is one, home.
    """

    def __init__(self, home: Database) -> None:
        self._home = home
        self._only: frozenset[str] | None = None  # None: all
        # cells that did not answer, and until when they are left alone
        self._away: dict[str, float] = {}

    def serve_only(self, names: Sequence[str] | None) -> None:
        """Serve these cells from now on, or all (None)."""
        self._only = None if names is None else frozenset(names)

    def reachable(self) -> list[Database]:
        """The cells whose jobs this worker does, but for those that did not answer a moment ago."""
        now = time.monotonic()
        return [
            each
            for each in self._home.cells()
            if (self._only is None or each.cell in self._only)
            and self._away.get(each.cell, now) <= now
        ]

    def ask(self, work: Callable[[Connection], T]) -> list[T]:
        """Return the answers of `work` in a worker's transaction of each cell that can be asked."""
        results: list[T] = []
        for cell in self.reachable():
            try:
                with cell.transaction("", role="htm_worker") as connection:
                    results.append(work(connection))
            except DatabaseUnavailable as error:
                self.leave_alone(cell, error)
        return results

    def leave_alone(self, cell: Database, error: DatabaseUnavailable) -> None:
        """Go on without a cell for a while. Without home nothing goes on: then raise the error."""
        if cell is self._home:
            raise error
        self._away[cell.cell] = time.monotonic() + AWAY_SECONDS
        _log.warning("the cell %s is left alone for %.0f s: %s", cell.cell, AWAY_SECONDS, error)

    @contextmanager
    def with_home(self, cell: Database) -> Iterator[tuple[Connection, Connection]]:
        """Transactions in home, for the breakers and the rates of models, and in a cell, for its
        jobs; one, where it is home.
        """
        with self._home.transaction("", role="htm_worker") as connection:
            if cell is self._home:
                yield connection, connection
            else:
                with cell.transaction("", role="htm_worker") as place:
                    yield connection, place
