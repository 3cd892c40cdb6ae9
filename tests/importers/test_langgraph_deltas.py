"""Threads whose messages LangGraph keeps as deltas come along as its own checkpointer puts them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    messages_to_dict,
)

from htm_core.importers import import_database
from htm_core.importers.deltas import DeltaMessages
from htm_core.prompt.scope import memory_for
from htm_langchain import HTMChatMessageHistory
from tests.conftest import Make
from tests.importers.conftest import Foreign, counts, drop_database, new_database

pytest.importorskip("langgraph.channels.delta", reason="this LangGraph has no DeltaChannel")
pytest.importorskip("langgraph.checkpoint.postgres", reason="it is in the extra 'dev'")


def filled(dsn: str) -> dict[str, list[dict[str, Any]]]:
    """Threads with what a delta may do to messages, and the messages that LangGraph says each has."""
    from langgraph.channels.delta import DeltaChannel
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.graph import START, StateGraph
    from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer
    from langgraph.types import Overwrite

    class State(TypedDict):
        """Its annotation is a value of here, where LangGraph does not look for names."""

    State.__annotations__["messages"] = Annotated[
        list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=4)
    ]

    def answer(state: Any) -> dict[str, Any]:
        """Say how many messages there are, twice, as two messages of one write."""
        count = len(state["messages"])
        return {"messages": [AIMessage(f"That makes {count}."), AIMessage(f"Yes, {count}.")]}

    def second(state: Any) -> dict[str, Any]:
        """Speak in the same step as `answer`."""
        return {"messages": [HumanMessage("Meanwhile.", name="ines")]}

    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        graph = (
            StateGraph(State)
            .add_node("answer", answer).add_node("second", second)
            .add_edge(START, "answer").add_edge(START, "second")
            .compile(checkpointer=saver)
        )  # fmt: skip

        def say(thread: str, *texts: str, **how: Any) -> Any:
            config: Any = {"configurable": {"thread_id": thread}}
            for text in texts:
                graph.invoke({"messages": [HumanMessage(text, name="ines")]}, config, **how)
            return config

        config = say("changed", "One.", "Two.")
        first, *_, last = graph.get_state(config).values["messages"]
        graph.update_state(
            config,
            {"messages": [RemoveMessage(first.id), AIMessage("It was put right.", id=last.id)]},
            as_node="answer",
        )
        say(
            "long", *(f"Question {n}." for n in range(9))
        )  # several snapshots, and what came after the last one
        config = say("cleared", "One.", "Two.")
        graph.update_state(
            config,
            {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("Anew.")]},
            as_node="answer",
        )
        say("cleared", "Three.")
        config = say("overwritten", "One.", "Two.")
        graph.update_state(
            config, {"messages": Overwrite([HumanMessage("Only this.")])}, as_node="answer"
        )
        say("overwritten", "Three.")
        config = say("forked", "One.", "Two.", "Three.")
        earlier = [
            state for state in graph.get_state_history(config) if len(state.values["messages"]) == 4
        ][-1]
        graph.invoke({"messages": [HumanMessage("Two, otherwise.")]}, earlier.config)
        say("at once", "One.", "Two.", durability="exit")
        graph.invoke(
            {"messages": [("user", "A pair."), {"role": "user", "content": "An object."}]},
            say("raw", "One."),
        )
        threads = ("changed", "long", "cleared", "overwritten", "forked", "at once", "raw")
        states = {name: graph.get_state({"configurable": {"thread_id": name}}) for name in threads}
    return {name: messages_to_dict(state.values["messages"]) for name, state in states.items()}


@pytest.fixture(scope="module")
def foreign(database_url: str) -> Iterator[Foreign]:
    """A database with threads of a graph whose messages are a `DeltaChannel`."""
    dsn = new_database(database_url)
    yield Foreign(dsn, filled(dsn))
    drop_database(database_url, dsn)


def test_each_thread_has_the_messages_that_langgraph_says_it_has(
    make: Make, foreign: Foreign
) -> None:
    total = sum(map(len, foreign.said.values()))
    with make() as memory:
        assert counts(import_database(memory, foreign.dsn)) == [(total, 0, 0, 0)]
        assert counts(import_database(memory, foreign.dsn)) == [(0, 0, total, 0)]
        for thread, said in foreign.said.items():
            assert messages_to_dict(HTMChatMessageHistory(thread, memory).messages) == said, thread
        times = [
            mention.at for mention in memory_for(memory, user=None, session="long").log().tail()
        ]
        assert times == sorted(times)
        assert len(set(times)) == 18  # of each step one, in which two nodes spoke


def test_without_what_was_written_a_thread_is_left_out_and_named(
    make: Make, foreign: Foreign
) -> None:
    foreign.run("alter table checkpoint_writes rename to elsewhere")
    try:
        with make() as memory:
            [table] = import_database(memory, foreign.dsn, kinds=["langgraph-checkpoints"]).tables
        assert table.skipped + table.imported > 0
        assert all("checkpoint_writes is not there" in each.reason for each in table.examples)
        assert "long" in [each.where for each in table.examples]
    finally:
        foreign.run("alter table elsewhere rename to checkpoint_writes")


def test_an_encrypted_write_is_named_as_such(make: Make, foreign: Foreign) -> None:
    foreign.run(
        "update checkpoint_writes set type = 'msgpack+aes' where thread_id = 'raw' and channel = 'messages'"
    )
    try:
        with make() as memory:
            [table] = import_database(memory, foreign.dsn).tables
        assert [(each.where, "encrypted" in each.reason) for each in table.examples] == [
            ("raw", True)
        ]
        assert table.imported == sum(map(len, foreign.said.values())) - len(foreign.said["raw"])
    finally:
        foreign.run(
            "update checkpoint_writes set type = 'msgpack' where thread_id = 'raw' and channel = 'messages'"
        )


@pytest.mark.parametrize(
    "overwrite",
    [{"__overwrite__": ["b"]}, {"type": "__overwrite__", "value": ["b"]}],
    ids=["by a key", "by a type"],
)
def test_an_overwrite_that_came_over_http_begins_anew(overwrite: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    messages = DeltaMessages()
    for written in ("a", overwrite, ["c", ["assistant", "d"]]):
        messages.write(written)
    messages.reach(datetime(2026, 1, 4, tzinfo=UTC), None)
    assert [(each["type"], each["data"]["content"]) for each, _ in messages.messages()] == [
        ("human", "b"), ("human", "c"), ("ai", "d")
    ]  # fmt: skip
