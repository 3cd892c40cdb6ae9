"""Saving what was said, as a run of its own, so that a trace shows it and shows when it failed."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from htm_core import DatabaseUnavailable, DimensionMismatch, SchemaOutdated
from htm_core.prompt.deadline import MemorySkipped

from .conversation import Conversation, Extent

_log = logging.getLogger("htm.langchain")

# The name of the run in a trace.
RUN = "htm_persist"


def persist(
    conversation: Conversation,
    messages: Sequence[BaseMessage],
    *,
    extent: Extent = "part",
    is_last: bool = False,
) -> None:
    """Save what is new among messages, within the turn's deadline. See `Conversation.save` for
    `extent`.

    `is_last` says that the turn ends with them: what is held back then has its time again.

    A failure is logged, and what failed is kept with the conversation's next message.
    """
    count = conversation.due(messages, extent)
    if is_last and (conversation.waiting or count):
        conversation.deadline.renew()
        count = count or len(conversation.waiting)

    def save(_: dict[str, int]) -> None:
        conversation.deadline.run(lambda: conversation.save(messages, extent))

    if count is not None:
        try:
            RunnableLambda(save, name=RUN).invoke({"messages": count})
        except Exception as error:
            _postpone(conversation, messages, extent, error)


async def apersist(
    conversation: Conversation,
    messages: Sequence[BaseMessage],
    *,
    extent: Extent = "part",
    is_last: bool = False,
) -> None:
    """`persist`, awaited."""
    count = conversation.due(messages, extent)
    if is_last and (conversation.waiting or count):
        conversation.deadline.renew()
        count = count or len(conversation.waiting)

    async def save(_: dict[str, int]) -> None:
        await conversation.deadline.arun(lambda: conversation.save(messages, extent))

    if count is not None:
        try:
            await RunnableLambda(save, name=RUN).ainvoke({"messages": count})
        except Exception as error:
            _postpone(conversation, messages, extent, error)


def brief(error: Exception) -> str:
    """An error for the log: the whole message when an administrator must act on it, else only its
    class.

    Other messages may quote what users said.
    """
    for_administrators = (
        DatabaseUnavailable | SchemaOutdated | DimensionMismatch | TimeoutError | MemorySkipped
    )
    return (
        str(error) if isinstance(error, for_administrators) and str(error) else type(error).__name__
    )


def _postpone(
    conversation: Conversation, messages: Sequence[BaseMessage], extent: Extent, error: Exception
) -> None:
    is_first = not conversation.waiting
    conversation.postpone(messages, extent)
    # Said once a turn, and once for each conversation while memory is left out.
    if not conversation.has_warned and (is_first or not isinstance(error, MemorySkipped)):
        conversation.has_warned = True
        _log.warning(
            "%d messages could not be kept (%s); the agent answers, and they are kept with its "
            "next message, or at the end",
            len(conversation.waiting),
            brief(error),
        )
