"""Runs that go on from an earlier checkpoint of their thread: the log goes the way that the thread has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from htm_langchain import HTMMemoryMiddleware
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_resumed import CALL, CONFIG, approve


def at(state: Any) -> Any:
    return {
        "configurable": {
            **CONFIG["configurable"],
            "checkpoint_id": state.config["configurable"]["checkpoint_id"],
        }
    }


@pytest.fixture(params=["one middleware", "a middleware each"])
def middleware(request: pytest.FixtureRequest, make: Make) -> Callable[[], HTMMemoryMiddleware]:
    """The same one, or one that knows nothing of the runs before, as in another process."""
    one = HTMMemoryMiddleware(make(), limit=0)
    return (
        (lambda: one)
        if request.param == "one middleware"
        else lambda: HTMMemoryMiddleware(make(), limit=0)
    )


@pytest.mark.parametrize("is_awaited", [False, True], ids=["invoked", "awaited"])
def test_the_log_is_the_thread_after_each_run_from_an_earlier_checkpoint(
    make: Make, middleware: Callable[[], HTMMemoryMiddleware], is_awaited: bool
) -> None:
    saver = InMemorySaver()

    def agent(*answers: Any) -> Any:
        return create_agent(
            scripted(*answers), [approve], middleware=[middleware()], checkpointer=saver
        )

    def run(answer: Any, given: Any, config: Any = CONFIG) -> list[str]:
        if is_awaited:
            asyncio.run(agent(answer).ainvoke(given, config))
        else:
            agent(answer).invoke(given, config)
        thread = [message.text for message in agent().get_state(CONFIG).values["messages"]]
        assert [mention.content for _, mention in make(user="ann").log("t1").entries()] == thread
        return thread

    def checkpoint(last: str) -> Any:
        """The newest checkpoint of the thread that has just this as its last message."""
        states = agent().get_state_history(CONFIG)
        return next(
            at(each)
            for each in states
            if [m.text for m in each.values.get("messages", [])][-1:] == [last]
        )

    assert run(CALL.model_copy(update={"id": None}), {"messages": [("user", "May I go?")]}) == [
        "May I go?",
        "",
    ]
    asked = checkpoint("")
    assert run("Yes, go.", Command(resume="yes"), asked)[3:] == ["Yes, go."]
    assert run("No, stay.", Command(resume="no"), asked)[3:] == ["No, stay."]
    assert run("Fine.", {"messages": [("user", "And now?")]})[4:] == ["And now?", "Fine."]
    assert run("Forked.", {"messages": [("user", "Another way?")]}, checkpoint("No, stay."))[
        4:
    ] == [
        "Another way?",
        "Forked.",
    ]
    assert run("Again.", None, checkpoint("And now?"))[4:] == ["And now?", "Again."]
    assert run("Bye.", {"messages": [("user", "Thanks.")]}, checkpoint("Fine."))[4:] == [
        "And now?",
        "Fine.",
        "Thanks.",
        "Bye.",
    ]
    said = [mention.content for mention in make(user="ann").timeline(session="t1")]
    assert {"Yes, go.", "Forked.", "Again."} < set(said), "memory keeps the other ways"
