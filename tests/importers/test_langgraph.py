"""What LangGraph keeps in PostgreSQL is moved in: the store's items with their times, and the messages of its threads."""

from __future__ import annotations

from datetime import datetime

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, messages_to_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from htm_core.importers import import_database
from htm_core.importers import run as run_module
from htm_core.importers.checkpoints import messages_of
from htm_core.importers.langgraph import text_at
from htm_core.prompt.scope import memory_for
from htm_langchain import HTMChatMessageHistory, HTMStore
from tests.conftest import Make
from tests.importers import peers
from tests.importers.conftest import Foreign, counts, interrupt

PACKAGE, MODULE = "langgraph", "langgraph.store.postgres"
ITEMS = len(peers.TEXTS) + 2


def test_items_values_times_and_searches_are_the_same_and_twice_adds_nothing(
    make: Make, foreign: Foreign
) -> None:
    kinds = ["langgraph-store"]
    with make() as memory:
        done = import_database(memory, foreign.dsn, kinds=kinds, embedder=peers.embedder())
        assert counts(done) == [(ITEMS, 0, 0, 0)]
        assert counts(
            import_database(memory, foreign.dsn, kinds=kinds, embedder=peers.embedder())
        ) == [(0, 0, ITEMS, 0)]
        store = HTMStore(
            memory=memory,
            index={"dims": peers.DIMENSION, "embed": peers.embedder(), "fields": ["text"]},
        )
        found = store.search((), limit=200)
        said = [(tuple(at), key, value, datetime.fromisoformat(made), datetime.fromisoformat(put))
                for at, key, value, made, put in foreign.said["items"]]  # fmt: skip
        assert [
            (each.namespace, each.key, each.value, each.created_at, each.updated_at)
            for each in found
        ] == said
        shares = []
        for query, keys in foreign.said["found"].items():
            hits = memory.collection("store", kind="langgraph", embedder=peers.embedder()).query(
                query, mode="vector", namespace=("users",), limit=10
            )
            shares.append(len({each.item.id for each in hits} & set(keys)) / len(keys))
        assert sum(shares) / len(shares) >= 0.99


def test_what_has_a_time_to_live_keeps_its_end(make: Make, foreign: Foreign) -> None:
    with make() as memory:
        import_database(memory, foreign.dsn, kinds=["langgraph-store"], embedder=peers.embedder())
        [item] = memory.collection("store", kind="langgraph").get(
            ["short"], namespace=("settings",)
        )
        assert item.ttl is not None
        assert item.updated_at is not None
        assert item.expires_at is not None
        assert abs((item.expires_at - item.updated_at - item.ttl).total_seconds()) < 1


def test_threads_become_logs_with_the_messages_of_their_latest_checkpoint(
    make: Make, foreign: Foreign
) -> None:
    kinds = ["langgraph-checkpoints"]
    with make() as memory:
        assert counts(import_database(memory, foreign.dsn, kinds=kinds)) == [(12, 0, 0, 0)]
        assert counts(import_database(memory, foreign.dsn, kinds=kinds)) == [(0, 0, 12, 0)]
        for thread, said in foreign.said["threads"].items():
            assert messages_to_dict(HTMChatMessageHistory(thread, memory).messages) == said
            times = [
                mention.at for mention in memory_for(memory, user=None, session=thread).log().tail()
            ]
            assert times == sorted(times)
            assert len(set(times)) >= 4  # each with the checkpoint that first had it


def test_killed_in_the_middle_of_a_thread_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 4)

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(memory, foreign.dsn, tables=["checkpoints"], progress=interrupt)
        assert counts(import_database(memory, foreign.dsn, tables=["checkpoints"])) == [
            (8, 0, 4, 0)
        ]
        for thread, said in foreign.said["threads"].items():
            assert messages_to_dict(HTMChatMessageHistory(thread, memory).messages) == said


def test_killed_in_the_middle_of_the_items_it_continues(
    make: Make, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "BATCH", 25)

    with make() as memory:
        with pytest.raises(KeyboardInterrupt):
            import_database(
                memory, foreign.dsn, tables=["store"], embedder=peers.embedder(), progress=interrupt
            )
        done = import_database(memory, foreign.dsn, tables=["store"], embedder=peers.embedder())
        assert counts(done) == [(ITEMS - 25, 0, 25, 0)]


def test_a_thread_that_cannot_be_read_is_left_out_and_the_others_come(
    make: Make, foreign: Foreign
) -> None:
    foreign.run(
        "create table kept as select * from checkpoint_blobs where thread_id = 'sea' and channel = 'messages'"
    )
    foreign.run(
        "update checkpoint_blobs set type = 'msgpack+aes' where thread_id = 'sea' and channel = 'messages'"
    )
    try:
        with make() as memory:
            [table] = import_database(memory, foreign.dsn, tables=["checkpoints"]).tables
        assert (table.imported, table.skipped, table.examples[0].where) == (6, 1, "sea")
        assert "encrypted" in table.examples[0].reason
    finally:
        foreign.run(
            "update checkpoint_blobs set type = 'msgpack' where thread_id = 'sea' and channel = 'messages'"
        )
        foreign.run("drop table kept")


def test_nothing_that_a_checkpoint_names_is_called(tmp_path: object) -> None:
    """A checkpoint that names `os.system` is data like any other."""
    for code in range(6):
        held = ormsgpack.packb(["os", "system", "exit 3", "system"])
        blob = ormsgpack.packb([ormsgpack.Ext(code, held)])
        assert messages_of("msgpack", blob) == [{}]
    with pytest.raises(ValueError, match="cannot be unpacked"):
        messages_of("msgpack", b"\xc1")


def test_messages_are_read_as_langgraph_wrote_them() -> None:
    given = [
        *peers.messages(),
        AIMessage(
            "x", additional_kwargs={"when": datetime.fromisoformat("2026-05-01T12:00:00+02:00")}
        ),
    ]
    assert messages_of(*JsonPlusSerializer().dumps_typed(given)) == messages_to_dict(given)


@pytest.mark.parametrize(
    ("path", "texts"),
    [("text", ["a"]), ("more[*].text", ["b", "c"]), ("more[1].text", ["c"]), ("author.name", ["d"]), ("nothing", []),
     ("{text,author.name}", ["a", "d"]), ("n", ["1"])],
)  # fmt: skip
def test_paths_lead_where_langgraphs_lead(path: str, texts: list[str]) -> None:
    value = {"text": "a", "more": [{"text": "b"}, {"text": "c"}], "author": {"name": "d"}, "n": 1}
    from langgraph.store.base import get_text_at_path

    assert text_at(value, path) == texts == get_text_at_path(value, path)
