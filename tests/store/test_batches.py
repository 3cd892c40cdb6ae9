"""A statement that only reads travels with the settings of its transaction in one message, and is planned once where that is possible."""

from __future__ import annotations

import struct
import time
from typing import Any

import numpy as np
import psycopg
import pytest

from htm_core import Memory
from htm_core.db.connection import Connection
from htm_core.recall import candidates
from htm_core.recall.search import texts
from tests.conftest import Make


@pytest.fixture
def memory(make: Make) -> Memory:
    memory = make()
    memory.remember("The ferry leaves at nine.", session="s", role="user")
    memory.flush()
    memory.recall(
        "When does the ferry leave?", hold=False
    )  # rows of tenant and robot are there from now on
    return memory


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements each message has."""
    messages: list[int] = []
    real_read = Connection.read

    def read(connection: Connection, *statements: Any, prepare: bool) -> list[Any]:
        messages.append(len(statements))
        return real_read(connection, *statements, prepare=prepare)

    def execute(*given: Any, **options: Any) -> None:
        raise AssertionError("expected no statement besides")

    monkeypatch.setattr(Connection, "read", read)
    monkeypatch.setattr(Connection, "execute", execute)
    return messages


@pytest.mark.parametrize(("mode", "messages"), [("vector", 1), ("hybrid", 2), ("text", 2)])
def test_a_recall_takes_one_message_or_two(
    memory: Memory, sent: list[int], mode: Any, messages: int
) -> None:
    if memory._engine.database.user_wall.known_key is not None:
        pytest.skip("behind the wall between users a transaction is claimed before it reads")
    assert memory.recall("When does the ferry leave?", mode=mode, hold=False)
    steps = 2 if memory._engine.database.placement is None else 3
    assert (
        sent == [steps] * messages
    )  # each says first as whom it reads, and enters the node on a cluster


@pytest.mark.parametrize(
    "values",
    [None, [], [""], ["a", "b, c"], ['say "hi"', "\\", '\\"', "NULL", "{x}", " y ", "é\n\t'🙂"]],
)
def test_a_list_of_texts_comes_to_the_server_as_it_is(
    memory: Memory, values: list[str] | None
) -> None:
    (row,) = memory._engine.read("select %(values)s::text[] as found", {"values": texts(values)})
    assert row["found"] == values


def test_a_session_that_was_ended_meanwhile_is_replaced_without_an_error(memory: Memory) -> None:
    engine = memory._engine
    with engine.transaction() as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(
        engine.database.dsn("htm_root").get_secret_value(), autocommit=True
    ) as admin:
        admin.execute("select pg_terminate_backend(%s::integer)", [pid])
        deadline = time.monotonic() + 10
        while admin.execute("select 1 from pg_stat_activity where pid = %s", [pid]).fetchone():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert memory.recall("When does the ferry leave?", hold=False)


def test_a_statement_that_is_no_longer_prepared_is_sent_as_it_is(memory: Memory) -> None:
    """As behind a pooler that hides itself: the next client's session has no such statement."""
    engine = memory._engine
    pool = engine.database.pools.of("htm_app", engine.database.address)
    with pool.connection() as connection:
        connection.execute("deallocate all")
    assert memory.recall("When does the ferry leave?", hold=False)
    assert memory.recall("When does the ferry leave?", hold=False)


def test_an_error_of_a_statement_leaves_the_connection_usable(memory: Memory) -> None:
    database = memory._engine.database
    with pytest.raises(Exception, match="division by zero"):
        database.read(memory.tenant, "select %(one)s::int / 0 as n", {"one": 1})
    assert database.read(
        memory.tenant, "select %(one)s::int + %(one)s::int as n, 5 %% 3 as rest", {"one": 1}
    ) == [{"n": 2, "rest": 2}]


def test_a_large_value_passes_whole(memory: Memory) -> None:
    text = "x" * 20_000_000
    assert memory._engine.database.read(
        memory.tenant, "select length(%(text)s) as n", {"text": text}
    ) == [{"n": len(text)}]


def test_sparse_vectors_are_read_from_their_binary_form() -> None:
    def binary(entries: dict[int, float]) -> bytes:
        return struct.pack(
            f">3i{len(entries)}i{len(entries)}f",
            2**28,
            len(entries),
            0,
            *entries.keys(),
            *entries.values(),
        )

    place, dimension, value = candidates._entries(
        [binary({3: 0.5, 9: 1.5}), binary({}), binary({4: 2.0})]
    )
    assert place.tolist() == [0, 0, 2]
    assert dimension.tolist() == [3, 9, 4]
    assert value.tolist() == pytest.approx([0.5, 1.5, 2.0])
    row = {
        "nodes": [1, 2], "weights": [binary({3: 0.5, 9: 1.5}), binary({4: 2.0})], "terms": [binary({4: 3.0, 9: 2.0}), binary({5: 1.0})],
        "best_score": 6.0, "phrase_shares": [0.0, 1.0],
    }  # fmt: skip
    assert candidates._term_weights(row) == pytest.approx(
        np.array([[0.0, 0.5, 0.0], [0.5, 1.0, 0.0]])
    )
