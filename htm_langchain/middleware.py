"""Memory for `create_agent`: everything that is said is kept, what no longer fits is left out, and
recall brings it back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, Self, Unpack
from uuid import uuid4

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    TracePolicy,
    omit_payload,
)
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from htm_core import InvalidInput, Memory, Scope
from htm_core.palace import Consulted
from htm_core.prompt.deadline import MemorySkipped
from htm_core.prompt.keep import Keep, check_keep
from htm_core.prompt.memory_block import check_inject
from htm_core.prompt.option_names import part, with_options
from htm_core.prompt.scope import check_memory, memory_for

from .answers import held_parts
from .conversation import Conversation, Conversations, Extent, Key, first_of_turn, is_one_turn
from .grounding import PalaceConsultation, beside_evidence, refusal, with_citation, with_evidence
from .messages import leading_system
from .option_sets import PROMPT, ConversationOptions, RunOptions
from .options import (
    check_choice,
    check_name,
    check_name_source,
    check_tenant,
    check_timeout,
    check_whole,
)
from .persist import apersist, brief, persist
from .request import RequestBuilder
from .retrieval import PromptRecall, prompt_recall
from .run_inputs import is_prompted, is_resumed, note_inputs, present_run, without_prompts
from .scope import (
    agent_name,
    caller_of,
    in_tenant,
    is_nested,
    may_choose_tenant,
    running_config,
    session_of,
    subagent_of,
    tenant_of_thread,
    timezone_of,
    user_of,
)
from .threads import (
    atenant_of_checkpoint,
    auser_of_checkpoint,
    checkpointer,
    ended,
    is_lost_with_process,
    new_note,
    note_of,
    tenant_of_checkpoint,
    thread_of_run,
    user_of_checkpoint,
    with_ids,
)
from .tools import (
    create_forget_tool,
    create_recall_tool,
    create_remember_tool,
    forgotten_in,
    without_forgotten,
)

_log = logging.getLogger("htm.langchain")

TOOLS = ("recall", "remember", "forget")

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class HTMState(AgentState[Any]):
    """An agent's state with the session of a run that has no thread, and with what is noted of its
    thread.
    """

    htm_session: NotRequired[Annotated[str, PrivateStateAttr]]
    htm_tenant: NotRequired[Annotated[str, PrivateStateAttr]]
    htm_thread: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


@dataclass(frozen=True, slots=True)
class _Run:
    """The state of a run, as far as it is its user's, each message with an id.

    `began_with` is the message before which the log is shown; where no thread began it is None, and
    one new turn counts.
    """

    conversation: Conversation
    messages: Sequence[AnyMessage]
    extent: Extent
    key: str
    began_with: str | None
    restores: bool
    recall: PromptRecall


class HTMMemoryMiddleware(AgentMiddleware[HTMState, Any, Any]):
    """Give an agent a memory that never forgets, for all of a server's users at once.

    Every message is kept as soon as it is there. A request to the model holds the newest whole
    turns that fit the budget, and what memory knows about the question.

    Args:
        memory: The memory. Each run works on it as the run's user and session.
        scope: What is recalled: "user", "session" or "tenant". By default all of a known user's
            memories, and only the session's where no user is known.
        budget: Tokens of a request, with system prompt, tools and recall. By default 0.7 of the
            input that the model's profile names, else 16,000. A message that is too long for it
            loses its middle in the request, with a line that says so; the log has it whole.
        profile_budget: Tokens at most of what is known of a user from other conversations, which is
            shown with what is recalled; 300 by default, never more than a tenth of the budget, 0
            shows nothing. Nothing without a known user, with scope="session", and where recall is
            narrowed by `where`, `tags`, a `timeframe` or `limit=0`.
        keep: Which messages recall may find: roles such as `("user", "assistant")`, or a callable
            of a message. By default all. The log has every message, so that the conversation goes
            on as it was.
        tools: Which of "recall", "remember" and "forget" the model may use by itself; none by
            default.
        restore: Whether a run that brings only a new turn is shown what the log has from before it;
            True by default.
        subagents: Whether an agent that another agent's tool calls, or a graph with a prompt of its
            own, is kept too, in a session of its own. It is shown what memory knows in any case.
        palace: A `htm_core.palace.Palace` that is consulted about each question before the model
            is. The model reads the evidence, and the answer's `response_metadata["htm_grounding"]`
            holds it. A thread that starts is shown what the palace wakes up to.
        enforce: "strict" answers a question without evidence honestly, without the model, and
            raises `Ungrounded` when a layer of the palace could not be reached. "advise" lets the
            model answer.
        name: The name among an agent's middleware; two of them need two names.
        options: Options of `RunOptions` say whose memory a run is about, and those of
            `PromptOptions` what is recalled, and shown where.

    A run narrows what is recalled by `where`, `tags`, `timeframe`, `as_of`, `valid_at`, `sources`,
    `min_trust` and `limit` in its context or its `configurable`: both filters hold then, and all
    tags; times and a limit replace those given here.

    A failure of recall or of the log does not stop an agent: it is logged, and shown as a failed
    run in the trace. What could not be kept is kept with the run's next message. Raises
    `InvalidInput` for options that cannot work, and for such choices of a run.

        memory = HTMMemoryMiddleware(Memory("atlas"), keep=("user", "assistant"), timeframe="auto")
        agent = create_agent(model, tools, middleware=[memory], checkpointer=saver)
        agent.invoke({"messages": "Hello!"}, {"configurable": {"thread_id": "t1", "user_id":
        "ann"}})
    """

    state_schema = HTMState
    trace_policy = TracePolicy(process_inputs=omit_payload)

    @with_options(ConversationOptions, **PROMPT, trust_context=False)
    def __init__(
        self,
        memory: Memory,
        *,
        scope: Scope | None = None,
        budget: int | None = None,
        profile_budget: int = 150,
        keep: Keep[AnyMessage] | None = None,
        tools: Sequence[str] = (),
        restore: bool = True,
        subagents: bool = False,
        palace: object | None = None,
        enforce: Literal["strict", "advise"] = "advise",
        name: str = "HTMMemoryMiddleware",
        **options: Unpack[ConversationOptions],
    ) -> None:
        super().__init__()
        self.memory = check_memory(memory)
        self._consultation = None if palace is None else PalaceConsultation(palace, enforce=enforce)
        self._user = check_name_source(options["user"], what="user")
        self._session = check_name_source(options["session"], what="session")
        self._requests = RequestBuilder(
            budget=None if budget is None else check_whole(budget, least=1, what="budget"),
            recall_budget=check_whole(options["recall_budget"], least=0, what="recall_budget"),
            profile_budget=check_whole(profile_budget, least=0, what="profile_budget"),
            inject=check_inject(options["inject"]),
        )
        self._tenant = check_tenant(options["tenant"])
        self._trust_context = options["trust_context"]
        if self._tenant is not None and palace is not None:
            raise InvalidInput(
                "expected palace= or tenant=, since a palace is of one tenant; make a middleware "
                "for each"
            )
        self._keep = check_keep(keep)
        self._recall = prompt_recall(
            options, scope=scope, restore=restore, profile_budget=profile_budget
        )
        self._subagents = subagents
        self._name = check_name(name)
        self.tools = _tools(tools, memory, part(RunOptions, options), self._recall)
        note_inputs()
        self._conversations = Conversations()
        self._timeout = check_timeout(options["timeout"], what="timeout")
        self._warned: set[str] = set()

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a handle like the memory itself, with what it knows of each conversation

    @property
    def name(self) -> str:
        """The name among an agent's middleware; two of them need two names."""
        return self._name

    # -- what LangChain calls ----------------------------------------------------------------------

    def before_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Note who speaks in which thread, and give memory its time for the turn. LangChain calls
        it.

        Args:
            state: The agent's state.
            runtime: The run's.

        Raises `InvalidInput` for a reserved user, and for choices of a run that recall would
        refuse.
        """
        user, saver = self._user_of(runtime), checkpointer()
        if user is None and saver is not None and self._may_have_had_user(state):
            try:
                user = user_of_checkpoint(saver, is_resumed=is_resumed())
            except Exception as error:
                _log.warning("the checkpoint's user could not be read (%s)", brief(error))
        if saver is not None and self._is_in_tenant_of_graph(state, runtime):
            tenant = tenant_of_checkpoint(saver)
            return self._begin(state, runtime, user or self.memory.user, saver, tenant=tenant)
        return self._begin(state, runtime, user or self.memory.user, saver)

    async def abefore_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`before_agent`, awaited."""
        user, saver = self._user_of(runtime), checkpointer()
        if user is None and saver is not None and self._may_have_had_user(state):
            try:
                user = await auser_of_checkpoint(saver, is_resumed=is_resumed())
            except Exception as error:
                _log.warning("the checkpoint's user could not be read (%s)", brief(error))
        if saver is not None and self._is_in_tenant_of_graph(state, runtime):
            tenant = await atenant_of_checkpoint(saver)
            return self._begin(state, runtime, user or self.memory.user, saver, tenant=tenant)
        return self._begin(state, runtime, user or self.memory.user, saver)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Keep what was said, show the model what fits and what memory knows, and keep its answer.
        LangChain calls it.

        Args:
            request: The request to the model.
            handler: Calls the model.
        """
        run, gone = self._run(request.state, request.runtime), forgotten_in(request.messages)
        run.conversation.forget(gone)
        request = request.override(messages=without_forgotten(request.messages, gone))
        conversation, shown = run.conversation, with_ids(request.messages, key=run.key)
        persist(conversation, run.messages, extent=run.extent)
        consulted = self._consult(run, shown)
        response = refusal(consulted)
        if response is None:
            context = run.recall.context(
                conversation, shown, began_with=run.began_with, restores=run.restores
            )
            fitted = self._requests.fitted(
                with_evidence(request, consulted), beside_evidence(context, consulted), conversation
            )
            response = with_citation(handler(fitted), consulted)
        persist(conversation, response.result)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncHandler
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        run, gone = self._run(request.state, request.runtime), forgotten_in(request.messages)
        run.conversation.forget(gone)
        request = request.override(messages=without_forgotten(request.messages, gone))
        conversation, shown = run.conversation, with_ids(request.messages, key=run.key)
        await apersist(conversation, run.messages, extent=run.extent)
        consulted = (
            await asyncio.to_thread(self._consult, run, shown) if self._consultation else None
        )
        response = refusal(consulted)
        if response is None:
            context = await run.recall.acontext(
                conversation, shown, began_with=run.began_with, restores=run.restores
            )
            with held_parts(running_config()) as parts:
                try:
                    fitted = self._requests.fitted(
                        with_evidence(request, consulted),
                        beside_evidence(context, consulted),
                        conversation,
                    )
                    answer = await handler(fitted)
                except asyncio.CancelledError:  # the reader has left
                    await apersist(conversation, parts.messages())
                    raise
            response = with_citation(answer, consulted)
        await apersist(conversation, response.result)
        return response

    def after_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep messages as other middleware has changed them, and what could not be kept before.
        LangChain calls it.

        Args:
            state: The agent's state.
            runtime: The run's.
        """
        run = self._run(state, runtime)
        persist(run.conversation, run.messages, extent=run.extent, is_last=True)
        return None if checkpointer() is None else ended(state)

    async def aafter_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`after_agent`, awaited."""
        run = self._run(state, runtime)
        await apersist(run.conversation, run.messages, extent=run.extent, is_last=True)
        return None if checkpointer() is None else ended(state)

    # -- inside ------------------------------------------------------------------------------------

    def _user_of(self, runtime: Runtime[Any] | None) -> str | None:
        """The user that the server knows, else the one that the run names; None where neither says
        who it is.
        """
        own = None if self._user is not None or self._trust_context else self.memory.user
        return user_of(runtime, source=self._user, own=own, trust_context=self._trust_context)

    def _session_of(self, runtime: Runtime[Any] | None) -> str | None:
        return session_of(
            runtime,
            source=self._session,
            default=self.memory.session,
            trust_context=self._trust_context,
        )

    def _may_have_had_user(self, state: HTMState) -> bool:
        """True if the thread may have had a user before a run that names none."""
        note = note_of(state)
        return self._user is None and (
            note is None or any(user is not None for user, _ in note.speakers)
        )

    def _tenant_of(self, runtime: Runtime[Any] | None, noted: str | None) -> str:
        """The tenant of a run in a thread that began in the tenant `noted`.

        Without a checkpointer of its own an agent cannot tell whether the messages that it is given
        are another tenant's.
        """
        is_required = checkpointer() is None or is_nested(runtime)
        return tenant_of_thread(
            runtime,
            source=self._tenant,
            default=self.memory.tenant,
            noted=noted,
            is_required=is_required,
        )

    def _is_in_tenant_of_graph(self, state: HTMState, runtime: Runtime[Any]) -> bool:
        """True if the tenant is that of the graph that calls the agent, where it is known from an
        earlier run.
        """
        return may_choose_tenant(self._tenant) and is_nested(runtime) and "htm_tenant" not in state

    def _begin(
        self,
        state: HTMState,
        runtime: Runtime[Any],
        user: str | None,
        saver: Any,
        *,
        tenant: str | None = None,
    ) -> dict[str, Any] | None:
        """Return what a run adds to the state when it begins: its session, and its thread's note
        where that changes.
        """
        named = self._session_of(runtime)
        session = named or f"run-{uuid4()}"
        self._warn(has_session=named is not None, has_user=user is not None)
        known: Any = state if tenant is None else {**state, "htm_tenant": tenant}
        key, conversation = self._conversation(user, session, runtime, known)
        conversation.begin_turn(self._timeout, run=present_run())
        note = note_of(state)
        is_own = saver is not None and not is_nested(runtime)
        if note is None:
            noted = new_note(user)
            messages = with_ids(state["messages"], key=noted.key)
            noted = replace(
                noted, turn=_turn_in(messages), asked=messages[-1].id if messages else None
            )
            if is_own and self._restored_in(key, messages, saver):
                lead = leading_system(messages)
                seen = self._conversations.of_session(key)
                is_first = not any(each.had_thread_in(saver) for each in seen)
                noted = replace(noted, began_with=messages[lead].id, is_first=is_first)
        else:
            messages = with_ids(state["messages"], key=note.key)
            turn = _turn_in(messages, after=note.asked)
            noted = note if turn is None else note.spoken_by(user, turn, messages[-1].id)
        if is_own:
            conversation.saw_thread_in(saver)
        update: dict[str, Any] = {} if named else {"htm_session": session}
        if self._tenant is not None and "htm_tenant" not in state:
            update["htm_tenant"] = conversation.memory.tenant
        return (update if noted == note else update | {"htm_thread": noted.to_state()}) or None

    def _restored_in(self, key: Key, messages: Sequence[AnyMessage], saver: Any) -> bool:
        """True if a thread that begins is shown what the log has: after a restart, but not after it
        was deleted.
        """
        known = [each for each in self._conversations.of_thread(key) if each.had_thread_in(saver)]
        if known and not any(message.id in each.saved for each in known for message in messages):
            for conversation in known:
                conversation.is_deleted = True
            return False
        return is_lost_with_process(saver) and is_one_turn(messages)

    def _warn(self, *, has_session: bool, has_user: bool) -> None:
        """Say once what a run without a thread, and one without a user, is missing."""
        if not has_session and "thread" not in self._warned:
            self._warned.add("thread")
            _log.warning(
                "no thread_id: each run is a session of its own; give one in config['configurable']"
            )
        if not has_user and "user" not in self._warned:
            self._warned.add("user")
            _log.warning(
                "no user_id: what is said is known in its own thread only; give one in "
                "config['configurable'], or user="
            )

    def _run(self, state: Any, runtime: Runtime[Any] | None) -> _Run:
        note, saver, nested = note_of(state), checkpointer(), is_nested(runtime)
        named = self._session_of(runtime)
        session = named or state.get("htm_session") or f"run-{uuid4()}"
        user = self._user_of(runtime) or (note.user if note else None) or self.memory.user
        conversation = self._conversation(user, session, runtime, state)[1]
        conversation.is_first = note is None or note.is_first
        conversation.resume_turn(self._timeout, run=present_run())
        key = note.key if note else conversation.key
        messages = with_ids(state["messages"], key=key)
        began_with = note.began_with if note else None
        own = note.of(user, messages) if note else messages
        recall = self._recall.of_run(runtime)
        if nested and conversation.log == session:  # an agent that a graph hands what its user said
            brought: Extent = "input" if saver is None else "part"
            return _Run(
                conversation,
                without_prompts(own),
                brought,
                key,
                None,
                restores=saver is None,
                recall=recall,
            )
        extent: Extent = "part" if nested else "input" if saver is None else "thread"
        restores = saver is None or began_with is not None
        return _Run(conversation, own, extent, key, began_with, restores=restores, recall=recall)

    def _conversation(
        self, user: str | None, session: str, runtime: Runtime[Any] | None, state: Any
    ) -> tuple[Key, Conversation]:
        subagent, worker = subagent_of(runtime), None
        if subagent is None and is_nested(runtime) and is_prompted(state["messages"]):
            subagent, worker = agent_name(), caller_of(runtime)
        tenant = self._tenant_of(runtime, state.get("htm_tenant"))
        thread = thread_of_run() if checkpointer() is not None and subagent is None else None
        timezone = timezone_of(runtime)
        key = Key(tenant, user, session, thread, subagent, worker, timezone)

        def open() -> Conversation:
            memory = memory_for(
                in_tenant(self.memory, tenant), user=user, session=session, timezone=timezone
            )
            if subagent is None:
                return Conversation(memory, log=session, thread=thread, keep=self._keep)
            log, saves = f"{session}/{subagent}", self._subagents
            return Conversation(
                memory, log=log, saves=saves, restores=False, keep=self._keep, by_agent=True
            )

        return key, self._conversations.of(key, open)

    def _consult(self, run: _Run, shown: Sequence[AnyMessage]) -> Consulted | None:
        """Consult the palace within the turn's deadline; a reader of its evidence has
        its own time.
        """
        consultation, conversation = self._consultation, run.conversation
        if consultation is None:
            return None
        try:
            return conversation.deadline.run(
                lambda: consultation.about(conversation.memory, shown), step=consultation.step
            )
        except (MemorySkipped, TimeoutError) as error:
            return consultation.unreachable(error)


def _turn_in(messages: Sequence[AnyMessage], *, after: str | None = None) -> str | None:
    """The first message of the turn that is to be answered; None where there is none.

    What stands up to the message `after`, with which the turn before was asked, is not part of it:
    somebody else may have said it.
    """
    at = max(
        [
            first_of_turn(messages),
            *(n + 1 for n, each in enumerate(messages) if after and each.id == after),
        ]
    )
    return messages[at].id if at < len(messages) else None


def _tools(
    names: Sequence[str], memory: Memory, run: RunOptions, recall: PromptRecall
) -> list[BaseTool]:
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        check_choice(name, TOOLS, what="tools")
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"expected each of tools once, got {', '.join(wanted)}")
    shown: dict[str, Any] = {**recall.choices.filters(), "min_trust": recall.min_trust}
    made = {
        "recall": lambda: create_recall_tool(memory, scope=recall.scope, **run, **shown),
        "remember": lambda: create_remember_tool(memory, **run),
        "forget": lambda: create_forget_tool(memory, **run),
    }
    return [made[each]() for each in wanted]
