"""The ways to call a chat engine: awaited or not, streamed or not, within a running event loop or without."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

Way = Callable[[Any, str], str]


def chat(engine: Any, question: str) -> str:
    return str(engine.chat(question).response)


def stream_chat(engine: Any, question: str) -> str:
    return "".join(engine.stream_chat(question).response_gen)


def achat(engine: Any, question: str) -> str:
    async def ask() -> str:
        return str((await engine.achat(question)).response)

    return asyncio.run(ask())


def astream_chat(engine: Any, question: str) -> str:
    async def ask() -> str:
        streamed = await engine.astream_chat(question)
        return "".join([part async for part in streamed.async_response_gen()])

    return asyncio.run(ask())


def within_a_running_loop(way: Way) -> Way:
    """As notebooks do it: a blocking call on the thread of an event loop that runs."""

    def called(engine: Any, question: str) -> str:
        async def ask() -> str:
            return way(engine, question)

        return asyncio.run(ask())

    return called


# Each awaited one is an event loop of its own, so two questions are two loops one after the other.
WAYS: dict[str, Way] = {
    "chat": chat,
    "stream_chat": stream_chat,
    "achat": achat,
    "astream_chat": astream_chat,
    "chat in a loop": within_a_running_loop(chat),
    "stream_chat in a loop": within_a_running_loop(stream_chat),
}
