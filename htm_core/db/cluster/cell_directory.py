"""The directory of cells as its owner changes it: making, listing and dropping them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import sql

from ...base.errors import InvalidInput, SchemaOutdated
from ..connection import connect, readable
from ..database import Database
from ..errors import translated
from ..migrate import migrate
from ..queries import load
from ..user_walls import copy_user_walls
from . import citus_schema
from .tenant_copy import count_rows
from .tenant_locations import HOME

COLLECTIONS_EACH = 1 << 20  # numbers of collections that each cell has for its own
MOST_CELLS = 2047


@dataclass(frozen=True, slots=True)
class CellRow:
    """A row of the directory."""

    name: str
    number: int
    place: str
    url: str | None
    takes_new: bool
    state: str


@dataclass(frozen=True, slots=True)
class UnfinishedMove:
    """A move that is running, or was interrupted."""

    tenant: str
    source: str
    target: str
    version: int
    state: str
    passes: int
    started_at: datetime


def rows(home: Database) -> list[CellRow]:
    """The cells of the directory, home first."""
    with home.transaction("") as connection:
        return [CellRow(**row) for row in connection.execute(load("db/cluster/cells")["all"])]


def tenants_by_cell(home: Database) -> Mapping[str, int]:
    """Count the tenants that the directory has in each cell."""
    with translated(), home.owner() as connection:
        return {
            row["cell"]: row["tenants"]
            for row in connection.execute(load("db/cluster/cells")["counts"])
        }


def unfinished_moves(home: Database, tenant: str | None = None) -> list[UnfinishedMove]:
    """The moves that are running or were interrupted."""
    with translated(), home.owner() as connection:
        return [
            UnfinishedMove(**row)
            for row in connection.execute(load("db/cluster/cells")["moves_of"], {"tenant": tenant})
        ]


def size(cell: Database) -> tuple[int, int]:
    """About how many memories, mentions and documents a cell has, and how many bytes its tables and
    indexes take.
    """
    with cell.transaction("") as connection:
        row = connection.execute(load("db/cluster/cells")["size"]).fetchone()
    assert row is not None  # a function answers with one row
    return row["rows"], row["bytes"]


def tenants_of(cell: Database) -> list[tuple[str, int]]:
    """The tenants of a cell with how many mentions and documents each has, largest first. It counts
    all of them.
    """
    with translated(), cell.owner() as connection:
        return [
            (row["tenant"], row["rows"])
            for row in connection.execute(load("db/cluster/cells")["tenants_of"])
        ]


def rows_of_tenant(cell: Database, tenant: str) -> Mapping[str, int]:
    """Count a tenant's rows in each table of a cell; tables without any are left out. It counts all
    of them.
    """
    with translated(), cell.owner() as connection:
        return count_rows(connection, tenant)


def create(
    home: Database,
    name: str,
    *,
    schema: str,
    url: str | None,
    node: str | None = None,
    takes_new: bool,
) -> None:
    """Make a cell: its schema with all tables, and its row in the directory, last. Made again, it
    goes on where it was interrupted.

    `node` is the node of a Citus cluster for it, as HOST:PORT; None leaves the choice to Citus.
    Raises `InvalidInput` for a schema that has memories already, for a url with a password in it,
    and for a node that cannot have it; and `SchemaOutdated` while processes are connected that
    would not ask in which cell a tenant is.
    """
    if url is not None and ("password" in readable(url) or readable(url).get("passfile")):
        raise InvalidInput(
            "expected the url of a cell without a password, since everybody who serves verbs "
            "reads the directory; got one with: "
            "leave it out, and the password of home's url is used (or ~/.pgpass)"
        )
    if url is not None and home.is_embedded:
        raise InvalidInput(
            "expected cells of the private server to be schemas of it, got a url; leave it out"
        )
    cell = home.at(name, schema=schema, url=url)
    dsn = cell.address.owner_dsn("htm_root")
    if node is not None:
        with translated(), connect(dsn, patience=home.settings.pool_timeout) as connection:
            citus_schema.refuse_node(connection, node)
    begin(home)
    migrate(dsn, schema=schema, logins=cell.is_embedded, roles=_prefix(home))
    if node is not None:
        with translated(), connect(dsn, patience=home.settings.pool_timeout) as connection:
            citus_schema.move(connection, dsn, schema, node)
    with translated(), home.owner() as directory, cell.owner() as made:
        row = directory.execute(load("db/cluster/cells")["next_number"]).fetchone()
        channel = directory.execute(load("db/cluster/cells")["channel"]).fetchone()
        assert row is not None  # an aggregate has one row
        assert channel is not None  # its migration has put one row into it
        if row["number"] > MOST_CELLS:
            raise InvalidInput(f"expected at most {MOST_CELLS} cells beside home, got another")
        if made.execute(load("db/cluster/cells")["tenants_here"]).fetchone():
            raise InvalidInput(
                f"expected the schema {schema} to be empty, got one with memories; give another "
                "name, or --schema"
            )
        with made.transaction():
            made.stay()
            if made.entrance is None:
                made.execute(
                    load("db/cluster/cells")["begin_collections"],
                    {"first": row["number"] * COLLECTIONS_EACH},
                )
            else:  # each node that the cell comes to gives out its numbers
                made.execute(load("db/cluster/cells")["begin_numbers"], row)
                citus_schema.settle(made, schema, again=True)
            # Notifications of one database: whoever listens to home's hears of all cells there.
            made.execute(load("db/cluster/cells")["set_channel"], channel)
        copy_user_walls(directory, made)
        values = {
            "name": name,
            "number": row["number"],
            "place": schema,
            "url": url,
            "takes_new": takes_new,
        }
        with directory.transaction():
            directory.stay()
            directory.execute(load("db/cluster/cells")["add"], values)
    home.forget_cells()


def begin(home: Database) -> None:
    """Raise `SchemaOutdated` while a process is connected that does not ask in which cell a tenant
    is.
    """
    with translated(), home.owner() as directory:
        strangers = directory.execute(
            home.roles.statements("db/cluster/cells")["strangers"]
        ).fetchall()
        if strangers:
            named = "; ".join(
                f"pid {row['pid']} of {row['login']} at {row['address']}" for row in strangers
            )
            raise SchemaOutdated(
                "expected all processes of this installation to run with Settings(cells=True), or "
                "HTM_CELLS=1, before there is a "
                f"second cell, got others: {named}. Restart "
                "them with it first; with one cell it changes nothing. Nothing was changed"
            )


def set_takes_new(home: Database, name: str, *, takes_new: bool) -> None:
    """Say whether tenants that nobody has placed begin in a cell."""
    with translated(), home.owner() as directory, directory.transaction():
        directory.stay()
        directory.execute(
            load("db/cluster/cells")["set_takes_new"], {"name": name, "takes_new": takes_new}
        )


def drop(home: Database, name: str, *, keep_schema: bool = False) -> None:
    """Take a cell without tenants out of the directory, and drop its schema.

    Raises `InvalidInput` for home, and while tenants are in the cell.
    """
    if name == HOME:
        raise InvalidInput("expected a cell besides home, which has the directory; got home")
    cell = next((each for each in home.cells() if each.cell == name), None)
    with translated(), home.owner() as directory:
        left = {
            row["cell"]: row["tenants"]
            for row in directory.execute(load("db/cluster/cells")["counts"])
        }.get(name, 0)
        if left:
            raise InvalidInput(
                f"expected no tenants in the cell {name!r}, got {left:,}; move them first: htm "
                "cells move TENANT CELL"
            )
        with directory.transaction():
            directory.stay()
            directory.execute(
                load("db/cluster/cells")["set_state"], {"name": name, "state": "dropping"}
            )
            directory.execute(
                load("db/cluster/cells")["set_takes_new"], {"name": name, "takes_new": False}
            )
        if cell is not None and not keep_schema:
            _drop_schema(cell)
        with directory.transaction():
            directory.stay()
            directory.execute(load("db/cluster/cells")["remove"], {"name": name})
    home.forget_cells()


def _drop_schema(cell: Database) -> None:
    schema = cell.settings.schema_
    with cell.owner() as owner:
        if owner.execute(load("db/cluster/cells")["tenants_here"]).fetchone():
            raise InvalidInput(
                f"expected the cell {cell.cell!r} to be empty, got rows of tenants that the "
                "directory has elsewhere: a move was "
                "interrupted. htm cells list shows it; run it again"
            )
        if cell.placement is None:
            owner.execute(
                sql.SQL(load("db/cluster/cells")["drop_schema"]).format(
                    schema=sql.Identifier(schema)
                )
            )
            return
    dsn = cell.address.owner_dsn("htm_root")
    with translated(), connect(dsn, patience=cell.settings.pool_timeout) as connection:
        citus_schema.drop(connection, dsn, schema)


def _prefix(home: Database) -> str | None:
    """Return the prefix of home's role names: cells have the same roles, so that the same logins
    serve all of them.
    """
    owner = home.roles.owner
    return owner.removesuffix("_owner") if owner.endswith("_owner") else None


def names(cells: Sequence[CellRow]) -> str:
    """The cells' names, for a message."""
    return ", ".join(each.name for each in cells) or HOME
