"""Cells: schemas with the same tables, in each of which some tenants live; making them, and moving
tenants between them.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr

from ..base import time_limit, validation
from ..base.errors import InvalidInput, NotFound
from ..base.settings import Settings
from ..db.cluster import cell_directory as directory
from ..db.cluster import tenant_moves
from ..db.cluster.cell_directory import CellRow
from ..db.cluster.splitting import plan_split
from ..db.cluster.tenant_locations import HOME
from ..db.cluster.tenant_moves import MoveReport
from ..db.database import Database
from .process import runtime

_NAME = re.compile(r"[a-z][a-z0-9_]{0,25}")

# Called after each step of a move, with its name and the number of rows that it was about.
MoveProgress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its schema, on home's server or on that of `url`, about how many memories, mentions
    and documents it has, and its bytes.

    `node` is where its tables are in a Citus cluster, as HOST:PORT; None without one. `error` says
    why a cell could not be asked; its numbers are 0 then.
    """

    name: str
    schema: str
    url: str | None
    takes_new: bool
    state: str
    tenants: int
    rows: int
    bytes: int
    error: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class TenantRows:
    """A tenant of a cell, with how many mentions and documents it has there."""

    tenant: str
    rows: int


@dataclass(frozen=True, slots=True)
class TenantMove:
    """A move that is done. `rows` are the tenant's by table, counted and compared by digest in both
    cells at the switch.

    `passes` is how often what had changed was copied before it, and `waited` for how many seconds
    the tenant's calls waited at the switch. Where an interrupted move had switched before, `rows`
    is empty.
    """

    tenant: str
    source: str
    target: str
    rows: dict[str, int]
    passes: int
    waited: float
    deleted: int


@dataclass(frozen=True, slots=True)
class PendingMove:
    """A move that is running, or was interrupted: "copying" until the tenant has switched, then
    "switched".
    """

    tenant: str
    source: str
    target: str
    state: str
    started_at: datetime


