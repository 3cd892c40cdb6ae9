"""The awaited verbs are the same verbs: from any event loop, one after another, many at once."""

from __future__ import annotations

import asyncio
import contextvars
import inspect

import pytest

from htm_core import InvalidInput, Memory
from htm_core.memory.aio import AsyncMemory


def test_every_verb_can_be_awaited(memory: Memory) -> None:
    async def use() -> list[str]:
        node = await memory.aio.remember("awaited", tags=["a"], key="k")
        await memory.aio.remember_many([{"content": "more"}])
        await memory.aio.revise("k", "awaited anew")
        assert (await memory.aio.get("k")).content == "awaited anew"
        assert len(await memory.aio.history("k")) == 2
        assert len(await memory.aio.timeline()) == 3
        assert len(await memory.aio.who_said("more")) == 1
        assert (await memory.aio.context(budget=100)).tokens <= 100
        await memory.aio.flush(10)
        await memory.aio.forget("k")
        await memory.aio.restore("k")
        assert (await memory.aio.stats()).mentions == 3
        assert await memory.aio.get(node.id)
        return [hit.content for hit in await memory.aio.recall("awaited anew", limit=1)]

    assert asyncio.run(use()) == ["awaited anew"]


def test_successive_event_loops_are_all_the_same_to_it(memory: Memory) -> None:
    for number in range(5):
        asyncio.run(memory.aio.remember(f"loop {number}"))
    assert len(memory.timeline()) == 5


def test_many_at_once_are_served(memory: Memory) -> None:
    async def many() -> None:
        await asyncio.gather(*(memory.aio.remember(f"at once {n}") for n in range(60)))
        answers = await asyncio.gather(*(memory.aio.recall(f"once {n}") for n in range(60)))
        assert all(answers)

    asyncio.run(many())
    assert memory.stats().nodes == 60


def test_errors_come_through(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        asyncio.run(memory.aio.remember(""))


def test_context_variables_are_carried_into_the_threads(make, memory: Memory) -> None:  # type: ignore[no-untyped-def]
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="none")
    seen: list[str] = []
    other = make("traced", on_event=lambda event: seen.append(variable.get()))

    async def traced() -> None:
        variable.set("here")
        await other.aio.remember("traced")

    asyncio.run(traced())
    assert seen == ["here"]


def test_a_time_out_stops_waiting_and_not_the_work(memory: Memory) -> None:
    async def hurried() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await memory.aio.remember("done all the same")

    asyncio.run(hurried())
    memory.remember("afterwards")
    assert {m.content for m in memory.timeline()} >= {"afterwards"}


def test_signatures_and_docstrings_are_those_of_the_blocking_verbs() -> None:
    for name in ("remember", "recall", "forget"):
        assert inspect.getdoc(getattr(AsyncMemory, name)) == inspect.getdoc(getattr(Memory, name))


def test_a_memory_can_be_entered_asynchronously(memory: Memory) -> None:
    async def within() -> int:
        async with memory.aio as twin:
            await twin.remember("inside")
            return len(await twin.timeline())

    assert asyncio.run(within()) == 1
