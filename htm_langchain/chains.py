"""Memory for a chain: what it is asked is answered with its history and with what memory knows, and both sides are kept."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable

from htm_core import InvalidInput, Memory, anonymous, is_anonymous

from .answers import Answer
from .conversation import Conversation, Facts
from .options import memory_given, named, score, seconds, whole
from .persist import akeep, keep
from .recalled_block import block, shown_in
from .retrieval import Asking
from .tokens import count
from .window import fit, leading

_log = logging.getLogger("htm.langchain")

# Tokens of history and recall together, where the caller names none, and the share that recall takes at most.
BUDGET = 16_000
RECALL_SHARE = 0.25

Session = str | Callable[[RunnableConfig], str | None] | None


def with_memory(
    runnable: Runnable[Any, Any],
    memory: Memory,
    *,
    input_key: str | None = None,
    history_key: str | None = "history",
    session: Session = None,
    user: Session = None,
    output_key: str | None = None,
    budget: int = BUDGET,
    recall_limit: int = 8,
    recall_budget: int = 1_000,
    recall_timeout: float | None = 10.0,
    min_score: float = 0.2,
) -> Runnable[Any, Any]:
    """Give a chain a memory: a runnable that recalls for its input, adds its history, runs, and keeps both sides.

    A mapping is asked by `input_key` (else "input", else its only key) and finds its history, with what was recalled as
    the last message of it, under `history_key`; with `history_key=None` they stand before the input itself, as they do
    when the input is a text, a message or a list of messages. `session` is a name or a callable of the config; else the
    config's `session_id` or `thread_id`, the memory's own session, or one session per run. `user` likewise; else the
    config's `user_id`, or the memory's own. Recalled are the user's memories and what the tenant shares; where nobody is
    known, the session's own and what the tenant shares. History and recall hold at most `budget` tokens.

    The question is kept before the chain runs and the answer after it; of a stream that breaks the answer so far is
    kept, its `response_metadata` and its mention's metadata saying `interrupted`. Memory stops no chain: what fails is
    logged, and fails in the trace. Raises `InvalidInput` for an input that has no question where it should be.
    """
    asking = Asking(
        limit=whole(recall_limit, least=0, what="recall_limit"), min_score=score(min_score), scope="user",
        seconds=seconds(recall_timeout), restore=True,
    )  # fmt: skip
    return ChainWithMemory(
        coerce_to_runnable(runnable),
        memory_given(memory),
        Keys(input_key, history_key, output_key),
        Whose(named(session, what="session"), named(user, what="user")),
        asking,
        whole(budget, least=1, what="budget"),
        whole(recall_budget, least=0, what="recall_budget"),
    )


@dataclass(frozen=True, slots=True)
class Keys:
    """Where in a mapping the question, the history and the answer stand."""

    input: str | None
    history: str | None
    output: str | None

    def question(self, given: Any) -> list[BaseMessage]:
        """The messages of an input, each with an id."""
        said = given[self.of(given)] if isinstance(given, Mapping) else given
        return [_named(each) for each in _messages(said)]

    def of(self, given: Mapping[str, Any]) -> str:
        """The key of the question in a mapping; raises `InvalidInput` when it is not there, or not clear which it is."""
        keys = [key for key in given if key != self.history]
        found = self.input or ("input" if "input" in given or len(keys) != 1 else keys[0])
        if found not in given:
            raise InvalidInput(f"expected the question under {found!r}, got the keys {keys}; name it with input_key=")
        return found

    def filled(self, given: Any, history: Sequence[BaseMessage], question: Sequence[BaseMessage]) -> Any:
        """An input with its history."""
        lead = leading(question)
        together = [*question[:lead], *history, *question[lead:]]
        if not isinstance(given, Mapping):
            return together
        if self.history is None:
            return {**given, self.of(given): together}
        return {**given, self.history: list(history)}


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose memory a call is about, and in which conversation."""

    session: Session
    user: Session

    def conversation(self, memory: Memory, config: RunnableConfig) -> Conversation:
        """The conversation of a call; without a session it is one of its own."""
        known = config.get("configurable") or {}
        session = (
            _given(self.session, config) or _text(known.get("session_id")) or _text(known.get("thread_id"))
            or memory.session
        )  # fmt: skip
        if session is None:
            _log.warning(
                "no session: this call is one of its own; give session= or config['configurable']['session_id']"
            )
            session = f"run-{uuid4()}"
        user = _given(self.user, config) or _text(known.get("user_id"))
        if user is not None and is_anonymous(user):
            raise InvalidInput(f"expected a user's own name, got {user!r}, which is kept for sessions without a user")
        user = user or memory.user or anonymous(session)
        return Conversation(memory.of(user=user, session=session), log=session)


