"""A database that is far away, or slow: every message of a long run is stored, whatever that takes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from htm_core import Memory, Settings, shutdown
from htm_core.db.address import Address
from htm_core.memory import process
from htm_core.prompt import deadline, held
from htm_core.prompt.held import held_back
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
    return create_agent(
        model, [look], middleware=middleware, checkpointer=InMemorySaver() if saver else None
    )


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
        agent.invoke(said("Go on."), run) if colour == "invoke" else asyncio.run(
            agent.ainvoke(said("Go on."), run)
        )
        kept = make(user="ann").timeline(session="t1", limit=1_000)
        shutdown()
    assert len(kept) == 2 * STEPS + 2
    assert not [
        each
        for each in caplog.records
        if "could not be kept" in each.message or "without it" in each.message
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("delay", [0.03, 0.1])
def test_a_private_server_may_be_slow_too(
    make: Make,
    tenant: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    delay: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As on a disk that is: a run's messages are all stored."""
    monkeypatch.setenv("HTM_HOME", str(tmp_path))
    monkeypatch.delenv("HTM_DATABASE_URL", raising=False)
    settings = Settings(worker="off")
    memory = Memory("atlas", tenant=tenant, embedder=HashEmbedder(), settings=settings)
    try:
        memory.stats()  # starts the server
        with Proxy(memory._engine.database.dsn("htm_app").get_secret_value(), delay=delay) as proxy:
            memory._engine.database.close()
            port, given = conninfo_to_dict(proxy.dsn)["port"], Address.given_dsn

            def far(self: Address, role: str) -> SecretStr:
                return SecretStr(
                    make_conninfo(given(self, role).get_secret_value(), host="127.0.0.1", port=port)
                )

            with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "htm"):
                patch.setattr(Address, "given_dsn", far)
                agent = in_steps(memory, saver=True, timeout=10.0)
                agent.invoke(said("Go on."), {"recursion_limit": 200, **config()})
                assert proxy.trips > STEPS
                shutdown()
        kept = memory.of(user="ann").timeline(session="t1", limit=1_000)
        assert len(kept) == 2 * STEPS + 2
        assert not [
            each
            for each in caplog.records
            if "could not be kept" in each.message or "without it" in each.message
        ]
    finally:
        shutdown()


@tool
def archive(page: int) -> str:
    """Read a page of the archive, which is long."""
    return " ".join(
        f"On page {page}, line {line}, a ship came into harbour {line % 90}." for line in range(300)
    )


@pytest.mark.timeout(300)
def test_a_run_of_sixty_steps_with_large_results_is_stored_when_it_returns(
    make: Make, place: str, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    pages = [
        AIMessage("", tool_calls=[{"name": "archive", "args": {"page": page}, "id": f"c{page}"}])
        for page in range(60)
    ]
    with Proxy(place, delay=0.03) as proxy, caplog.at_level(logging.WARNING, "htm"):
        memory = [HTMMemoryMiddleware(distant(proxy.dsn, tenant), budget=4_000)]
        agent: Any = create_agent(scripted(*pages, then="Done."), [archive], middleware=memory)
        agent.invoke(said("Read the archive."), {"recursion_limit": 200, **config()})
        kept = make(user="ann").timeline(session="t1", limit=1_000)
        shutdown()
    assert [len(kept), kept[0].content, kept[-1].content] == [122, "Read the archive.", "Done."]
    assert kept[2].content == archive.invoke({"page": 0})
    assert not [
        each
        for each in caplog.records
        if "could not be kept" in each.message or "without it" in each.message
    ]


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


def test_a_process_that_ends_beside_a_silent_database_waits_once_and_says_how_much_is_not_written(
    make: Make,
    place: str,
    tenant: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(held, "ENDING", 2.0)
    monkeypatch.setattr(process, "ENDING", 2.0)
    with Proxy(place) as proxy, caplog.at_level(logging.WARNING, "htm"):
        memory = distant(proxy.dsn, tenant)
        memory.remember("There was an answer.")
        memory.stats()
        proxy.hang()
        for thread in ("t1", "t2"):
            in_steps(memory, saver=False, timeout=1.0).invoke(
                said("Go on."), {"recursion_limit": 200, **config(thread)}
            )
        began = time.monotonic()
        shutdown()
        took = time.monotonic() - began
        proxy.resume()
    assert (
        took < 12
    )  # and not the time of each thing that an ending process has to say to its database
    (told,) = [
        each.getMessage() for each in caplog.records if "before the end" in each.getMessage()
    ]
    assert told.startswith(f"{2 * (2 * STEPS + 2)} messages could not be written before the end")


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
    agent: Any = create_agent(
        scripted(calls("c1", "kitchen"), AIMessage("Done.")), [look], middleware=[middleware]
    )
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

    def unanswered(
        self: deadline.Deadline, work: Any, *, step: deadline.Step = "log", **options: Any
    ) -> Any:
        if step == "log" and next(broken, False):
            self._waited = 10.0
            raise TimeoutError("late")
        return run(self, work, step=step, **options)

    run = deadline.Deadline.run
    monkeypatch.setattr(deadline.Deadline, "run", unanswered)
    chain: Any = with_memory(scripted(then="Done."), memory)
    chain.invoke("Go on.", config())
    assert [each.content for each in memory.of(user="ann").timeline(session="t1")] == [
        "Go on.",
        "Done.",
    ]
    assert not held_back._writers
