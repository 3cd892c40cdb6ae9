"""What LlamaIndex keeps in PostgreSQL is moved in: nodes and conversations, exact, and nothing twice."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

from htm_core.importers import import_database
from htm_core.importers import run as run_module
from htm_llamaindex import HTMChatStore, HTMVectorStore
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import Foreign, counts, interrupt

PACKAGE, MODULE = "llama_index", "llama_index.vector_stores.postgres"
NODES, MESSAGES = len(peers.TEXTS), 12


def test_nodes_and_searches_are_the_same_and_twice_adds_nothing(
    make: Make, foreign: Foreign
) -> None:
    kinds = ["llamaindex-pgvectorstore"]
    with make() as memory:
        done = import_database(memory, foreign.dsn, kinds=kinds)
        assert [(each.into, each.model, each.rows) for each in done.tables] == [
            ("collection town_guide", None, NODES)
        ]
        assert counts(import_database(memory, foreign.dsn, kinds=kinds)) == [(0, 0, NODES, 0)]
        store = HTMVectorStore(collection="town_guide", memory=memory)
        nodes = store.get_nodes(node_ids=list(foreign.said["nodes"]))
        assert {
            node.node_id: [node.class_name(), node.to_dict()] for node in nodes
        } == foreign.said["nodes"]
        shares = []
        for query, ids in foreign.said["found"].items():
            found = store.query(
                VectorStoreQuery(peers.embedder().embed_query(query), similarity_top_k=10)
            )
            shares.append(len(set(found.ids or ()) & set(ids)) / len(ids))
        assert sum(shares) / len(shares) >= 0.99
        filters = MetadataFilters(filters=[MetadataFilter(key="ref_doc_id", value="guide.pdf")])
        assert len(store.get_nodes(filters=filters)) == 10
        store.delete("guide.pdf")
        assert store.client.count() == NODES - 10


def test_killed_in_the_middle_of_the_nodes_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 25)

    def stop(table: str, done: int, total: int | None) -> None:
        assert total == NODES
        raise KeyboardInterrupt

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, tables=["data_town_guide"], progress=stop)
        done = import_database(memory, foreign.dsn, tables=["data_town_guide"])
        assert counts(done) == [(NODES - 25, 0, 25, 0)]


def test_conversations_are_the_same_and_twice_adds_nothing(make: Make, foreign: Foreign) -> None:
    kinds = ["llamaindex-chat-store"]
    with make() as memory:
        assert counts(import_database(memory, foreign.dsn, kinds=kinds)) == [(MESSAGES, 0, 0, 0)]
        assert counts(import_database(memory, foreign.dsn, kinds=kinds)) == [(0, 0, MESSAGES, 0)]
        store = HTMChatStore(memory)
        for key, said in foreign.said["chats"].items():
            found = asyncio.run(store.get_messages(key))
            assert [message.model_dump(mode="json") for message in found] == said


def test_killed_in_the_middle_of_a_conversation_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 4)

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, tables=["conversations"], progress=interrupt)
        assert counts(import_database(memory, foreign.dsn, tables=["conversations"])) == [
            (MESSAGES - 4, 0, 4, 0)
        ]


def test_a_conversation_that_lost_its_first_messages_there_keeps_them_here(
    make: Make, foreign: Foreign
) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn, tables=["conversations"])
        foreign.run("create table kept as select * from conversations")
        foreign.run("update conversations set value = value[3:]")
        try:
            assert counts(import_database(memory, foreign.dsn, tables=["conversations"])) == [
                (0, 0, 8, 0)
            ]
        finally:
            foreign.run("update conversations c set value = k.value from kept k where k.id = c.id")
            foreign.run("drop table kept")
