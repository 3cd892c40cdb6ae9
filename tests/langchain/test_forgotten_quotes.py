"""What an agent's recall tool has shown of a memory is shown no more once the memory is forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import scripted, texts

NUMBER = "My phone number is zqxvorb seventy."


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"{name}-1"}])


@pytest.mark.parametrize("has_saver", [False, True])
def test_what_the_recall_tool_showed_goes_with_what_was_forgotten(
    make: Make, has_saver: bool
) -> None:
    with make(user="carla") as memory:
        node = memory.remember(NUMBER, session="c1", role="user")
        other = memory.remember(
            "My phone is a red one, of the zzz kind.", session="c1", role="user"
        )
        model = scripted(
            call("recall", query="phone"), call("forget", memory_id=node.id), "Forgotten."
        )
        agent = create_agent(
            model,
            middleware=[HTMMemoryMiddleware(memory, budget=8_000, tools=("recall", "forget"))],
            checkpointer=InMemorySaver() if has_saver else None,
        )
        config: Any = {"configurable": {"thread_id": "c3"}}
        agent.invoke({"messages": [("user", "Please forget my phone number.")]}, config)
        assert "zqxvorb" in " ".join(texts(model.seen[1])), "the model has seen it, and its id"
        assert "zqxvorb" not in " ".join(texts(model.seen[2])), (
            "after it was forgotten it is not shown again"
        )
        assert other.content in " ".join(texts(model.seen[2])), "what was not forgotten is"
        memory.purge(timedelta(seconds=-1), confirm="confirmed")
        agent.invoke({"messages": [("user", "Thanks.")]}, config)
        [*_, last] = model.seen
        assert "Thanks." in texts(last)[-1]
        assert "zqxvorb" not in " ".join(texts(last))
        kept = b"".join(each.payload or b"" for each in memory.of(session="c3").log("c3").tail())
        assert has_saver or b"zqxvorb" not in kept
