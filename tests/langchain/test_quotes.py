"""What a tool of memory quotes is shown to the model that asked, and stands nowhere else: no `forget` has to look for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from htm_core.db.database import Database
from htm_langchain import HTMMemoryMiddleware
from htm_langchain.messages import message_of
from tests.conftest import Make
from tests.langchain.models import scripted, texts

NUMBER = "61778899"


def calling(name: str, **given: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"call-{name}"}])


def config(thread: str) -> Any:
    return {"configurable": {"user_id": "carla", "thread_id": thread}}


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["log", "checkpointer"])
def test_what_was_forgotten_is_in_no_later_request_and_purged_from_the_log(
    make: Make, database: Database, tenant: str, saver: InMemorySaver | None
) -> None:
    with make() as memory:
        told = memory.of(user="carla", session="c1").remember(
            f"My phone number is {NUMBER}.", role="user"
        )
        memory.flush()
        model = scripted(
            calling("recall", query="phone number"),
            calling("forget", memory_id=told.id),
            "Forgotten.",
        )
        middleware = HTMMemoryMiddleware(memory, tools=("recall", "remember", "forget"))
        agent = create_agent(model, middleware=[middleware], checkpointer=saver)
        agent.invoke({"messages": [("user", "Please forget it.")]}, config("c3"))
        assert any(NUMBER in text for text in texts(model.seen[1])), (
            "the model that asked was shown what it asked for"
        )
        memory.of(user="carla").purge(timedelta(0), confirm="confirmed")
        for thread in ("c3", "c4"):
            agent.invoke({"messages": [("user", "Thanks. What is my number?")]}, config(thread))
            assert not any(NUMBER in text for text in texts(model.seen[-1]))
        with database.owner() as connection:
            for table in ("mentions", "nodes", "passages"):
                rows = connection.execute(f"select t.*::text as row from {table} t").fetchall()  # type: ignore[arg-type]
                assert rows is not None
                assert not [
                    row for row in rows if NUMBER in str(row) or NUMBER.encode().hex() in str(row)
                ], table


def test_a_result_that_quotes_nothing_is_kept_as_it_is(make: Make) -> None:
    with make() as memory:
        model = scripted(calling("remember", content="Ann sails."), "Noted.")
        agent = create_agent(model, middleware=[HTMMemoryMiddleware(memory, tools=("remember",))])
        agent.invoke({"messages": [("user", "Note that Ann sails.")]}, config("c5"))
        entries = memory.of(user="carla", session="c5").log().entries()
        assert any(str(message_of(said).text).startswith("Remembered [") for _, said in entries)
