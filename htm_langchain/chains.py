"""Memory for a chain: each input gets its history and what memory knows about it; question and
answer are kept.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack
from uuid import uuid4

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable
from langchain_core.runnables.utils import ConfigurableFieldSpec

from htm_core import InvalidInput, Memory, is_anonymous
from htm_core.prompt.keep import Keep, check_keep
from htm_core.prompt.memory_block import Inject, check_inject
from htm_core.prompt.option_names import with_options
from htm_core.prompt.scope import check_memory, memory_for

from .answers import Answer
from .breakpoints import with_breakpoint
from .conversation import Conversation, Conversations, Kept, Key, TurnContext
from .injection import RECALL_SHARE, MemoryPart, before_what_comes, inserted, with_block
from .messages import leading_system
from .option_sets import PROMPT, ConversationOptions
from .options import check_name_source, check_tenant, check_timeout, check_whole
from .persist import apersist, persist
from .retrieval import PromptRecall, prompt_recall
from .scope import (
    NameSource,
    TenantSource,
    check_same_session,
    in_tenant,
    may_choose_tenant,
    run_of,
    tenant_of,
    text_or_none,
    timezone_of,
    user_of,
)
from .tokens import count

_log = logging.getLogger("htm.langchain")

# The default budget of tokens for history and recall together.
BUDGET = 16_000


@with_options(ConversationOptions, **PROMPT, trust_context=False)
def with_memory(
    runnable: Runnable[Any, Any],
    memory: Memory,
    *,
    input_key: str | None = None,
    history_key: str | None = "history",
    output_key: str | None = None,
    budget: int = BUDGET,
    keep: Keep[BaseMessage] | None = None,
    **options: Unpack[ConversationOptions],
) -> Runnable[Any, Any]:
    """Give a chain a memory: a runnable that recalls for its input, adds its history, runs, and
    keeps both sides.

    Args:
        runnable: The chain, or anything that LangChain makes a runnable of.
        memory: The memory. Each call works on it as the call's user and session.
        input_key: Where an input that is a mapping has the question; by default "input", else its
            only key.
        history_key: Where the chain expects the history, with what was recalled. With None, and for
            an input that is a text, a message or a list of messages, the history comes before the
            question itself.
        output_key: Where an output that is a mapping has the answer; by default the first of
            "output", "answer", "result", "text" and "messages" that it has.
        budget: Tokens of history and recall together; 16,000 by default.
        keep: Which messages recall may find: roles such as `("user",)`, or a callable of a message.
            By default all. The log has every message in any case.
        options: Options of `RunOptions` say whose memory a call is about, and those of
            `PromptOptions` what is recalled, and where it goes. Where the history has a key, the
            chain itself makes a message of the question, and what was recalled is the last user's
            message of the history, which the assistant answers with a word, so that they speak in
            turns; with inject="message" it does not, and with "system" it is a system message.

    Recalled are the user's memories and what the tenant shares; without a user, the session's own
    and what the tenant shares. The question is kept before the chain runs, and the answer after it.
    When a stream breaks, the answer so far is kept, with `interrupted` in its `response_metadata`
    and in its mention's metadata. A failure of memory does not stop the
    chain: it is logged, and shown as a failed run in the trace.

    A call narrows what is recalled by `where`, `tags`, `timeframe` and `limit` in its
    `configurable`: both filters hold then, and all tags; a timeframe and a limit replace those
    given here.

    Raises `InvalidInput` for options that cannot work, and when called with an input that has no
    question in its place.

        chain = with_memory(prompt | model, memory, input_key="question")
        chain.invoke({"question": "What is my port?"}, {"configurable": {"session_id": "s1",
        "user_id": "ann"}})
    """
    return ChainWithMemory(
        coerce_to_runnable(runnable),
        check_memory(memory),
        ChainKeys(input_key, history_key, output_key),
        ChainScope(
            check_name_source(options["session"], what="session"),
            check_name_source(options["user"], what="user"),
            check_tenant(options["tenant"]),
            check_keep(keep),
            options["trust_context"],
        ),
        prompt_recall(options, scope="user"),
        check_whole(budget, least=1, what="budget"),
        check_whole(options["recall_budget"], least=0, what="recall_budget"),
        check_timeout(options["timeout"], what="timeout"),
        check_inject(options["inject"]),
    )


@dataclass(frozen=True, slots=True)
class ChainKeys:
    """Where in a mapping the question, the history and the answer are."""

    input: str | None
    history: str | None
    output: str | None

    def question(self, value: Any) -> list[Any]:
        """The messages of an input, each with an id."""
        messages = _as_messages(
            value[self.input_key(value)] if isinstance(value, Mapping) else value
        )
        return [
            each if each.id else each.model_copy(update={"id": str(uuid4())}) for each in messages
        ]

    def input_key(self, values: Mapping[str, Any]) -> str:
        """The key of the question in a mapping; raises `InvalidInput` when it is missing or cannot
        be known.
        """
        keys = [key for key in values if key != self.history]
        name = self.input or ("input" if "input" in values or len(keys) != 1 else keys[0])
        if name not in values:
            raise InvalidInput(
                f"expected the question under {name!r}, got the keys {keys}; name "
                "it with input_key="
            )
        return name

    def with_question(self, value: Any, question: Sequence[BaseMessage]) -> Any:
        """An input with another question in the place of its own, in the same form."""
        if not isinstance(value, Mapping):
            return list(question)
        key = self.input_key(value)
        if isinstance(value[key], str):
            return {**value, key: "\n".join(str(each.text) for each in question)}
        return {
            **value,
            key: question[0]
            if isinstance(value[key], BaseMessage) and question
            else list(question),
        }

    def with_history(
        self,
        value: Any,
        history: Sequence[Any],
        question: Sequence[Any],
        *,
        block: str,
        inject: Inject,
    ) -> Any:
        """An input with its history and memory's block; system messages stay first."""
        if isinstance(value, Mapping) and self.history is not None:
            if inject == "system":
                return {**value, self.history: with_block(history, block, inject=inject)}
            return {**value, self.history: [*history, *before_what_comes(block, inject=inject)]}
        lead = leading_system(question)
        messages = with_block([*question[:lead], *history, *question[lead:]], block, inject=inject)
        messages = with_breakpoint(messages, block)
        return (
            {**value, self.input_key(value): messages} if isinstance(value, Mapping) else messages
        )


