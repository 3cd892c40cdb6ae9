"""What a run streams of a thread in which several people speak names nobody but who has asked for it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from htm_langchain import HTMMemoryMiddleware
from htm_langchain.threads import new_note, note_of
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_resumed import CALL, approve

MODES = ("updates", "values", "tasks", "checkpoints", "debug", "custom")
CONFIG: Any = {"configurable": {"thread_id": "t1"}}


@dataclass
class Context:
    user_id: str


def named(user: str, how: str) -> dict[str, Any]:
    """What a run is given so that it works for a user."""
    if how == "configurable":
        return {"config": {"configurable": {"thread_id": "t1", "user_id": user}}}
    return {"config": CONFIG, "context": Context(user)}


def streamed(agent: Any, given: Any, *, is_awaited: bool, **run: Any) -> str:
    """All that a run streams of its state, in each of the modes that show it."""

    async def collected() -> list[Any]:
        return [each async for each in agent.astream(given, stream_mode=list(MODES), **run)]

    return repr(
        asyncio.run(collected())
        if is_awaited
        else list(agent.stream(given, stream_mode=list(MODES), **run))
    )


@pytest.mark.parametrize("is_awaited", [False, True], ids=["streamed", "awaited"])
@pytest.mark.parametrize("how", ["configurable", "context"])
def test_a_run_streams_no_other_users_id(make: Make, how: str, is_awaited: bool) -> None:
    agent: Any = create_agent(
        scripted(*[each for _ in range(3) for each in (CALL.model_copy(update={"id": None}), "Done.")]), [approve], middleware=[HTMMemoryMiddleware(make(), limit=0)], checkpointer=InMemorySaver(),
        context_schema=Context,
    )  # fmt: skip
    everybody = ("anneliese", "benedikt", "cornelia")
    for user in everybody:
        asked = streamed(
            agent, {"messages": [("user", "May I?")]}, is_awaited=is_awaited, **named(user, how)
        )
        assert "htm_thread" in asked
        assert not [other for other in everybody if other != user and other in asked]
        shown = streamed(agent, Command(resume="yes"), is_awaited=is_awaited, **named(user, how))
        assert "approved: yes" in shown
        assert not [other for other in everybody if other != user and other in shown]
    state = agent.get_state(CONFIG).values
    assert not [user for user in everybody if user in repr(state)]
    for user in everybody:
        said = [mention.content for mention in make(user=user).timeline(session="t1")]
        assert said.count("May I?") == 1, "each message is its speaker's all the same"


def test_a_turn_that_is_interrupted_still_knows_its_user(make: Make) -> None:
    agent: Any = create_agent(
        scripted(CALL.model_copy(update={"id": None}), "Done."), [approve], middleware=[HTMMemoryMiddleware(make(), limit=0)], checkpointer=InMemorySaver(),
        context_schema=Context,
    )  # fmt: skip
    agent.invoke({"messages": [("user", "May I?")]}, CONFIG, context=Context("anneliese"))
    agent.invoke(Command(resume="yes"), CONFIG)
    said = [mention.content for mention in make(user="anneliese").timeline(session="t1")]
    assert said == ["May I?", "", "approved: yes", "Done."]


def test_a_thread_noted_by_0_1_with_names_goes_on() -> None:
    note = new_note("ann").spoken_by("ben", "m3", None)
    old: dict[str, Any] = note.to_state() | {"speakers": [["ann", ""], ["ben", "m3"]]}
    del old["user"]
    assert note_of({"htm_thread": old}) == note
