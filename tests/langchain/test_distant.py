"""A database that is far away, or slow: every message of a long run is stored, whatever that takes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from htm_core import Memory, Settings, shutdown
from htm_core.integration import deadline
from htm_core.integration.held import held_back
from htm_langchain import HTMMemoryMiddleware, with_memory
from tests.conftest import Make
from tests.langchain.models import scripted
from tests.langchain.test_middleware import calls, config, look, said
from tests.proxy import Proxy
from tests.stand_ins import HashEmbedder

STEPS = 20


@pytest.fixture
def place(make: Make) -> Iterator[str]:
    memory = make()
    memory.stats()  # opens the server
    yield memory._engine.database.dsn("htm_app").get_secret_value()
    shutdown()


def distant(dsn: str, tenant: str) -> Memory:
    settings = Settings(worker="off", pool_timeout=60.0, statement_timeout=60.0)
    return Memory("atlas", url=dsn, tenant=tenant, embedder=HashEmbedder(), settings=settings)


def in_steps(memory: Memory, *, saver: bool, timeout: float) -> Any:
    """An agent whose turn has so many calls of a tool."""
    model = scripted(*(calls(f"c{n}", "kitchen") for n in range(STEPS)), then="Done.")
    middleware = [HTMMemoryMiddleware(memory, timeout=timeout)]
    return create_agent(model, [look], middleware=middleware, checkpointer=InMemorySaver() if saver else None)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("delay", [0.03, 0.1])
@pytest.mark.parametrize("colour", ["invoke", "ainvoke"])
def test_every_message_of_a_long_run_is_stored_when_it_returns(
    make: Make, place: str, tenant: str, colour: str, delay: float, caplog: pytest.LogCaptureFixture
) -> None:
    """The run keeps for longer than `timeout`, and no step of the log for as long."""
    with Proxy(place, delay=delay) as proxy, caplog.at_level(logging.WARNING, "htm"):
        agent = in_steps(distant(proxy.dsn, tenant), saver=True, timeout=10.0)
        run: Any = {"recursion_limit": 200, **config()}
        agent.invoke(said("Go on."), run) if colour == "invoke" else asyncio.run(agent.ainvoke(said("Go on."), run))
        kept = make(user="ann").timeline(session="t1", limit=1_000)
        shutdown()
    assert len(kept) == 2 * STEPS + 2
    assert not [each for each in caplog.records if "could not be kept" in each.message or "without it" in each.message]


def test_what_is_held_back_is_written_when_the_process_ends(
    make: Make, place: str, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when nobody has the agent any more."""
    with Proxy(place) as proxy, caplog.at_level(logging.WARNING, "htm"):
        memory = distant(proxy.dsn, tenant)
        agent = in_steps(memory, saver=False, timeout=1.0)
        memory.stats()
        proxy.hang()
        agent.invoke(said("Go on."), {"recursion_limit": 200, **config()})
        del agent
        assert make(user="ann").timeline(session="t1") == []
        assert sum("could not be kept" in record.message for record in caplog.records) == 1
        proxy.resume()
        shutdown()
    kept = make(user="ann").timeline(session="t1", limit=1_000)
    assert [each.content for each in kept][:: 2 * STEPS + 1] == ["Go on.", "Done."]
    assert len(kept) == 2 * STEPS + 2


def test_a_step_that_was_late_holds_nothing_back_beyond_the_run(
    make: Make, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a step had no answer, the run's end writes what was held back, since the database answers again."""
    memory = make()
    middleware = HTMMemoryMiddleware(memory)
    broken = iter([True])

    def unanswered(self: deadline.Deadline, work: Any, **options: Any) -> Any:
        if next(broken, False):
            self._waited = 10.0
            raise TimeoutError("late")
        return run(self, work, **options)

    run = deadline.Deadline.run
    monkeypatch.setattr(deadline.Deadline, "run", unanswered)
    agent: Any = create_agent(scripted(calls("c1", "kitchen"), AIMessage("Done.")), [look], middleware=[middleware])
    agent.invoke(said("Go on."), config())
    kept = [each.content for each in memory.of(user="ann").timeline(session="t1")]
    assert kept == ["Go on.", "", "kitchen: 21 degrees", "Done."]
    assert not held_back._writers


def test_a_chain_holds_nothing_back_beyond_its_call_either(
    make: Make, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the question had no answer in time, the call's end writes it before the model's answer."""
    memory = make()
    broken = iter([True])

    def unanswered(self: deadline.Deadline, work: Any, *, step: deadline.Step = "log", **options: Any) -> Any:
        if step == "log" and next(broken, False):
            self._waited = 10.0
            raise TimeoutError("late")
        return run(self, work, step=step, **options)

    run = deadline.Deadline.run
    monkeypatch.setattr(deadline.Deadline, "run", unanswered)
    chain: Any = with_memory(scripted(then="Done."), memory)
    chain.invoke("Go on.", config())
    assert [each.content for each in memory.of(user="ann").timeline(session="t1")] == ["Go on.", "Done."]
    assert not held_back._writers
