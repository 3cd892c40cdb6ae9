"""PGVector's collections and PostgresChatMessageHistory's sessions are moved in, each to what takes their place."""

from __future__ import annotations

import pytest
from langchain_core.messages import messages_to_dict

from htm_core import InvalidInput, Memory
from htm_core.db import tenants
from htm_core.importers import import_database
from htm_core.importers import run as run_module
from htm_langchain import HTMChatMessageHistory, HTMVectorStore
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import Foreign, counts, interrupt

PACKAGE, MODULE = "langchain_postgres", "langchain_postgres"


def test_each_collection_of_pgvector_becomes_one(make: Make, foreign: Foreign) -> None:
    shares = []
    with make() as memory:
        done = import_database(
            memory, foreign.dsn, kinds=["langchain-pgvector"], embedder=peers.embedder()
        )
        assert [(each.into, each.imported) for each in done.tables] == [
            ("collection letters", 30),
            ("collection manuals", 30),
        ]
        for name, said in foreign.said["legacy"].items():
            store = HTMVectorStore(peers.embedder(), collection=name, memory=memory)
            found = {
                each.id: [each.page_content, each.metadata]
                for each in store.get_by_ids(list(said["documents"]))
            }
            assert found == said["documents"]
            for query, ids in said["found"].items():
                hits = store.similarity_search(query, k=10, mode="vector")
                shares.append(len({each.id for each in hits} & set(ids)) / 10)
        again = import_database(
            memory, foreign.dsn, kinds=["langchain-pgvector"], embedder=peers.embedder()
        )
        assert counts(again) == [(0, 0, 30, 0)] * 2
    assert sum(shares) / len(shares) >= 0.99


def test_killed_between_two_collections_of_pgvector_it_continues(
    make: Make, foreign: Foreign
) -> None:
    words = {"kinds": ["langchain-pgvector"], "embedder": peers.embedder()}
    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, progress=interrupt, **words)
        assert counts(import_database(memory, foreign.dsn, **words)) == [
            (0, 0, 30, 0),
            (30, 0, 0, 0),
        ]


def test_one_of_its_collections_can_be_chosen_and_named(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        done = import_database(
            memory, foreign.dsn, tables=["letters"], collection="post", embedder=peers.embedder()
        )
        assert [(each.into, each.imported) for each in done.tables] == [("collection post", 30)]


def histories(
    memory: Memory, foreign: Foreign, **options: object
) -> list[tuple[int, int, int, int]]:
    return counts(import_database(memory, foreign.dsn, kinds=["langchain-chat-history"], **options))  # type: ignore[arg-type]


def test_chat_histories_become_logs_with_their_exact_messages(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        assert histories(memory, foreign, dry_run=True) == [(14, 0, 0, 0)]
        with memory._engine.database.transaction(memory.tenant) as connection:
            assert tenants.active_model(connection) is None  # not even the tenant has been made
        assert histories(memory, foreign) == [(14, 0, 0, 0)]
        assert histories(memory, foreign) == [(0, 0, 14, 0)]
        for session, said in foreign.said["histories"].items():
            history = HTMChatMessageHistory(session, memory)
            found = messages_to_dict(history.messages)
            for given, message in zip(said, found, strict=True):
                if given["data"]["id"] is None:  # one without an id has one here
                    message["data"]["id"] = None
            assert found == said
            times = [mention.at for _, mention in history._own.log().entries()]
            assert len(set(times)) == 2  # of the two transactions that wrote them


def test_what_was_said_is_recalled_in_its_session(make: Make, foreign: Foreign) -> None:
    with make(embed="now") as memory:
        histories(memory, foreign)
        session = next(iter(foreign.said["histories"]))
        own = HTMChatMessageHistory(session, memory)._own
        assert (
            own.recall("bakery", scope="session", mode="text")[0].content
            == "When does the bakery open?"
        )
        assert len(memory.recall("bakery")) == 0


def test_a_users_memory_gets_them_as_that_users(make: Make, foreign: Foreign) -> None:
    with make(user="ines") as memory:
        histories(memory, foreign)
        assert memory.recall("bakery", limit=1)[0].content == "When does the bakery open?"


def test_killed_between_two_sessions_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 5)

    def stop(table: str, done: int, total: int | None) -> None:
        if done >= 10:
            raise KeyboardInterrupt

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            histories(memory, foreign, progress=stop)
        assert histories(memory, foreign) == [(4, 0, 10, 0)]
        session = next(iter(foreign.said["histories"]))
        assert [each.type for each in HTMChatMessageHistory(session, memory).messages] == [
            each["type"] for each in foreign.said["histories"][session]
        ]


def test_a_message_that_is_none_is_left_out_and_said(make: Make, foreign: Foreign) -> None:
    foreign.run(
        """insert into chat_history (id, session_id, message) values (99, '0b6cbd1a-9c0c-4a3b-8f43-0c5fdd9a4f03', '{"a": 1}')"""
    )
    try:
        with make() as memory:
            [table] = import_database(memory, foreign.dsn, tables=["chat_history"]).tables
        assert (table.imported, table.skipped) == (14, 1)
        assert (table.examples[0].where, table.reasons) == (
            "chat_history:99", {"not a message as LangChain writes it: type, and data with content": 1}
        )  # fmt: skip
    finally:
        foreign.run("delete from chat_history where id = 99")


def test_two_tables_for_one_collection_are_refused_before_anything_is_written(
    make: Make, foreign: Foreign
) -> None:
    foreign.run("update langchain_pg_collection set name = 'guide' where name = 'letters'")
    try:
        with make() as memory:
            with pytest.raises(InvalidInput, match="would all be 'guide'"):
                import_database(memory, foreign.dsn, embedder=peers.embedder())
            assert memory.collection("guide").count() == 0
    finally:
        foreign.run("update langchain_pg_collection set name = 'letters' where name = 'guide'")
