"""A database that is far away: a turn waits for few round trips to it, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from htm_core import Memory, Settings, shutdown
from htm_core.engine.write_behind import WriteBehind
from htm_core.prompt import profile_block
from htm_langchain import HTMMemoryMiddleware, with_memory
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_middleware import calls, config, look, said
from tests.proxy import Proxy
from tests.stand_ins import HashEmbedder

# Messages to the server, each of which waits for its answer, at most.
TURN, STEP = 9, 6

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("HTM_TEST_USER_WALLS") == "1",
        reason="behind the wall each transaction has a message more",
    ),
    pytest.mark.skipif(
        os.environ.get("HTM_TEST_CITUS") == "1",
        reason="on a cluster the url is not the tables' node",
    ),
]


@pytest.fixture
def network(make: Make, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A network between this process and the server, where nothing is written in the background: nobody waits for that."""
    memory = make()
    memory.stats()  # opens the server
    monkeypatch.setattr(WriteBehind, "wake", lambda self: None)
    with Proxy(memory._engine.database.dsn("htm_app").get_secret_value()) as proxy:
        yield proxy
        shutdown()


@pytest.fixture
def far(network: Proxy, tenant: str) -> Memory:
    """A memory whose vectors are made by recall alone, which is what most round trips a turn can need."""
    return Memory(
        "atlas",
        url=network.dsn,
        tenant=tenant,
        embedder=HashEmbedder(),
        settings=Settings(worker="off"),
    )


def trips(network: Proxy, work: Any) -> int:
    before = network.trips
    work()
    return network.trips - before


def turn(
    memory: HTMMemoryMiddleware, words: str, *, saver: Any, steps: int = 0, answer: str = "Noted."
) -> None:
    model = scripted(*(calls(f"{words} {n}", "kitchen") for n in range(steps)), then=answer)
    agent: Any = create_agent(model, [look], middleware=[memory], checkpointer=saver)
    agent.invoke(said(words), config())


QUESTIONS = [
    "Where does my boat lie?", "What is my boat called?", "Where does my boat lie?", "I have bought a second one, a red dinghy.",
    "Which of my boats is red?",
]  # fmt: skip


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
@pytest.mark.parametrize("answers", ["always the same", "each time another"])
def test_a_warm_turn_of_an_agent_waits_for_nine_answers_of_the_server(
    network: Proxy, far: Memory, saver: bool, answers: str
) -> None:
    middleware, checkpointer = HTMMemoryMiddleware(far), InMemorySaver() if saver else None
    turn(middleware, "My boat is called Selene and lies in Kiel.", saver=checkpointer)
    took = []
    for n, words in enumerate(QUESTIONS):
        answer = "Noted." if answers == "always the same" else f"It lies in Kiel, on berth {n}."
        took.append(
            trips(network, partial(turn, middleware, words, saver=checkpointer, answer=answer))
        )
    assert max(took) <= TURN


@pytest.mark.usefixtures("real_embedder")
def test_a_turn_that_reads_what_is_known_of_its_user_again_waits_for_no_more(
    network: Proxy, far: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a minute; the vectors of what was said in the turn before were made meanwhile."""
    monkeypatch.setattr(profile_block, "BELIEVED", 0.0)
    middleware, checkpointer = HTMMemoryMiddleware(far), InMemorySaver()
    turn(middleware, "My name is Ann, and my boat is called Selene.", saver=checkpointer)
    took = []
    for n, words in enumerate(QUESTIONS):
        far.of(user="ann").recall("boat", hold=False)
        took.append(
            trips(
                network, partial(turn, middleware, words, saver=checkpointer, answer=f"Noted: {n}.")
            )
        )
    assert max(took) <= TURN
    assert far.of(user="ann").profile().lines


@pytest.mark.parametrize("saver", [True, False], ids=["checkpointer", "no checkpointer"])
def test_a_step_with_a_tool_waits_for_half_a_dozen_more(
    network: Proxy, far: Memory, saver: bool
) -> None:
    middleware, checkpointer = HTMMemoryMiddleware(far), InMemorySaver() if saver else None
    turn(middleware, "My boat is called Selene and lies in Kiel.", saver=checkpointer)
    for steps in (1, 5):
        words = f"Look into the kitchen {steps} times for the boat."
        took = trips(network, partial(turn, middleware, words, saver=checkpointer, steps=steps))
        assert took <= TURN + steps * STEP


def test_a_chain_waits_for_no_more_than_an_agent(network: Proxy, far: Memory) -> None:
    chain = with_memory(scripted(), far)
    chain.invoke("My boat is called Selene and lies in Kiel.", config())
    assert (
        max(trips(network, partial(chain.invoke, words, config())) for words in QUESTIONS) <= TURN
    )


def test_to_remember_and_to_recall_are_two_round_trips_each(network: Proxy, far: Memory) -> None:
    far.remember("My boat is called Selene.")
    far.recall("boat", hold=False)  # makes its vector
    far.recall("boat", hold=False)
    assert trips(network, lambda: far.recall("How is my boat called?", hold=False)) == 2
    assert trips(network, lambda: far.remember("It lies in Kiel.")) == 2
    assert trips(network, lambda: far.remember("My boat is called Selene.")) == 2
    assert (
        trips(
            network,
            lambda: far.remember_many([{"content": f"It was in port {n}."} for n in range(30)]),
        )
        == 2
    )
    assert (
        trips(network, lambda: far.log("s1").append([{"content": "It is blue.", "id": "m1"}])) == 2
    )
    assert trips(network, lambda: far.log("s1").entries()) == 1
