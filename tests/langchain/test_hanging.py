"""A database that hangs: a turn waits for it once, the next ones do not, and nothing that is said is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from htm_core import Memory, Settings, shutdown
from htm_core.prompt import deadline
from htm_langchain import HTMMemoryMiddleware, with_memory
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_middleware import Runs
from tests.proxy import Proxy
from tests.stand_ins import HashEmbedder

CONFIG: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}
TIMEOUT = 3.0
# What a turn without memory may take on a busy machine.
QUICK = 2.5


@pytest.fixture
def network(make: Make) -> Iterator[Proxy]:
    memory = make()
    memory.stats()  # opens the server
    with Proxy(memory._engine.database.dsn("htm_app").get_secret_value()) as proxy:
        yield proxy
        shutdown()


@pytest.fixture
def remote(network: Proxy, tenant: str) -> Memory:
    """A memory behind a network that may hang, with the database's own time limits far away."""
    settings = Settings(worker="off", pool_timeout=60.0, statement_timeout=60.0)
    return Memory(
        "atlas", url=network.dsn, tenant=tenant, embedder=HashEmbedder(), settings=settings
    )


Turn = Callable[[str, Any], None]


def agent(memory: Memory, *, saver: bool) -> Turn:
    made = create_agent(
        scripted(), middleware=[HTMMemoryMiddleware(memory, timeout=TIMEOUT)],
        checkpointer=InMemorySaver() if saver else None,
    )  # fmt: skip
    return lambda words, config: made.invoke({"messages": [("user", words)]}, config)


def awaited_agent(memory: Memory) -> Turn:
    made = create_agent(scripted(), middleware=[HTMMemoryMiddleware(memory, timeout=TIMEOUT)])
    return lambda words, config: asyncio.run(made.ainvoke({"messages": [("user", words)]}, config))


def chain(memory: Memory) -> Turn:
    made = with_memory(scripted(), memory, timeout=TIMEOUT)
    return lambda words, config: made.invoke(words, config)


WAYS: dict[str, Callable[[Memory], Turn]] = {
    "agent with a checkpointer": lambda memory: agent(memory, saver=True),
    "agent without a checkpointer": lambda memory: agent(memory, saver=False),
    "awaited agent": awaited_agent,
    "chain": chain,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("way", WAYS)
def test_a_database_that_hangs_costs_one_turn_its_time_and_no_words(
    remote: Memory, network: Proxy, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    turn = WAYS[way](remote)
    turn("one", CONFIG)
    network.hang()
    took = []
    trace = Runs()
    with caplog.at_level(logging.WARNING, "htm"):
        for words in ("two", "three", "four"):
            began = time.monotonic()
            turn(words, CONFIG | {"callbacks": [trace]})
            took.append(time.monotonic() - began)
    assert TIMEOUT * 0.8 < took[0] < TIMEOUT + QUICK
    assert max(took[1:]) < QUICK
    assert {"htm_recall", "htm_persist"} <= set(trace.failed)
    assert sum("turns go on without it" in record.message for record in caplog.records) == 1
    network.resume()
    deadline.breaker_of(remote, "log")._until = time.monotonic()  # the pause is over
    turn("five", CONFIG)
    kept = remote.of(user="ann").timeline(session="t1")
    assert [mention.content for mention in kept] == [
        words for each in ("one", "two", "three", "four", "five") for words in (each, "Noted.")
    ]
    assert len(remote.of(user="ann").log("t1").tail()) == 10


@pytest.mark.timeout(120)
def test_a_palace_that_hangs_is_left_out_of_the_turn_too(remote: Memory, network: Proxy) -> None:
    from htm_core import Ungrounded
    from htm_core.palace import Palace

    def made(enforce: Any) -> Any:
        memory = HTMMemoryMiddleware(
            remote, timeout=TIMEOUT, palace=Palace(remote), enforce=enforce
        )
        return create_agent(scripted(), middleware=[memory])

    advises, strict = made("advise"), made("strict")
    advises.invoke({"messages": [("user", "What did I say about Lisbon?")]}, CONFIG)
    network.hang()
    for most in (TIMEOUT + QUICK, QUICK):
        began = time.monotonic()
        advises.invoke({"messages": [("user", "What did I say about Porto?")]}, CONFIG)
        assert time.monotonic() - began < most
    with pytest.raises(Ungrounded, match="consulted before an answer"):
        strict.invoke({"messages": [("user", "What did I say about Faro?")]}, CONFIG)