class Cells:
    """The cells of an installation, for those who operate it: the login has to be that of the
    owner, or `Settings.migrate_url` is.

        cells = Cells(url="postgresql://owner@db.example/memories")
        cells.create("b")
        cells.move("acme", "b")

    - `url`: the DSN of home, whose schema has the directory; else `HTM_DATABASE_URL`, else the
      private server.
    - `settings`: as those of the memories; `cells` is taken for True.

    Nothing is opened before the first call. All calls block, and take as long as they take.
    """

    def __init__(
        self, *, url: str | SecretStr | None = None, settings: Settings | None = None
    ) -> None:
        chosen = (settings or Settings()).model_copy(update={"cells": True})
        self._home: Database = runtime(url, chosen).database

    def list(self) -> list[Cell]:
        """All cells, home first. Counting tenants reads the directory; rows and bytes are the
        planner's statistics.

        Raises `StorageError` without the owner's rights.
        """
        counts = directory.tenants_by_cell(self._home)
        rows = directory.rows(self._home)
        self._home.forget_cells()
        opened = {each.cell: each for each in self._home.cells()}
        return [self._described(row, opened[row.name], counts.get(row.name, 0)) for row in rows]

    def tenants(self, cell: str) -> builtins.list[TenantRows]:
        """The tenants of a cell, largest first; counts all mentions and documents of the cell.
        Raises `NotFound`.
        """
        return [TenantRows(tenant, rows) for tenant, rows in directory.tenants_of(self._cell(cell))]

    def pending_moves(self) -> builtins.list[PendingMove]:
        """The moves that are running or were interrupted; an interrupted one goes on
        with `move`.
        """
        return [
            PendingMove(each.tenant, each.source, each.target, each.state, each.started_at)
            for each in directory.unfinished_moves(self._home)
        ]

    def create(
        self,
        name: str,
        *,
        schema: str | None = None,
        url: str | None = None,
        node: str | None = None,
        takes_new: bool = False,
    ) -> Cell:
        """Make a cell, empty, and give it.

        - `name`: small letters, digits and underscores, at most 26.
        - `schema`: its schema; by default home's with the name behind it, as in htm_b.
        - `url`: the DSN of another server for it, without a password; what it lacks is as in
          home's. None is home's own server.
        - `node`: the node of a Citus cluster that gets its tables, as HOST:PORT by which the
          cluster knows it; by default Citus chooses one.
        - `takes_new`: whether tenants that nobody has placed begin there. With several such cells
          each gets its share.

        The first cell changes how all processes work: those without `Settings.cells` are refused
        from then on. Raises `InvalidInput` for a name that is taken or a node that is not there,
        and `SchemaOutdated` while such processes are connected and without the right to make a
        schema.
        """
        if not _NAME.fullmatch(name) or name == HOME:
            raise InvalidInput(
                "expected the name of a cell of at most 26 small letters, digits and "
                f"underscores, and not {HOME!r}, got "
                f"{name!r:.60}"
            )
        schema = schema or f"{self._home.settings.schema_}_{name}"
        Settings(schema=schema)  # raises for one that no schema may have
        known = directory.rows(self._home)
        if any(each.name == name or (each.place, each.url) == (schema, url) for each in known):
            raise InvalidInput(
                f"expected a name and a schema that no cell has, got {name!r} in {schema}; there "
                f"are {directory.names(known)}"
            )
        with time_limit.uncounted(), time_limit.limited(None):
            directory.create(
                self._home, name, schema=schema, url=url, node=node, takes_new=takes_new
            )
        return next(each for each in self.list() if each.name == name)

    def open_for_new(self, cell: str, *, takes_new: bool = True) -> None:
        """Let tenants that nobody has placed begin in a cell, or no longer. Raises `NotFound`."""
        self._cell(cell)
        directory.set_takes_new(self._home, cell, takes_new=takes_new)

    def where(self, tenant: str) -> str:
        """The cell that a tenant is in; one that nobody has asked for yet gets its place by this.
        Raises `InvalidInput`.
        """
        return self._home.of(validation.check_name(tenant, what="tenant"), asked=True).cell

    def place(self, tenant: str, cell: str) -> TenantMove:
        """Put a new tenant into a cell before anybody works with it.

        Raises `InvalidInput` for one that has memories, and `NotFound`.
        """
        tenant = validation.check_name(tenant, what="tenant")
        self._cell(cell)
        if any(each.tenant == tenant for each in directory.unfinished_moves(self._home, tenant)):
            return self.move(tenant, cell)
        rows = directory.rows_of_tenant(self._home.of(tenant, asked=True), tenant)
        if any(rows.values()):
            raise InvalidInput(
                f"expected a tenant without memories, got {tenant!r}, which has some in "
                f"{self.where(tenant)}; run: "
                f"htm cells move {tenant} {cell}"
            )
        return self.move(tenant, cell)

    def move(self, tenant: str, cell: str, *, progress: MoveProgress | None = None) -> TenantMove:
        """Move a tenant into a cell while it reads and writes, or go on with a move that was
        interrupted.

        Its calls wait once, for the moment of the switch, and see no error. `progress` is called
        after each step: "began", "copied", "fenced", "verified", "kept", "switched", "told" and
        "deleted". Raises `NotFound` for a cell that is not there, `InvalidInput` where the tenant
        is there already, and `StorageError` where the copy does not agree, or another move is
        running: then it stays where it is.
        """
        tenant = validation.check_name(tenant, what="tenant")
        self._cell(cell)
        pending = directory.unfinished_moves(self._home, tenant)
        if not pending and self.where(tenant) == cell:
            raise InvalidInput(
                f"expected another cell for {tenant!r} than {cell!r}, where it is already"
            )
        with time_limit.uncounted(), time_limit.limited(None):
            done = tenant_moves.move(self._home, tenant, cell, step=progress or tenant_moves.silent)
        return _told(done)

    def split(
        self, cell: str, into: str, *, dry_run: bool = False, progress: MoveProgress | None = None
    ) -> builtins.list[TenantRows]:
        """Move the largest tenants of a cell into another until both have about as many rows; give
        those that moved, or would.

        With `dry_run` none moves. Raises as `move` does; tenants that have moved by then stay where
        they are. One whose move between the two was interrupted goes first: so a split that was
        interrupted goes on when it is called again.
        """
        if cell == into:
            raise InvalidInput(f"expected two cells, got {cell!r} twice")
        ended: builtins.list[TenantRows] = []
        for move in [] if dry_run else self.pending_moves():
            if (move.source, move.target) == (cell, into):
                rows = self.move(move.tenant, into, progress=progress).rows
                ended.append(
                    TenantRows(move.tenant, rows.get("mentions", 0) + rows.get("documents", 0))
                )
        sizes = {each.tenant: each.rows for each in self.tenants(cell)}
        planned = plan_split(sizes, target_rows=sum(each.rows for each in self.tenants(into)))
        if not dry_run:
            for tenant in planned:
                self.move(tenant, into, progress=progress)
        return ended + [TenantRows(tenant, sizes[tenant]) for tenant in planned]

    def drop(self, cell: str) -> None:
        """Take a cell without tenants out of the directory and drop its schema.

        Raises `InvalidInput` while it has tenants, and `NotFound`.
        """
        if cell != HOME:
            self._cell(cell)
        directory.drop(self._home, cell)

    def _cell(self, name: str) -> Database:
        self._home.forget_cells()
        cells = {each.cell: each for each in self._home.cells()}
        if name not in cells:
            raise NotFound(
                f"expected the name of a cell, got {name!r:.60}; there are {', '.join(cells)}"
            )
        return cells[name]

    @staticmethod
    def _described(row: CellRow, cell: Database, tenants: int) -> Cell:
        rows, size, error = 0, 0, None
        try:
            rows, size = directory.size(cell)
        except Exception as failed:
            error = str(failed)
        node = None if cell.placement is None else cell.placement.node_name
        return Cell(
            row.name, row.place, row.url, row.takes_new, row.state, tenants, rows, size, error, node
        )


def _told(done: MoveReport) -> TenantMove:
    return TenantMove(
        done.tenant,
        done.source,
        done.target,
        dict(done.rows),
        done.passes,
        done.fenced,
        done.deleted,
    )
