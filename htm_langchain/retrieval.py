"""Recall for a question: once, within a time, as a run of its own in traces."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from htm_core import Memory, Recall, Scope
from htm_core.prompt.choices import LARGEST_LIMIT, Choices, MemoryFilters, check_choices
from htm_core.prompt.deadline import Deadline, MemorySkipped
from htm_core.prompt.follow_ups import SENT_AT_ONCE, SaidBefore, asks_further, in_full
from htm_core.prompt.messages import storable_name
from htm_core.prompt.option_names import part
from htm_core.prompt.origin import check_min_trust, trusted
from htm_core.prompt.overview import recall_or_overview
from htm_core.prompt.profile_block import forgettings, is_shown_with
from htm_core.prompt.recalled_block import EXTRA_HITS
from htm_core.prompt.scope import scope_of

from .conversation import Conversation, TurnContext
from .messages import is_from_person, words_of
from .option_sets import PromptOptions
from .options import (
    SCOPES,
    check_choice,
    check_recall_limit,
    check_rewrite,
    check_score,
    check_timeout,
)
from .persist import brief
from .retriever import documents
from .rewriting import Rewrite, aqueries_of, best_of, queries_of
from .scope import chosen

_log = logging.getLogger("htm.langchain")

# The name of a recall among the runs of a trace.
RUN: RunnableConfig = {"run_name": "htm_recall"}


@dataclass(frozen=True, slots=True)
class PromptRecall:
    """Recall for a prompt, by `choices`, with at least `min_score` and `min_trust`, within
    `timeout` seconds.

    Without a `scope` recall looks at everything of a known user, and only at the session where no
    user is known. `restore` adds what the log has from before. `rewrite` writes the queries;
    without it, a question that leans on earlier ones is asked with these. Recall never raises: what
    fails is logged, and nothing is added.
    """

    choices: Choices
    min_score: float
    scope: Scope | None
    timeout: float | None
    restore: bool
    rewrite: Rewrite | None = None
    min_trust: int = 0
    profile_budget: int = 0

    def of_run(self, runtime: Any) -> PromptRecall:
        """This recall, narrowed by what a run chooses; raises `InvalidInput` for what recall would
        refuse.
        """
        return replace(self, choices=chosen(runtime, self.choices))

    def context(
        self,
        conversation: Conversation,
        messages: Sequence[AnyMessage],
        *,
        began_with: str | None = None,
        restores: bool = True,
    ) -> TurnContext:
        """Return what memory adds to the last question among messages; recalled once, however often
        this is called.

        `began_with` is the message with which the messages' thread began, where the log is shown
        before it. `restores` is false where the messages are all that the thread is to have.
        """
        key, question = last_question(messages)
        of = (key, question, self.choices, forgettings(conversation.memory))
        known = conversation.known(of)
        if known is None:
            earlier: Sequence[AnyMessage] = ()
            boundary = self._boundary(conversation, messages, began_with) if restores else None
            if boundary is not None:
                try:
                    earlier = conversation.deadline.run(lambda: conversation.earlier(boundary))
                except Exception as error:
                    _nothing(error)
            extra, deadline = len(messages) + len(earlier), conversation.deadline
            recalled = self.recall(
                conversation.memory, question, [*earlier, *messages], extra=extra, deadline=deadline
            )
            if read := self._profile_to_read(conversation):
                try:
                    deadline.run(read, step="recall")
                except Exception as error:
                    _nothing(error)
            asked = self.asked(question, [*earlier, *messages])
            known = TurnContext(
                recalled,
                earlier,
                self.choices.limit,
                shows_profile=self.shows_profile,
                question=asked,
            )
            conversation.last = (of, known)
        return known

    def _profile_to_read(self, conversation: Conversation) -> Callable[[], None] | None:
        """Return a function that reads the user's profile, where that is due; else None."""
        outgrown = conversation.outgrown
        return (
            conversation.profile.reader(conversation.memory, outgrown=outgrown, again=outgrown)
            if self.shows_profile
            else None
        )

    @property
    def shows_profile(self) -> bool:
        """True if a request shows what is known of the user: not where recall is kept to a session,
        or narrowed.
        """
        return self.profile_budget > 0 and self.scope != "session" and is_shown_with(self.choices)

    async def acontext(
        self,
        conversation: Conversation,
        messages: Sequence[AnyMessage],
        *,
        began_with: str | None = None,
        restores: bool = True,
    ) -> TurnContext:
        """`context`, awaited."""
        key, question = last_question(messages)
        of = (key, question, self.choices, forgettings(conversation.memory))
        known = conversation.known(of)
        if known is None:
            earlier: Sequence[AnyMessage] = ()
            boundary = self._boundary(conversation, messages, began_with) if restores else None
            if boundary is not None:
                try:
                    earlier = await conversation.deadline.arun(
                        lambda: conversation.earlier(boundary)
                    )
                except Exception as error:
                    _nothing(error)
            extra, deadline = len(messages) + len(earlier), conversation.deadline
            recalled = await self.arecall(
                conversation.memory, question, [*earlier, *messages], extra=extra, deadline=deadline
            )
            if read := self._profile_to_read(conversation):
                try:
                    await deadline.arun(read, step="recall")
                except Exception as error:
                    _nothing(error)
            asked = self.asked(question, [*earlier, *messages])
            known = TurnContext(
                recalled,
                earlier,
                self.choices.limit,
                shows_profile=self.shows_profile,
                question=asked,
            )
            conversation.last = (of, known)
        return known

    def recall(
        self,
        memory: Memory,
        question: str,
        messages: Sequence[AnyMessage] = (),
        *,
        deadline: Deadline | None = None,
        extra: int = EXTRA_HITS,
    ) -> Sequence[Document]:
        """Recall memories, as the run `htm_recall`: up to `extra` more than the limit, for what is
        shown anyway.

        `deadline` is the turn's; by default recall is a turn of its own.
        """
        if not question.strip() or not self.choices.limit:
            return ()
        deadline = deadline or Deadline(memory, timeout=self.timeout)
        queries = (
            queries_of(self.rewrite, question, messages, seconds=deadline.left)
            if self.rewrite
            else [question]
        )
        try:
            retriever = self._retriever(memory, deadline, extra, question, messages)
            return best_of([retriever.invoke(query, RUN) for query in queries])
        except Exception as error:
            return _nothing(error)

    async def arecall(
        self,
        memory: Memory,
        question: str,
        messages: Sequence[AnyMessage] = (),
        *,
        deadline: Deadline | None = None,
        extra: int = EXTRA_HITS,
    ) -> Sequence[Document]:
        """`recall`, awaited."""
        if not question.strip() or not self.choices.limit:
            return ()
        deadline = deadline or Deadline(memory, timeout=self.timeout)
        queries: Sequence[str] = [question]
        if self.rewrite:
            queries = await aqueries_of(self.rewrite, question, messages, seconds=deadline.left)
        try:
            retriever = self._retriever(memory, deadline, extra, question, messages)
            return best_of([await retriever.ainvoke(query, RUN) for query in queries])
        except Exception as error:
            return _nothing(error)

    def asked(self, question: str, messages: Sequence[AnyMessage]) -> str:
        """Return a question with what it leans on, for whoever looks for the part of a memory that
        answers it.
        """
        return question if self.rewrite else in_full(question, _said_before(question, messages))

    def _boundary(
        self, conversation: Conversation, messages: Sequence[AnyMessage], began_with: str | None
    ) -> frozenset[str] | None:
        return conversation.boundary(messages, began_with=began_with) if self.restore else None

    def _retriever(
        self,
        memory: Memory,
        deadline: Deadline,
        extra: int,
        question: str,
        messages: Sequence[BaseMessage],
    ) -> TimeoutRetriever:
        return TimeoutRetriever(
            memory=memory,
            k=min(LARGEST_LIMIT, self.choices.limit + min(EXTRA_HITS, extra)),
            choices=self.choices,
            scope=scope_of(memory) if self.scope is None else self.scope,
            min_score=self.min_score,
            min_trust=self.min_trust,
            timeout=self.timeout,
            deadline=deadline,
            speaker=_speaker_of(messages),
            before=() if self.rewrite else _said_before(question, messages),
        )