@dataclass(frozen=True, slots=True)
class ChainScope:
    """The user, session and tenant of a call, and which of its messages recall may find."""

    session: NameSource
    user: NameSource
    tenant: TenantSource
    keep: Kept
    trust_context: bool

    def conversation(
        self, memory: Memory, config: RunnableConfig, conversations: Conversations
    ) -> Conversation:
        """The conversation of a call; without a session, a new one."""
        run = run_of(config)
        session = self._session_of(memory, run)
        if session is None:
            _log.warning(
                "no session: this call is one of its own; give session= or "
                "config['configurable']['session_id']"
            )
            session = f"run-{uuid4()}"
        explicit = text_or_none(self.user(config) if callable(self.user) else self.user)
        user = user_of(run, source=explicit, own=memory.user, trust_context=self.trust_context)
        tenant = tenant_of(
            run, source=self._tenant_of(config), default=memory.tenant, is_required=True
        )

        timezone = timezone_of(run)

        def open() -> Conversation:
            theirs = memory_for(
                in_tenant(memory, tenant), user=user, session=session, timezone=timezone
            )
            return Conversation(theirs, log=session, keep=self.keep)

        return conversations.of(Key(tenant, user, session, timezone=timezone), open)

    def _session_of(self, memory: Memory, run: Any) -> str | None:
        """`session=`, else the thread of the graph around the chain or the memory's own, else what
        the call names.
        """
        explicit = text_or_none(
            self.session(run.config) if callable(self.session) else self.session
        )
        if explicit is not None:
            return explicit
        configurable = run.config.get("configurable") or {}
        session, thread = (
            text_or_none(configurable.get(name)) for name in ("session_id", "thread_id")
        )
        verified = text_or_none(getattr(run.execution_info, "thread_id", None)) or memory.session
        if verified is None or self.trust_context:
            return session or thread or verified
        check_same_session(verified, session, thread)
        return verified

    def _tenant_of(self, config: RunnableConfig) -> TenantSource:
        return self.tenant(config) or "" if callable(self.tenant) else self.tenant


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
        timeout: float | None,
        inject: Inject,
    ) -> None:
        self.memory = memory
        self.bound = bound
        self._keys = keys
        self._scope = scope
        self._recall = recall
        self._budget = budget
        self._recall_budget = recall_budget
        self._timeout = timeout
        self._inject = inject
        self._conversations = Conversations()
        self._has_warned = False

    def __repr__(self) -> str:
        chosen = {
            "input_key": self._keys.input,
            "history_key": self._keys.history,
            "output_key": self._keys.output,
        }
        named = "".join(
            f", {name}={value!r}" for name, value in chosen.items() if value is not None
        )
        return f"with_memory({self.bound!r}, {self.memory!r}{named})"

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The fields of a call's `configurable`: its user, its session, and filters of recall."""
        theirs = self.bound.config_specs
        taken = {spec.id for spec in theirs}
        return [*theirs, *(spec for spec in _specs(self._scope) if spec.id not in taken)]

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Answer an input, and keep both."""
        return self._call_with_config(self._invoke, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke`, awaited."""
        return await self._acall_with_config(self._ainvoke, input, config, **kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Answer an input piece by piece, and keep both."""
        yield from self._transform_stream_with_config(iter([input]), self._stream, config, **kwargs)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """`stream`, awaited."""

        async def once() -> AsyncIterator[Any]:
            yield input

        async for chunk in self._atransform_stream_with_config(
            once(), self._astream, config, **kwargs
        ):
            yield chunk

    # -- one call; LangChain passes the run's manager by name --------------------------------------

    def _invoke(
        self,
        value: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        call = self._call(value, config)
        context = call.recall.context(call.conversation, call.messages)
        persist(call.conversation, call.messages, extent="input")
        answer = self.bound.invoke(self._filled(call, context), config, **kwargs)
        persist(call.conversation, call.messages, extent="input")
        persist(call.conversation, Answer(self._keys.output, [answer]).messages(), is_last=True)
        return answer

    async def _ainvoke(
        self,
        value: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        call = self._call(value, config)
        context = await call.recall.acontext(call.conversation, call.messages)
        await apersist(call.conversation, call.messages, extent="input")
        answer = await self.bound.ainvoke(self._filled(call, context), config, **kwargs)
        await apersist(call.conversation, call.messages, extent="input")
        await apersist(
            call.conversation, Answer(self._keys.output, [answer]).messages(), is_last=True
        )
        return answer

    def _stream(
        self,
        inputs: Iterator[Any],
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[Any]:
        call = self._call(next(inputs), config)
        context = call.recall.context(call.conversation, call.messages)
        persist(call.conversation, call.messages, extent="input")
        answer = Answer(self._keys.output)
        try:
            for chunk in self.bound.stream(self._filled(call, context), config, **kwargs):
                answer.add(chunk)
                yield chunk
            answer.is_complete = True
        finally:  # also when the reader leaves, or the chain breaks
            persist(call.conversation, call.messages, extent="input")
            persist(call.conversation, answer.messages(), is_last=True)

    async def _astream(
        self,
        inputs: AsyncIterator[Any],
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        call = self._call(await anext(inputs), config)
        context = await call.recall.acontext(call.conversation, call.messages)
        await apersist(call.conversation, call.messages, extent="input")
        answer = Answer(self._keys.output)
        try:
            async for chunk in self.bound.astream(self._filled(call, context), config, **kwargs):
                answer.add(chunk)
                yield chunk
            answer.is_complete = True
        finally:
            await apersist(call.conversation, call.messages, extent="input")
            await apersist(call.conversation, answer.messages(), is_last=True)

    def _call(self, value: Any, config: RunnableConfig) -> _Call:
        conversation = self._scope.conversation(self.memory, config, self._conversations)
        if conversation.memory.user is None or is_anonymous(conversation.memory.user):
            self._warn_once()
        conversation.begin_turn(self._timeout)
        question = self._keys.question(value)
        # a system prompt is the chain's own
        messages: list[Any] = [each for each in question if each.type != "system"]
        return _Call(conversation, self._recall.of_run(run_of(config)), value, question, messages)

    def _warn_once(self) -> None:
        if not self._has_warned:
            _log.warning(
                "no user: what is said is known in its own session only; give user= or "
                "config['configurable']['user_id']"
            )
        self._has_warned = True

    def _filled(self, call: _Call, context: TurnContext) -> Any:
        """The input with as much history and recall as fits the budget."""
        is_apart = isinstance(call.value, Mapping) and self._keys.history is not None
        answer = before_what_comes("-", inject=self._inject)[1:] if is_apart else []
        room = self._budget - count(
            [*answer, *(each for each in call.question if each.type == "system")]
        )
        part = MemoryPart(
            context,
            call.conversation,
            recall_budget=min(self._recall_budget, int(self._budget * RECALL_SHARE)),
            profile_budget=0,
        )
        window, block = part.fill(
            [*context.earlier, *call.messages], room=room, has_system_prompt=False
        )
        in_question = {each.id for each in call.question}
        history = [each for each in window if each.id not in in_question]
        fitting = {each.id: each for each in window if each.id in in_question}
        missing = [
            each for each in call.question if each.id not in fitting and each.type != "system"
        ]
        beside = count([inserted(block)]) if block else 0
        left_out = (
            {each.id for each in missing} if count([*window, *missing]) > room - beside else set()
        )
        question = [fitting.get(each.id, each) for each in call.question if each.id not in left_out]
        value = (
            call.value
            if question == list(call.question)
            else self._keys.with_question(call.value, question)
        )
        return self._keys.with_history(value, history, question, block=block, inject=self._inject)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a chain: its input, the question's messages, and those of them that somebody
    said.
    """

    conversation: Conversation
    recall: PromptRecall
    value: Any
    question: Sequence[Any]
    messages: Sequence[AnyMessage]


# The fields of a call's `configurable`: each with its type, its name and what it says.
_FIELDS: Mapping[str, tuple[Any, str, str]] = {
    "user_id": (str | None, "User", "Whose memory it is."),
    "timezone": (str | None, "Time zone", "Where the user is."),
    "session_id": (str | None, "Session", "The conversation of the call."),
    "thread_id": (str | None, "Session", "The conversation of the call."),
    "tenant": (str | None, "Tenant", "One of the allowed tenants."),
    "where": (dict[str, Any] | None, "Where", "A filter on metadata."),
    "tags": (list[str] | None, "Tags", "Tags that a memory must have."),
    "timeframe": (str | None, "Timeframe", "When it was said."),
    "limit": (int | None, "Limit", "Passages to recall at most."),
}


def _specs(scope: ChainScope) -> Iterator[ConfigurableFieldSpec]:
    for id, (annotation, name, description) in _FIELDS.items():
        if id != "tenant" or may_choose_tenant(scope.tenant):
            yield ConfigurableFieldSpec(
                id=id, annotation=annotation, default=None, name=name, description=description
            )


def _as_messages(question: Any) -> list[BaseMessage]:
    """The messages of a question: a text, a message, a list of them, or a prompt's."""
    if isinstance(question, str):
        return [HumanMessage(question)]
    if isinstance(question, BaseMessage):
        return [question]
    if hasattr(question, "to_messages"):
        return list(question.to_messages())
    if (
        isinstance(question, Sequence)
        and question
        and all(isinstance(each, BaseMessage) for each in question)
    ):
        return list(question)
    raise InvalidInput(
        "expected a question as a text, a message or a list of messages, got "
        f"{type(question).__name__}; name its key with "
        "input_key="
    )
