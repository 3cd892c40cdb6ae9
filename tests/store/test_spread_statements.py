"""A proxy that has another server answer what only reads, in the middle of a transaction, is named in the error."""

from __future__ import annotations

from typing import Any

import pytest

from htm_core import SchemaOutdated, StorageError
from htm_core.db.connection import Connection, StatementsSpread, connect
from htm_core.db.database import Database
from tests.conftest import Make

WRITES = ("set_config", "insert", "update", "delete", "lock", "notify", "write_entries")


def test_statements_that_go_to_another_server_are_named_and_not_taken_for_an_old_schema(
    make: Make, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pgpool does: what only reads goes to a session of another server, which has none of the transaction's settings."""
    memory = make()
    memory.remember("The heron nests by the river.", key="heron")
    execute = Connection.execute
    with connect(database.dsn("htm_app")) as elsewhere:

        def spread(self: Connection, query: Any, *given: Any, **options: Any) -> Any:
            """Have the other session answer what only reads."""
            reads = str(query).lstrip().startswith("select") and not any(
                word in str(query) for word in WRITES
            )
            return execute(elsewhere if reads else self, query, *given, **options)

        monkeypatch.setattr(Connection, "execute", spread)
        with pytest.raises(StorageError, match="load_balance_mode = off") as told:
            memory.jobs.list()
    assert not isinstance(told.value, SchemaOutdated)
    monkeypatch.undo()
    assert memory.get("heron").content == "The heron nests by the river."


def test_a_read_that_is_spread_is_not_asked_again(
    make: Make, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, asked = make(), list[object]()
    memory.stats()

    def spread(self: Connection, *statements: object, prepare: bool) -> list[dict[str, Any]]:
        """What `refusing_spread` makes of a refusal."""
        asked.append(statements)
        raise StatementsSpread("some statements of a transaction were answered by another server")

    monkeypatch.setattr(Connection, "read", spread)
    with pytest.raises(StorageError, match="load_balance_mode = off"):
        database.read("anybody", "select 1 as one", {})
    assert len(asked) == 1
