"""An installation of its own with two cells, home and b, in which no worker runs but the test's."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from htm_core import Cells, Memory, Settings
from htm_core.db.database import Database
from htm_core.memory import process
from htm_core.memory.process import runtime
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder


@dataclass(frozen=True)
class Installation:
    """Home and the cell b. `memory` makes memories, by default of the tenant acme."""

    url: str | None
    settings: Settings
    cells: Cells
    embedder: HashEmbedder
    dsn: str

    @property
    def database(self) -> Database:
        return runtime(self.url, self.settings).database

    def memory(self, tenant: str = "acme", robot: str = "atlas", **options: Any) -> Memory:
        given = {
            "url": self.url,
            "tenant": tenant,
            "embedder": self.embedder,
            "settings": self.settings,
        } | options
        return Memory(robot, **given)

    def another_process(self) -> Settings:
        """Settings with which nothing is shared with the others, as in another process."""
        return self.settings.model_copy(
            update={"pool_max": self.settings.pool_max + 1 + uuid.uuid4().int % 1000}
        )

    def schema_of(self, cell: str) -> str:
        return self.settings.schema_ if cell == "home" else f"{self.settings.schema_}_{cell}"

    def rows(self, cell: str, tenant: str) -> dict[str, list[str]]:
        """All rows of a tenant in a cell by their table, as text: of every table that has a column for tenants.

        Without the numbers of vector spaces, which each cell gives out by itself, heartbeats, which go on, and what is about cells.
        """
        schema, found = self.schema_of(cell), {}
        with psycopg.connect(self.dsn) as connection:
            tables = connection.execute(
                "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant' "
                "where c.relnamespace = %s::regnamespace and c.relkind in ('r', 'p') and not c.relispartition",
                [schema],
            ).fetchall()
            for (table,) in tables:
                rows = connection.execute(
                    f"select (to_jsonb(t) - '{{space,heartbeat_at}}'::text[])::text from \"{schema}\".{table} t where t.tenant = %s",
                    [tenant],
                ).fetchall()
                if rows and table not in ("tenant_cells", "tenant_moves", "departed_tenants"):
                    found[table] = sorted(text for (text,) in rows)
        return found


@pytest.fixture(scope="module")
def new_installation(url: str | None, database_url: str) -> Iterator[Callable[..., Installation]]:
    """Makes installations with the cell b, which are dropped at the end of the file."""
    made: list[Installation] = []

    def new(**settings: Any) -> Installation:
        chosen = SETTINGS.model_copy(
            update={
                "schema_": f"cells_{uuid.uuid4().hex[:8]}",
                "roles": "htm",
                "cells": True,
                "worker": "off",
            }
            | settings
        )
        embedder = HashEmbedder(name="cells")
        made.append(
            Installation(url, chosen, Cells(url=url, settings=chosen), embedder, database_url)
        )
        made[-1].cells.create("b")
        return made[-1]

    yield new
    ours = {each.settings.schema_ for each in made}
    for each in list(process._runtimes.values()):
        if each.database.settings.schema_ in ours:
            each.worker.stop()
            each.heartbeat.stop()
            each.listener.stop()
            each.write_behind.stop()
            each.database.close()
    with psycopg.connect(database_url, autocommit=True) as connection:
        schemas = connection.execute(
            "select nspname from pg_namespace where nspname ~ '^cells_'"
        ).fetchall()
        for (name,) in schemas:
            if any(name.startswith(schema) for schema in ours):
                connection.execute(f'drop schema "{name}" cascade')


@pytest.fixture(scope="module")
def two(new_installation: Callable[..., Installation]) -> Installation:
    """An installation that the tests of a file share, each with tenants of its own."""
    return new_installation()