def prompt_recall(
    options: PromptOptions, *, scope: Scope | None, restore: bool = True, profile_budget: int = 0
) -> PromptRecall:
    """Recall by the options of a component; raises `InvalidInput` for those that cannot work."""
    return PromptRecall(
        choices=check_choices(
            limit=check_recall_limit(options["limit"], options["recall_limit"]),
            **part(MemoryFilters, options),
        ),
        min_score=check_score(options["min_score"]),
        min_trust=check_min_trust(options["min_trust"]),
        scope=check_choice(scope, SCOPES, what="scope"),
        timeout=check_timeout(options["recall_timeout"]),
        restore=restore,
        rewrite=check_rewrite(options["rewrite"]),
        profile_budget=profile_budget,
    )


class TimeoutRetriever(BaseRetriever):
    """Recall within `timeout` seconds and a turn's deadline; after that it raises `TimeoutError`,
    and the recall ends by itself.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True)
    k: int
    choices: Choices
    scope: Scope | None
    min_score: float
    min_trust: int
    timeout: float | None
    deadline: Deadline = Field(exclude=True)
    speaker: str | None = None
    before: Sequence[SaidBefore] = ()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
    ) -> list[Document]:
        return documents(
            self.deadline.run(lambda: self._recall(query), step="recall", at_most=self.timeout)
        )

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it by name
    ) -> list[Document]:
        return documents(
            await self.deadline.arun(
                lambda: self._recall(query), step="recall", at_most=self.timeout
            )
        )

    def _recall(self, query: str) -> Recall:
        result = recall_or_overview(
            self.memory,
            query,
            choices=self.choices,
            scope=self.scope,
            limit=self.k,
            min_score=self.min_score,
            speaker=self.speaker,
            before=self.before,
        )
        return trusted(result, self.min_trust)

    def _get_ls_params(self, **_kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="htm", ls_vector_store_provider="htm")


def _speaker_of(messages: Sequence[BaseMessage]) -> str | None:
    """The name of the person who spoke last, empty without one; None where no person speaks."""
    last = next((each for each in reversed(messages) if is_from_person(each)), None)
    return None if last is None else storable_name(last.name) or ""


def _said_before(question: str, messages: Sequence[BaseMessage]) -> list[SaidBefore]:
    """Return what persons and the model said before the last message of a person, oldest first, for
    a question that leans on it.
    """
    if not asks_further(question):
        return []
    last = max((place for place, each in enumerate(messages) if is_from_person(each)), default=0)
    return [
        SaidBefore(words_of(each), by_person=is_from_person(each))
        for each in messages[:last]
        if is_from_person(each) or each.type == "ai"
    ]


def last_question(messages: Sequence[BaseMessage]) -> tuple[object, str]:
    """Return a key of the last message of a person, which tells it from others, and its words,
    which may be none.

    Messages that the same person sent right before it, up to three in all, are part of it: "Where
    is my boat?", "Thanks!". Where no person speaks, as when results of tools come alone, the first
    message gives the key.
    """
    at = max((place for place, each in enumerate(messages) if is_from_person(each)), default=None)
    if at is None:
        return messages[0].id if messages else None, ""
    last = messages[at]
    together = takewhile(
        lambda message: is_from_person(message) and message.name == last.name,
        reversed(messages[max(0, at + 1 - SENT_AT_ONCE) : at + 1]),
    )
    return last.id, "\n\n".join(filter(None, reversed([str(each.text) for each in together])))


def _nothing(error: Exception) -> tuple[()]:
    if not isinstance(error, MemorySkipped):  # why it is left out was logged when that began
        _log.warning("recall failed (%s); the agent answers without it", brief(error))
    return ()