class ChainWithMemory(Runnable[Any, Any]):
    """A chain and its memory; made by `with_memory`."""

    def __init__(
        self,
        bound: Runnable[Any, Any],
        memory: Memory,
        keys: Keys,
        whose: Whose,
        asking: Asking,
        budget: int,
        recall: int,
    ) -> None:
        self.memory = memory
        self.bound = bound
        self._keys = keys
        self._whose = whose
        self._asking = asking
        self._budget = budget
        self._recall = recall

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
        conversation, question = self._whose.conversation(self.memory, config), self._keys.question(given)
        facts = self._asking.facts(conversation, _any(_said(question)))
        keep(conversation, _said(question))
        answer = self.bound.invoke(self._filled(given, question, facts), config, **kwargs)
        keep(conversation, [*_said(question), *Answer(self._keys.output, [answer]).messages()])
        return answer

    async def _ainvoke(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        conversation, question = self._whose.conversation(self.memory, config), self._keys.question(given)
        facts = await self._asking.afacts(conversation, _any(_said(question)))
        await akeep(conversation, _said(question))
        answer = await self.bound.ainvoke(self._filled(given, question, facts), config, **kwargs)
        await akeep(conversation, [*_said(question), *Answer(self._keys.output, [answer]).messages()])
        return answer

    def _stream(
        self,
        inputs: Iterator[Any],
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[Any]:
        given = next(inputs)
        conversation, question = self._whose.conversation(self.memory, config), self._keys.question(given)
        facts = self._asking.facts(conversation, _any(_said(question)))
        keep(conversation, _said(question))
        answer = Answer(self._keys.output)
        try:
            for chunk in self.bound.stream(self._filled(given, question, facts), config, **kwargs):
                answer.add(chunk)
                yield chunk
            answer.whole = True
        finally:  # also when the reader leaves, or the chain breaks
            keep(conversation, [*_said(question), *answer.messages()])

    async def _astream(
        self,
        inputs: AsyncIterator[Any],
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        given = await anext(inputs)
        conversation, question = self._whose.conversation(self.memory, config), self._keys.question(given)
        facts = await self._asking.afacts(conversation, _any(_said(question)))
        await akeep(conversation, _said(question))
        answer = Answer(self._keys.output)
        try:
            async for chunk in self.bound.astream(self._filled(given, question, facts), config, **kwargs):
                answer.add(chunk)
                yield chunk
            answer.whole = True
        finally:
            await akeep(conversation, [*_said(question), *answer.messages()])

    def _filled(self, given: Any, question: Sequence[BaseMessage], facts: Facts) -> Any:
        reserve = min(self._recall, int(self._budget * RECALL_SHARE))
        room = self._budget - count([each for each in question if each.type == "system"])
        window = fit([*facts.before, *_any(_said(question))], room=room - reserve, led=False)
        asked = {id(each) for each in question}
        history: list[BaseMessage] = [each for each in window if id(each) not in asked]
        note = block(facts.recalled, shown=shown_in([*history, *question]), limit=self._asking.limit,
                     room=min(reserve, room - count(window)))  # fmt: skip
        return self._keys.filled(given, [*history, note] if note is not None else history, question)


def _messages(said: Any) -> list[BaseMessage]:
    """What is asked, as messages: a text, a message, a list of them, or a prompt's."""
    if isinstance(said, str):
        return [HumanMessage(said)]
    if isinstance(said, BaseMessage):
        return [said]
    if hasattr(said, "to_messages"):
        return list(said.to_messages())
    if isinstance(said, Sequence) and said and all(isinstance(each, BaseMessage) for each in said):
        return list(said)
    raise InvalidInput(
        f"expected a question as a text, a message or a list of messages, got {type(said).__name__}; name its key with "
        "input_key="
    )


def _said(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What somebody said; what a system prompt says is the chain's own."""
    return [each for each in messages if each.type != "system"]


def _named(message: BaseMessage) -> BaseMessage:
    return message if message.id else message.model_copy(update={"id": str(uuid4())})


def _given(whose: Session, config: RunnableConfig) -> str | None:
    return _text(whose(config) if callable(whose) else whose)


def _text(value: object) -> str | None:
    text = "" if value is None else str(value)
    return text if text.strip() else None


def _any(messages: Sequence[BaseMessage]) -> Sequence[AnyMessage]:
    return messages  # type: ignore[return-value]  # LangChain's union of its own classes
