"""Queries of a question to memory: the question itself, or what a `rewrite=` callable
makes of it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableLambda

from htm_core.prompt.deadline import awithin, within
from htm_core.prompt.follow_ups import fused
from htm_core.prompt.hit_metadata import KEY

from .retriever import OVERVIEW

_log = logging.getLogger("htm.langchain")

# What a callable of the question and the messages answers: a query, several, or None for the
# question as it is.
Written: TypeAlias = str | Sequence[str] | None
Rewrite: TypeAlias = Callable[[str, Sequence[AnyMessage]], Written | Awaitable[Written]]

# The name of the run in a trace.
RUN = "htm_rewrite"
# Memory is asked no more queries for one question.
MAX_QUERIES = 8
# Seconds to wait for a coroutine where a turn has no limit.
LONGEST = 3_600.0


def queries_of(
    rewrite: Rewrite, question: str, messages: Sequence[AnyMessage], *, seconds: float | None
) -> Sequence[str]:
    """The queries for a question, as the run `htm_rewrite`; the question itself when rewriting
    fails or takes too long.
    """

    def write() -> Written:
        """Call it; a coroutine runs on an event loop of its own, in the thread that
        waits for it.
        """
        answer = rewrite(question, messages)
        return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer

    def write_in_time(_: str) -> Written:
        """Call it within its time."""
        return within(
            LONGEST if seconds is None else seconds, write, client=("rewrite", id(rewrite))
        )

    try:
        answer = RunnableLambda(write_in_time, name=RUN).invoke(question)
    except Exception as error:  # another's code may raise anything
        return _failed(error, question)
    return _checked(answer, question)


async def aqueries_of(
    rewrite: Rewrite, question: str, messages: Sequence[AnyMessage], *, seconds: float | None
) -> Sequence[str]:
    """`queries_of`, awaited: a coroutine runs on this event loop, another callable in a thread."""

    async def write(_: str) -> Written:
        """Call it within its time."""
        called = getattr(rewrite, "__call__", None)  # noqa: B004 - asks whether calling it awaits
        if inspect.iscoroutinefunction(rewrite) or inspect.iscoroutinefunction(called):
            async with asyncio.timeout(seconds):
                return await cast(Awaitable[Written], rewrite(question, messages))
        answer = await awithin(
            seconds, lambda: rewrite(question, messages), client=("rewrite", id(rewrite))
        )
        async with asyncio.timeout(seconds):
            return await answer if inspect.isawaitable(answer) else answer

    try:
        answer = await RunnableLambda(write, name=RUN).ainvoke(question)
    except Exception as error:
        return _failed(error, question)
    return _checked(answer, question)


def best_of(results: Sequence[Sequence[Document]]) -> Sequence[Document]:
    """Merge the results of several queries, each memory once: first what stands high for most of
    them.

    Where one of them asked for an overview, it is that: its messages stand in their order.
    """
    if len(results) == 1:
        return results[0]
    for documents in results:
        if documents and OVERVIEW in documents[0].metadata[KEY]:
            return documents
    return fused(results, id_of=lambda document: document.id, worth=_worth)


def _worth(document: Document) -> tuple[float, float]:
    about = document.metadata[KEY]
    return about["relevance"], about["score"]


async def _awaited(answer: Awaitable[Written]) -> Written:
    return await answer


def _checked(answer: Any, question: str) -> Sequence[str]:
    written = (answer,) if isinstance(answer, str) else answer
    if written is None:
        return [question]
    if not isinstance(written, list | tuple) or not all(isinstance(each, str) for each in written):
        _log.warning(
            "rewrite= was expected to answer a text, a list of texts or None, got %s; the "
            "question itself is asked",
            type(answer).__name__,
        )
        return [question]
    queries = list(dict.fromkeys(each for each in written if each.strip()))
    return queries[:MAX_QUERIES] or [question]


def _failed(error: Exception, question: str) -> Sequence[str]:
    _log.warning("rewrite= failed (%s); the question itself is asked", type(error).__name__)
    return [question]
