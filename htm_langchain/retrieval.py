"""What memory adds to a question: asked once, within a time, as a run of its own in traces and event streams."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from htm_core import Memory, Recall, Scope

from .conversation import Conversation, Facts
from .failing import unrecalled
from .recalled_block import asks
from .retriever import documents
from .scope import scope_of

T = TypeVar("T")

# The name of a recall among the runs of a trace.
RUN: RunnableConfig = {"run_name": "htm_recall"}
# Recall looks this much further than its limit at most, for what the request shows anyway is left out.
LOOKED_PAST = 50
# So many recalls may be past their time and still unanswered; then the next ones fail at once.
MOST_LATE = 32

_late: set[threading.Thread] = set()


class TimelyRetriever(BaseRetriever):
    """Recall within a time; past `seconds` it is a `TimeoutError`, and what it asked is left to end by itself."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True)
    k: int
    scope: Scope | None
    min_score: float
    seconds: float | None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
    ) -> list[Document]:
        return documents(within(self.seconds, lambda: self._recall(query)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
    ) -> list[Document]:
        asked = self.memory.aio.recall(query, limit=self.k, scope=self.scope, min_score=self.min_score, hold=False)
        try:
            return documents(await asyncio.wait_for(asked, self.seconds))
        except TimeoutError as error:
            raise _too_late(self.seconds) from error

    def _recall(self, query: str) -> Recall:
        return self.memory.recall(query, limit=self.k, scope=self.scope, min_score=self.min_score, hold=False)

    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="htm", ls_vector_store_provider="htm")


@dataclass(frozen=True, slots=True)
class Asking:
    """How memory is asked: at most `limit` passages of at least `min_score`, within `seconds`; `restore` adds the log.

    Without a `scope` recall looks at everything of a user, and no further than the session where nobody is known.
    """

    limit: int
    min_score: float
    scope: Scope | None
    seconds: float | None
    restore: bool

    def facts(self, conversation: Conversation, messages: Sequence[AnyMessage]) -> Facts:
        """What memory adds to the last question of messages; asked once, however often this is."""
        question = question_in(messages)
        known = conversation.known(question)
        if known is None:
            before = self._before(conversation, messages)
            text, past = question[1], len(messages) + len(before)
            known = Facts(self.recalled(conversation.memory, text, past=past), before)
            conversation.asked = (question, known)
        return known

    async def afacts(self, conversation: Conversation, messages: Sequence[AnyMessage]) -> Facts:
        """`facts`, awaited."""
        question = question_in(messages)
        known = conversation.known(question)
        if known is None:
            before = await asyncio.to_thread(self._before, conversation, messages)
            text, past = question[1], len(messages) + len(before)
            known = Facts(await self.arecalled(conversation.memory, text, past=past), before)
            conversation.asked = (question, known)
        return known

    def recalled(self, memory: Memory, question: str, *, past: int = LOOKED_PAST) -> Sequence[Document]:
        """What memory knows, as the run `htm_recall`; up to `past` more than the limit, for what is shown anyway."""
        if not question.strip() or not self.limit:
            return ()
        try:
            return self._retriever(memory, past).invoke(question, RUN)
        except Exception as error:
            unrecalled(error)
            return ()

    async def arecalled(self, memory: Memory, question: str, *, past: int = LOOKED_PAST) -> Sequence[Document]:
        """`recalled`, awaited."""
        if not question.strip() or not self.limit:
            return ()
        try:
            return await self._retriever(memory, past).ainvoke(question, RUN)
        except Exception as error:
            unrecalled(error)
            return ()

    def _before(self, conversation: Conversation, messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
        if not self.restore:
            return ()
        try:
            return conversation.before(messages)
        except Exception as error:
            unrecalled(error)
            return ()

    def _retriever(self, memory: Memory, past: int) -> TimelyRetriever:
        return TimelyRetriever(
            memory=memory,
            k=self.limit + min(LOOKED_PAST, past),
            scope=scope_of(memory) if self.scope is None else self.scope,
            min_score=self.min_score,
            seconds=self.seconds,
        )


def question_in(messages: Sequence[BaseMessage]) -> tuple[object, str]:
    """What a person asked last, which may have no words, with what tells this asking from others.

    Where no person asks, as when tools' results are brought along alone, the first message tells it.
    """
    last = next((each for each in reversed(messages) if asks(each)), None)
    if last is None:
        return messages[0].id if messages else None, ""
    return last.id, str(last.text)


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """Do work in at most so many seconds; past them it goes on beside, unheard, and this raises `TimeoutError`."""
    if seconds is None:
        return work()
    _late.difference_update([each for each in list(_late) if not each.is_alive()])
    if len(_late) >= MOST_LATE:
        raise TimeoutError(f"expected earlier recalls to have ended, but {len(_late)} are past their time still")
    done: Future[T] = Future()

    def working() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(working,), name="htm-recall", daemon=True)
    thread.start()
    try:
        return done.result(timeout=seconds)
    except TimeoutError as error:
        if done.done():
            raise
        _late.add(thread)
        raise _too_late(seconds) from error


def _too_late(seconds: float | None) -> TimeoutError:
    return TimeoutError(
        f"expected recall to answer within {seconds:g} s; look at the database, or raise recall_timeout"
    )
