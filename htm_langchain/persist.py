"""Saving what was said, as a run of its own, so that a trace shows it and shows when it failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from htm_core import DatabaseUnavailable, DimensionMismatch, SchemaOutdated

from .conversation import Conversation

_log = logging.getLogger("htm.langchain")

# The name of the run in a trace.
RUN = "htm_persist"


def persist(conversation: Conversation, messages: Sequence[BaseMessage]) -> None:
    """Save what is new among messages; a failure is logged, and what failed is new the next time."""
    new = conversation.unsaved(messages)

    def save(_: dict[str, int]) -> None:
        conversation.save(new)

    if new:
        try:
            RunnableLambda(save, name=RUN).invoke({"messages": len(new)})
        except Exception as error:
            _log_unsaved(len(new), error)


async def apersist(conversation: Conversation, messages: Sequence[BaseMessage]) -> None:
    """`persist`, awaited."""
    new = conversation.unsaved(messages)

    async def save(_: dict[str, int]) -> None:
        await asyncio.to_thread(conversation.save, new)

    if new:
        try:
            await RunnableLambda(save, name=RUN).ainvoke({"messages": len(new)})
        except Exception as error:
            _log_unsaved(len(new), error)


def brief(error: Exception) -> str:
    """An error for the log: the whole message when an administrator must act on it, else only its class.

    Other messages may quote what users said.
    """
    for_administrators = DatabaseUnavailable | SchemaOutdated | DimensionMismatch | TimeoutError
    return str(error) if isinstance(error, for_administrators) and str(error) else type(error).__name__


def _log_unsaved(count: int, error: Exception) -> None:
    _log.warning(
        "%d messages could not be kept (%s); the agent answers, and they are kept with its next message",
        count,
        brief(error),
    )
