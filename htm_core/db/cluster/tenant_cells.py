"""In which cell each transaction of a tenant runs, as this process knows it. docs/why/scale.md.

`cell_directory` makes and drops cells, as the owner; this follows what the directory says, as
everybody who serves verbs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, LiteralString, Protocol, TypeVar

from ...base.errors import StorageError
from ...base.fork import renewed_after_fork
from ..connection import Row
from ..queries import load
from .tenant_locations import Location, TenantLocations, departure

# that one transaction follows: a tenant that is moved again and again is waited for no longer
MOST_MOVES = 5
CELLS_SECONDS = 5.0  # after which the list of cells is read again


class CellDatabase(Protocol):
    """A database that is one cell of an installation."""

    cell: str

    def close(self) -> None:
        """Close every connection of it."""


C = TypeVar("C", bound=CellDatabase)
T = TypeVar("T")


class TenantCells(Generic[C]):
    """The cells of an installation, home first, and which of them each tenant is in.

    `ask` gives the rows of a statement that the directory answers, in a transaction of a tenant at
    home; `make` makes a cell of a name, a schema, and the url of its server, None for that of home.
    The database must be open.
    """

    def __init__(
        self,
        home: C,
        *,
        ask: Callable[[str, LiteralString], list[Row]],
        make: Callable[[str, str, str | None], C],
    ) -> None:
        self._home = home
        self._ask = ask
        self._make = make
        self._others: dict[str, C] = {}  # the cells besides home, by name
        self._read_at: float | None = None
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which asks where each tenant is."""
        self._lock = threading.Lock()
        self._locations = TenantLocations()

    def of(self, tenant: str, *, asked: bool = False) -> C:
        """The cell that a tenant is in, as far as this process knows, or as the directory says when
        it is `asked`.
        """
        known = None if asked else self._locations.of(tenant)
        return self._cell((known or self._locate(tenant)).cell)

    def all(self) -> list[C]:
        """All cells, home first. The list is read again every few seconds."""
        if self._read_at is None or time.monotonic() - self._read_at > CELLS_SECONDS:
            self._read()
        return [self._home, *self.others]

    @property
    def others(self) -> list[C]:
        """The cells besides home that this process knows of."""
        return list(self._others.values())

    def forget(self) -> None:
        """Read the list of cells again at its next use."""
        self._read_at = None

    def run(self, tenant: str, work: Callable[[C, int | None], T]) -> T:
        """The answer of `work`, which begins a transaction, in the cell of a tenant; where it has
        left since, in the next one.

        `work` is given the cell, and the version as of which the tenant is there.
        """
        for _ in range(MOST_MOVES):
            location = self._locations.of(tenant) or self._locate(tenant)
            try:
                return work(self._cell(location.cell), location.version)
            except StorageError as error:
                moved = departure(error)
                if moved is None and location.cell != self._home.cell:
                    # A cell that cannot be asked may have been emptied and dropped since.
                    self._locations.forget(tenant)
                    moved = self._locate(tenant)
                if moved is None or moved.version <= location.version:
                    raise
                self._locations.learn(tenant, moved)
        location = self._locate(tenant)
        return work(self._cell(location.cell), location.version)

    def _locate(self, tenant: str) -> Location:
        """Where a tenant is, by the directory; what this process knows of a later move is newer."""
        (row,) = self._ask(tenant, load("db/cluster/cells")["locate"])
        location = Location(row["cell"], row["version"])
        self._locations.learn(tenant, location)
        return self._locations.of(tenant) or location

    def _cell(self, name: str) -> C:
        if name == self._home.cell:
            return self._home
        if name not in self._others:
            self._read()
        try:
            return self._others[name]
        except KeyError:
            raise StorageError(
                f"expected the cell {name!r} in the directory, got none of this name; see htm "
                "cells list"
            ) from None

    def _read(self) -> None:
        """Take over the list of cells from the directory."""
        rows = self._ask("", load("db/cluster/cells")["all"])
        with self._lock:
            known = {row["name"] for row in rows}
            for row in rows:
                if row["name"] not in {self._home.cell, *self._others}:
                    self._others[row["name"]] = self._make(row["name"], row["place"], row["url"])
            dropped = [self._others.pop(name) for name in set(self._others) - known]
            self._read_at = time.monotonic()
        for cell in dropped:
            cell.close()
