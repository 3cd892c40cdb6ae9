"""Every verb once, with what it must answer: a server that serves these serves the product."""

from __future__ import annotations

from datetime import timedelta

from htm_core import Memory


def every_verb(memory: Memory) -> None:
    """Say, ask, look, forget and count; fails where the server or the login does not let it."""
    say(memory)
    ask(memory)
    look(memory)
    forget(memory)
    assert memory.flush(timeout=30)
    stats = memory.stats()
    assert stats.vectors == stats.passages > 0


def say(memory: Memory) -> None:
    node = memory.remember(
        "The ferry leaves at nine.",
        key="ferry",
        tags=["travel:sea"],
        metadata={"pier": 4},
        session="s",
    )
    memory.remember_many([{"content": "Tea is in the blue tin."}, {"content": "The cat sleeps."}])
    memory.revise("ferry", "The ferry leaves at ten.", if_version=node.version, session="s")
    memory.log("chat").append(
        [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good morning"}]
    )
    documents = memory.collection("pages")
    documents.put([{"id": "one", "content": "A page about harbours."}])
    assert [hit.item.id for hit in documents.query("harbours")] == ["one"]
    assert memory.flush(timeout=30)


def ask(memory: Memory) -> None:
    for mode in ("hybrid", "vector", "text"):
        assert (
            memory.recall("when does the ferry leave", mode=mode)[0].content
            == "The ferry leaves at ten."
        )
    assert len(memory.recall("tea", tags=["travel"], mode="text")) == 0
    assert memory.context(budget=500).tokens <= 500


def look(memory: Memory) -> None:
    assert memory.get("ferry").content == "The ferry leaves at ten."
    assert [node.content for node in memory.history("ferry")] == [
        "The ferry leaves at nine.",
        "The ferry leaves at ten.",
    ]
    assert "The cat sleeps." in {node.content for node in memory.list()}
    assert [mention.content for mention in memory.timeline(session="chat")] == [
        "hello",
        "good morning",
    ]
    assert [mention.content for mention in memory.who_said("blue tin")] == [
        "Tea is in the blue tin."
    ]


def forget(memory: Memory) -> None:
    cat = memory.remember("The cat sleeps.")
    memory.forget(cat.id)
    assert memory.restore(cat.id).content == "The cat sleeps."
    memory.forget(cat.id)
    assert memory.purge(timedelta(days=1), confirm="confirmed") == 0
    assert memory.erase(session="chat", confirm="confirmed")
