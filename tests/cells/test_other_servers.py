"""A cell in another database: rows go as text, numbers and transaction ids are given anew, everything else is the same."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from htm_core import Cells
from htm_core.memory.process import runtime
from tests.attacks.test_user_walls import TENANT, fill
from tests.cells.conftest import Installation
from tests.conftest import SETTINGS, new_database
from tests.stand_ins import HashEmbedder


@pytest.fixture(scope="module")
def far(database_url: str) -> Iterator[tuple[Installation, str]]:
    """An installation with the cell far in a database of its own, and that database's DSN."""
    schema = f"cells_{uuid.uuid4().hex[:8]}"
    settings = SETTINGS.model_copy(
        update={"schema_": schema, "roles": "htm", "cells": True, "worker": "off"}
    )
    with new_database(database_url) as dsn:
        cells = Cells(url=database_url, settings=settings)
        cells.create("far", url=f"dbname={conninfo_to_dict(dsn)['dbname']}")
        yield (
            Installation(database_url, settings, cells, HashEmbedder(name="cells"), database_url),
            dsn,
        )
        runtime(database_url, settings).worker.stop()
        cells._home.close()
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(f'drop schema "{schema}" cascade')


def without_transactions(rows: dict[str, list[str]]) -> dict[str, list[dict[str, object]]]:
    """Rows as mappings, without the ids of the transactions that wrote them."""
    found: dict[str, list[dict[str, object]]] = {}
    for table, texts in rows.items():
        parsed = [
            {name: value for name, value in json.loads(text).items() if name != "xid"}
            for text in texts
        ]
        found[table] = sorted(parsed, key=lambda row: json.dumps(row, sort_keys=True))
    return found


@pytest.mark.usefixtures("real_embedder")  # the reader that finds a change needs its files
def test_a_tenant_moves_to_another_server_and_back(
    far: tuple[Installation, str], tmp_path: Path
) -> None:
    installation, dsn = far
    there = Installation(dsn, installation.settings.model_copy(update={"schema_": f"{installation.settings.schema_}_far"}),
                         installation.cells, installation.embedder, dsn)  # fmt: skip
    with (
        installation.memory(TENANT, user="ann") as memory,
        installation.memory(TENANT) as everybody,
    ):
        fill(memory, tmp_path)
        everybody.collection("pages").put([{"id": "one", "content": "A page about harbours."}])
        assert memory.flush(timeout=30)
        before = without_transactions(installation.rows("home", TENANT))
        del before["tokens"]
        assert installation.cells.move(TENANT, "far").rows
        after = without_transactions(there.rows("home", TENANT))
        assert after == before
        assert set(installation.rows("home", TENANT)) == {"tokens"}
        assert not installation.database.is_one_server
        memory.remember("Said in the other database.")
        assert memory.flush(timeout=30)
        assert memory.stats().pending_jobs == 0
        assert memory.verify_audit().ok
        assert [hit.item.id for hit in everybody.collection("pages").query("harbours")] == ["one"]
        installation.cells.move(TENANT, "home")
        assert there.rows("home", TENANT) == {}
        assert (
            memory.recall("said in the other database", mode="text")[0].content
            == "Said in the other database."
        )


def test_members_of_a_group_follow_each_other_without_notifications(
    far: tuple[Installation, str],
) -> None:
    installation, _ = far
    installation.cells.place("team", "far")
    with (
        installation.memory("team") as first,
        installation.memory(
            "team", robot="boris", settings=installation.another_process()
        ) as second,
    ):
        one, other = first.group("support"), second.group("support")
        first.remember("told to the group")
        assert [item.tokens for item in second.working.items] == [
            item.tokens for item in first.working.items
        ]
        one.leave()
        other.leave()
