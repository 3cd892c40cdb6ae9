"""Memory for a chain: each input gets its history and what memory knows about it; question and answer are kept."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable

from htm_core import InvalidInput, Memory
from htm_core.integration.scope import check_memory, memory_for

from .answers import Answer
from .conversation import Conversation, TurnContext
from .messages import leading_system
from .options import check_name_source, check_score, check_timeout, check_whole
from .persist import apersist, persist
from .retrieval import PromptRecall, recalled_message, shown_texts
from .scope import NameSource, check_not_reserved, text_or_none
from .tokens import count
from .window import fit

_log = logging.getLogger("htm.langchain")

# The default budget of tokens for history and recall together, and the largest share of it for recall.
BUDGET = 16_000
RECALL_SHARE = 0.25


def with_memory(
    runnable: Runnable[Any, Any],
    memory: Memory,
    *,
    input_key: str | None = None,
    history_key: str | None = "history",
    session: NameSource = None,
    user: NameSource = None,
    output_key: str | None = None,
    budget: int = BUDGET,
    recall_limit: int = 8,
    recall_budget: int = 1_000,
    recall_timeout: float | None = 10.0,
    min_score: float = 0.2,
) -> Runnable[Any, Any]:
    """Give a chain a memory: a runnable that recalls for its input, adds its history, runs, and keeps both sides.

    Args:
        runnable: The chain, or anything that LangChain makes a runnable of.
        memory: The memory. Each call works on it as the call's user and session.
        input_key: Where an input that is a mapping has the question; by default "input", else its only key.
        history_key: Where the chain expects the history. What was recalled is the last message of it. With None, and for
            an input that is a text, a message or a list of messages, history and recall come before the question itself.
        session: A name, or a callable of the run's configuration. By default the configuration's `session_id` or
            `thread_id`, else the memory's own session, else a new session for each run.
        user: Likewise. By default the configuration's `user_id`, else the memory's own user.
        output_key: Where an output that is a mapping has the answer; by default the first of "output", "answer",
            "result", "text" and "messages" that it has.
        budget: Tokens of history and recall together.
        recall_limit: Passages to recall at most; 0 recalls none.
        recall_budget: Tokens of these at most; never more than a quarter of `budget`.
        recall_timeout: Seconds to wait for recall; None waits as long as it takes.
        min_score: The lowest score, from 0 to 1, of a passage that is shown.

    Recalled are the user's memories and what the tenant shares; without a user, the session's own and what the tenant
    shares. The question is kept before the chain runs, and the answer after it. When a stream breaks, the answer so far is
    kept, with `interrupted` in its `response_metadata` and in its mention's metadata. A failure of memory does not stop the
    chain: it is logged, and shown as a failed run in the trace.

    Raises `InvalidInput` for options that cannot work, and when called with an input that has no question in its place.

        chain = with_memory(prompt | model, memory, input_key="question")
        chain.invoke({"question": "What is my port?"}, {"configurable": {"session_id": "s1", "user_id": "ann"}})
    """
    return ChainWithMemory(
        coerce_to_runnable(runnable),
        check_memory(memory),
        ChainKeys(input_key, history_key, output_key),
        ChainScope(check_name_source(session, what="session"), check_name_source(user, what="user")),
        PromptRecall(
            limit=check_whole(recall_limit, least=0, what="recall_limit"),
            min_score=check_score(min_score),
            scope="user",
            timeout=check_timeout(recall_timeout),
            restore=True,
        ),
        check_whole(budget, least=1, what="budget"),
        check_whole(recall_budget, least=0, what="recall_budget"),
    )


@dataclass(frozen=True, slots=True)
class ChainKeys:
    """Where in a mapping the question, the history and the answer are."""

    input: str | None
    history: str | None
    output: str | None

    def question(self, given: Any) -> list[BaseMessage]:
        """The messages of an input, each with an id."""
        messages = _as_messages(given[self.input_key(given)] if isinstance(given, Mapping) else given)
        return [each if each.id else each.model_copy(update={"id": str(uuid4())}) for each in messages]

    def input_key(self, given: Mapping[str, Any]) -> str:
        """The key of the question in a mapping; raises `InvalidInput` when it is missing or cannot be known."""
        keys = [key for key in given if key != self.history]
        found = self.input or ("input" if "input" in given or len(keys) != 1 else keys[0])
        if found not in given:
            raise InvalidInput(f"expected the question under {found!r}, got the keys {keys}; name it with input_key=")
        return found

    def with_history(self, given: Any, history: Sequence[BaseMessage], question: Sequence[BaseMessage]) -> Any:
        """An input with its history; system messages stay first."""
        lead = leading_system(question)
        messages = [*question[:lead], *history, *question[lead:]]
        if not isinstance(given, Mapping):
            return messages
        if self.history is None:
            return {**given, self.input_key(given): messages}
        return {**given, self.history: list(history)}


@dataclass(frozen=True, slots=True)
class ChainScope:
    """Which user and which session a call is about."""

    session: NameSource
    user: NameSource

    def conversation(self, memory: Memory, config: RunnableConfig) -> Conversation:
        """The conversation of a call; without a session, a new one."""
        configurable = config.get("configurable") or {}
        session = (
            text_or_none(self.session(config) if callable(self.session) else self.session)
            or text_or_none(configurable.get("session_id"))
            or text_or_none(configurable.get("thread_id"))
            or memory.session
        )
        if session is None:
            _log.warning(
                "no session: this call is one of its own; give session= or config['configurable']['session_id']"
            )
            session = f"run-{uuid4()}"
        user = text_or_none(self.user(config) if callable(self.user) else self.user)
        user = check_not_reserved(user or text_or_none(configurable.get("user_id"))) or memory.user
        return Conversation(memory_for(memory, user=user, session=session), log=session)


class ChainWithMemory(Runnable[Any, Any]):
    """A chain and its memory; made by `with_memory`."""

    def __init__(
        self,
        bound: Runnable[Any, Any],
        memory: Memory,
        keys: ChainKeys,
        scope: ChainScope,
        recall: PromptRecall,
        budget: int,
        recall_budget: int,
    ) -> None:
        self.memory = memory
        self.bound = bound
        self._keys = keys
        self._scope = scope
        self._recall = recall
        self._budget = budget
        self._recall_budget = recall_budget

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Answer an input, and keep both."""
        return self._call_with_config(self._invoke, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke`, awaited."""
        return await self._acall_with_config(self._ainvoke, input, config, **kwargs)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Answer an input piece by piece, and keep both."""
        yield from self._transform_stream_with_config(iter([input]), self._stream, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """`stream`, awaited."""

        async def once() -> AsyncIterator[Any]:
            yield input

        async for chunk in self._atransform_stream_with_config(once(), self._astream, config, **kwargs):
            yield chunk

    # -- one call; LangChain passes the run's manager by name ----------------------------------------------------------

    def _invoke(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        call = self._call(given, config)
        context = self._recall.context(call.conversation, call.said)
        persist(call.conversation, call.said)
        answer = self.bound.invoke(self._filled(call, context), config, **kwargs)
        persist(call.conversation, [*call.said, *Answer(self._keys.output, [answer]).messages()])
        return answer

    async def _ainvoke(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        call = self._call(given, config)
        context = await self._recall.acontext(call.conversation, call.said)
        await apersist(call.conversation, call.said)
        answer = await self.bound.ainvoke(self._filled(call, context), config, **kwargs)
        await apersist(call.conversation, [*call.said, *Answer(self._keys.output, [answer]).messages()])
        return answer

    def _stream(
        self,
        inputs: Iterator[Any],
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[Any]:
        call = self._call(next(inputs), config)
        context = self._recall.context(call.conversation, call.said)
        persist(call.conversation, call.said)
        answer = Answer(self._keys.output)
        try:
            for chunk in self.bound.stream(self._filled(call, context), config, **kwargs):
                answer.add(chunk)
                yield chunk
            answer.is_complete = True
        finally:  # also when the reader leaves, or the chain breaks
            persist(call.conversation, [*call.said, *answer.messages()])

    async def _astream(
        self,
        inputs: AsyncIterator[Any],
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        call = self._call(await anext(inputs), config)
        context = await self._recall.acontext(call.conversation, call.said)
        await apersist(call.conversation, call.said)
        answer = Answer(self._keys.output)
        try:
            async for chunk in self.bound.astream(self._filled(call, context), config, **kwargs):
                answer.add(chunk)
                yield chunk
            answer.is_complete = True
        finally:
            await apersist(call.conversation, [*call.said, *answer.messages()])

    def _call(self, given: Any, config: RunnableConfig) -> _Call:
        conversation, question = self._scope.conversation(self.memory, config), self._keys.question(given)
        said: list[Any] = [each for each in question if each.type != "system"]  # a system prompt is the chain's own
        return _Call(conversation, given, question, said)

    def _filled(self, call: _Call, context: TurnContext) -> Any:
        """The input with as much history and recall as fits the budget."""
        reserve = min(self._recall_budget, int(self._budget * RECALL_SHARE))
        room = self._budget - count([each for each in call.question if each.type == "system"])
        window = fit([*context.earlier, *call.said], room=room - reserve, has_system_prompt=False)
        in_question = {id(each) for each in call.question}
        history: list[BaseMessage] = [each for each in window if id(each) not in in_question]
        note = recalled_message(
            context.recalled,
            shown=shown_texts([*history, *call.question]),
            limit=self._recall.limit,
            room=min(reserve, room - count(window)),
        )
        return self._keys.with_history(call.given, [*history, note] if note is not None else history, call.question)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a chain: its input as given, the question's messages, and those of them that somebody said."""

    conversation: Conversation
    given: Any
    question: Sequence[BaseMessage]
    said: Sequence[AnyMessage]


def _as_messages(question: Any) -> list[BaseMessage]:
    """The messages of a question: a text, a message, a list of them, or a prompt's."""
    if isinstance(question, str):
        return [HumanMessage(question)]
    if isinstance(question, BaseMessage):
        return [question]
    if hasattr(question, "to_messages"):
        return list(question.to_messages())
    if isinstance(question, Sequence) and question and all(isinstance(each, BaseMessage) for each in question):
        return list(question)
    raise InvalidInput(
        f"expected a question as a text, a message or a list of messages, got {type(question).__name__}; name its key with "
        "input_key="
    )
