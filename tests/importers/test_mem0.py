"""What mem0 keeps in PostgreSQL is moved in: each memory for its user, with its time, its metadata and its vector."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from htm_core.importers import import_database
from htm_core.importers import run as run_module
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import (
    Foreign,
    counts,
    drop_database,
    interrupt,
    new_database,
    recorded,
)
from tests.importers.model import TEXTS

ROWS = 10 + len(TEXTS)


@pytest.fixture(scope="module")
def foreign(database_url: str) -> Iterator[Foreign]:
    """mem0's database as it was recorded; mem0 needs an environment of its own."""
    dsn = new_database(database_url)
    yield Foreign(dsn, recorded("mem0", dsn))
    drop_database(database_url, dsn)


def test_memories_come_to_their_users_with_time_and_metadata_and_twice_adds_nothing(
    make: Make, foreign: Foreign
) -> None:
    with make() as memory:
        assert counts(import_database(memory, foreign.dsn)) == [(ROWS, 0, 0, 0)]
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, ROWS, 0)]
        for user in ("ann", "ben"):
            found = {each.content: each for each in memory.of(user=user).timeline()}
            said = {each["memory"]: each for each in foreign.said[user]}
            assert set(found) == {*said, "Answers in short sentences."} or set(found) == set(said)
            for content, each in said.items():
                assert found[content].at == datetime.fromisoformat(
                    each["updated_at"] or each["created_at"]
                )
                assert found[content].metadata.items() >= (each["metadata"] or {}).items()
        assert (
            memory.of(user="ann").recall("Which coffee?", limit=1)[0].content
            == "Likes black coffee."
        )


def test_a_conversations_memory_keeps_its_session_and_who_said_it(
    make: Make, foreign: Foreign
) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn)
        [said] = memory.of(user="ann").timeline(session="june")
        assert (said.content, said.role, said.name) == ("We meet at noon.", "user", "cleo")


def test_an_agents_memory_is_what_everyone_shares(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn)
        [said] = memory.timeline()
        assert (said.content, said.metadata["agent_id"]) == ("Answers in short sentences.", "wren")


def test_vectors_are_kept_where_the_memorys_own_model_made_them(
    make: Make, foreign: Foreign
) -> None:
    model = peers.embedder()
    with make(embedder=model) as memory:
        [table] = import_database(memory, foreign.dsn).tables
        assert table.model == "Model:hash"
        assert memory.flush()
        shared, ann, ben = (
            each.stats().vectors for each in (memory, memory.of(user="ann"), memory.of(user="ben"))
        )
        assert ann + ben - shared == ROWS - len(TEXTS)  # each user's count has what is shared
        assert (
            model.calls == 2
        )  # for its dimension, and for three texts, to see whose vectors they are


def test_the_same_searches_by_vector_find_the_same_memories(make: Make, foreign: Foreign) -> None:
    with make(embedder=peers.embedder()) as memory:
        import_database(memory, foreign.dsn)
        eve = memory.of(user="eve")
        shares = []
        for query, texts in foreign.said["found"].items():
            hits = eve.recall(query, limit=10, mode="vector", hold=False)
            shares.append(len({each.content for each in hits} & set(texts)) / len(texts))
    assert sum(shares) / len(shares) >= 0.99


def test_killed_in_the_middle_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 25)

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, progress=interrupt)
        assert counts(import_database(memory, foreign.dsn)) == [(ROWS - 25, 0, 25, 0)]
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, ROWS, 0)]


def test_vectors_of_another_model_are_made_again(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn)
        assert memory.flush()
        assert memory.of(user="ben").recall("dog", limit=1)[0].content == "Has a dog named Rex."


def test_a_memory_that_was_changed_there_is_changed_here(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn)
        foreign.run("create table kept as select * from mem0")
        foreign.run(
            """update mem0 set payload = payload || '{"data": "Lives in Linz."}' where payload ->> 'data' = 'Lives in Graz.'"""
        )
        try:
            assert counts(import_database(memory, foreign.dsn, tables=["mem0"])) == [
                (0, 2, ROWS - 2, 0)
            ]
            assert "Lives in Linz." in [each.content for each in memory.of(user="ben").timeline()]
        finally:
            foreign.run("update mem0 m set payload = k.payload from kept k where k.id = m.id")
            foreign.run("drop table kept")
