"""Databases of other packages: as they were recorded, and where a package is installed, as it fills one now."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from htm_core.importers import DatabaseImport
from tests.importers import peers

RECORDED = Path(__file__).parent / "recorded"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A database of another package, and what that package says is in it."""

    dsn: str
    said: dict[str, Any]

    def run(self, statement: str, *values: object) -> None:
        """Change it, as its owner."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(statement, values)


def interrupt(table: str, done: int, total: int | None) -> None:
    """Ctrl-C when the first batch has been written, as an import's `progress`."""
    raise KeyboardInterrupt


def counts(done: DatabaseImport) -> list[tuple[int, int, int, int]]:
    """What became of each table: new, changed, known, skipped."""
    return [(each.imported, each.changed, each.known, each.skipped) for each in done.tables]


def new_database(url: str) -> str:
    """The DSN of a new database that has pgvector."""
    name = f"foreign_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    dsn = make_conninfo(url, dbname=name)
    with psycopg.connect(dsn, autocommit=True) as inside:
        inside.execute("create extension vector")
    return dsn


def address_of(dsn: str) -> str:
    """A DSN as a URL."""
    return peers.address(dsn, "psycopg").render_as_string(hide_password=False)


def drop_database(url: str, dsn: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


def recorded(package: str, dsn: str) -> dict[str, Any]:
    """Fill a database with what was recorded of a package; answers with what the package said of it."""
    [statements] = RECORDED.glob(f"{package}-*.sql")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statements.read_text())
    said: dict[str, Any] = json.loads(statements.with_suffix(".json").read_text())
    return said


@pytest.fixture(scope="module", params=["recorded", "installed"])
def foreign(request: pytest.FixtureRequest, database_url: str) -> Iterator[Foreign]:
    """The database of the package that the test's module names in `PACKAGE` and `MODULE`."""
    module: Any = request.module
    if request.param == "installed":
        pytest.importorskip(module.MODULE, reason="it is in the extra 'peers'")
    dsn = new_database(database_url)
    try:
        said = (
            recorded(module.PACKAGE, dsn)
            if request.param == "recorded"
            else getattr(peers, module.PACKAGE)(dsn)
        )
        yield Foreign(dsn, said)
    finally:
        drop_database(database_url, dsn)
