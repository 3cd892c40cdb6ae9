"""A database that is far away: what is said in a chat of several turns, and in an agent's steps, is all stored."""

from __future__ import annotations

import asyncio
import logging

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine

from htm_core import shutdown
from htm_llamaindex import HTMMemory
from tests.conftest import Make
from tests.langchain.test_distant import distant, place
from tests.llamaindex.models import Scripted, calls
from tests.proxy import Proxy

__all__ = ["place"]

TURNS, STEPS = 8, 12


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """What other tests of this process could not write is complained of before, not in these."""
    shutdown()


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said of messages that are not stored, or of memory that is left out."""
    return [
        each.getMessage()
        for each in caplog.records
        if each.name in ("htm.llamaindex", "htm.deadline") and "user" not in each.msg
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("delay", [0.03, 0.1])
def test_every_turn_of_a_chat_is_stored_and_shown(
    make: Make, place: str, tenant: str, delay: float, caplog: pytest.LogCaptureFixture
) -> None:
    model = Scripted("Noted.")
    with Proxy(place, delay=delay) as proxy, caplog.at_level(logging.WARNING, "htm"):
        chat = HTMMemory.from_defaults("s1", distant(proxy.dsn, tenant), user="ann")
        engine = SimpleChatEngine.from_defaults(llm=model.llm, memory=chat)
        for turn in range(TURNS):
            engine.chat(f"Ship {turn} came into the harbour.")
        shutdown()
    assert all(f"Ship {turn} came" in model.last for turn in range(TURNS))
    kept = [mention.content for mention in make(user="ann").timeline(session="s1")]
    assert kept == [
        words
        for turn in range(TURNS)
        for words in (f"Ship {turn} came into the harbour.", "Noted.")
    ]
    assert complaints(caplog) == []


@pytest.mark.timeout(300)
def test_every_step_of_an_agent_is_stored(
    make: Make, place: str, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    def weather(place: str) -> str:
        """The weather of a place."""
        return f"{place}: sun"

    model = Scripted(
        *(calls("weather", id=f"c{n}", place=f"port {n}") for n in range(STEPS)), "Done."
    )
    with Proxy(place, delay=0.1) as proxy, caplog.at_level(logging.WARNING, "htm"):
        chat = HTMMemory.from_defaults("s1", distant(proxy.dsn, tenant), user="ann")

        async def run() -> None:
            await FunctionAgent(tools=[weather], llm=model.llm, streaming=False).run(
                user_msg="Look at all ports.", memory=chat, max_iterations=100
            )

        asyncio.run(run())
        shutdown()
    kept = [mention.content for mention in make(user="ann").log("s1").tail()]
    assert [kept[0], kept[-1], len(kept)] == ["Look at all ports.", "Done.", 2 * STEPS + 2]
    assert complaints(caplog) == []
