"""Keeping what is said: as a run of its own, so that a trace shows it, and when it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from .conversation import Conversation
from .failing import unkept

# The name of the run in a trace.
RUN = "htm_persist"


def keep(conversation: Conversation, messages: Sequence[BaseMessage]) -> None:
    """Save what is new among messages; what fails is logged, and is new the next time."""
    new = conversation.unsaid(messages)

    def save(_: dict[str, int]) -> None:
        conversation.save(new)

    if new:
        try:
            RunnableLambda(save, name=RUN).invoke({"messages": len(new)})
        except Exception as error:
            unkept(len(new), error)


async def akeep(conversation: Conversation, messages: Sequence[BaseMessage]) -> None:
    """`keep`, awaited."""
    new = conversation.unsaid(messages)

    async def save(_: dict[str, int]) -> None:
        await asyncio.to_thread(conversation.save, new)

    if new:
        try:
            await RunnableLambda(save, name=RUN).ainvoke({"messages": len(new)})
        except Exception as error:
            unkept(len(new), error)
