"""Memory for `create_agent`: everything that is said is kept, what no longer fits is left out, and recall brings it back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NotRequired, Self
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
from htm_core.prompt.choices import Choices, check_choices
from htm_core.prompt.deadline import MemorySkipped
from htm_core.prompt.keep import Keep, check_keep
from htm_core.prompt.memory_block import Inject, check_inject
from htm_core.prompt.origin import check_min_trust
from htm_core.prompt.scope import check_memory, memory_for

from .answers import held_parts
from .conversation import Conversation, Conversations, Extent, Key, first_of_turn, is_one_turn
from .grounding import PalaceConsultation, beside_evidence, refusal, with_citation, with_evidence
from .messages import leading_system
from .options import (
    SCOPES,
    check_choice,
    check_name,
    check_name_source,
    check_recall_limit,
    check_rewrite,
    check_score,
    check_tenant,
    check_timeout,
    check_whole,
)
from .persist import apersist, brief, persist
from .request import RequestBuilder
from .retrieval import PromptRecall
from .rewriting import Rewrite
from .run_inputs import is_prompted, is_resumed, note_inputs, present_run, without_prompts
from .scope import (
    NameSource,
    TenantSource,
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
from .tools import create_forget_tool, create_recall_tool, create_remember_tool, forgotten_in, without_forgotten

_log = logging.getLogger("htm.langchain")

TOOLS = ("recall", "remember", "forget")

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class HTMState(AgentState[Any]):
    """An agent's state with the session of a run that has no thread, and with what is noted of its thread."""

    htm_session: NotRequired[Annotated[str, PrivateStateAttr]]
    htm_tenant: NotRequired[Annotated[str, PrivateStateAttr]]
    htm_thread: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


@dataclass(frozen=True, slots=True)
class _Run:
    """The state of a run, as far as it is its user's, each message with an id.

    `began_with` is the message before which the log is shown; where no thread began it is None, and one new turn counts.
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

    Every message is kept as soon as it is there. A request to the model holds the newest whole turns that fit the budget,
    and what memory knows about the question.

    Args:
        memory: The memory. Each run works on it as the run's user and session.
        user: A name, or a callable of the runtime. By default the server's authenticated user, the memory's own user, or
            else the `user_id` of the run's context or config. Without any, memories belong to the session alone.
        session: Likewise. By default the run's thread, the memory's own session, the context's `session_id`, or a new
            session for each run.
        scope: What is recalled: "user", "session" or "tenant". By default all of a known user's memories, and only the
            session's where no user is known.
        budget: Tokens of a request, with system prompt, tools and recall. By default 0.7 of the input that the model's
            profile names, else 16,000. A message that is too long for it loses its middle in the request, with a line
            that says so; the log has it whole.
        recall_budget: Tokens of what is recalled at most, 1,000 by default; never more than a quarter of the budget.
        profile_budget: Tokens at most of what is known of a user from other conversations, which is shown with what is
            recalled; 300 by default, never more than a tenth of the budget, 0 shows nothing. Nothing without a
            known user, with scope="session", and where recall is narrowed by `where`, `tags`, a `timeframe` or `limit=0`.
        limit: Passages to recall at most; 8 by default, 0 recalls none.
        recall_limit: Another name of `limit`.
        recall_timeout: Seconds to wait for recall, 10 by default; None sets no limit of its own.
        timeout: Seconds that a turn waits for a memory that does not answer, and that all its recalls have, 10 by default; None
            waits as long as it takes. Keeping what was said has no limit while the database answers.
        min_score: The lowest score, from 0 (the default) to 1, of a passage that is shown. What is shown and how much of it
                goes by relevance: see docs/why/reader.md.
        min_trust: The lowest trust, from 0 (the default) to 4, of what is shown: 1 leaves out pages of the web, 2 results of
            tools, too, 3 files and imports, 4 all but the user's own words. What comes from outside is marked in any case.
        where: A filter on the metadata of what is recalled, such as `{"project": "atlas"}`; by default none.
        tags: Tags that a recalled memory must have, all of them; by default none.
        timeframe: When it was said, such as "last month"; "auto" reads it from the question. By default any time.
        keep: Which messages recall may find: roles such as `("user", "assistant")`, or a callable of a message. By default
            all. The log has every message, so that the conversation goes on as it was.
        rewrite: A callable of the question and the messages, awaited or not, that answers with what memory is asked: a
            text, a list of texts, or None for the question itself, which is also asked when the callable fails.
        tenant: Whose tenant a run is about: a name, a callable of the runtime, or a list of the names that the context's or
            the config's `tenant` may choose from. By default the memory's own, whatever a run says.
        trust_context: Whether the context and the config of a run may name another user and session than the server's.
            False by default, since a client may have written them: a run that names another user logs an error, and works
            for the server's. True where your own code alone writes them.
        inject: Where memory's block goes, in the request alone: "question" (the default), in the question's message before its
            words, which every model's template takes; "message", in a message of its own before it; or "system", at the end of
            the system prompt, which costs the provider's cache of the conversation.
        tools: Which of "recall", "remember" and "forget" the model may use by itself; none by default.
        restore: Whether a run that brings only a new turn is shown what the log has from before it; True by default.
        subagents: Whether an agent that another agent's tool calls, or a graph with a prompt of its own, is kept too, in a
            session of its own. It is shown what memory knows in any case.
        palace: A `htm_core.palace.Palace` that is consulted about each question before the model is. The model reads the
            evidence, and the answer's `response_metadata["htm_grounding"]` holds it. A thread that starts is shown what
            the palace wakes up to.
        enforce: "strict" answers a question without evidence honestly, without the model, and raises `Ungrounded` when a
            layer of the palace could not be reached. "advise" lets the model answer.
        name: The name among an agent's middleware; two of them need two names.

    A run narrows what is recalled by `where`, `tags`, `timeframe`, `as_of`, `valid_at`, `sources`, `min_trust` and `limit` in its
    context or its `configurable`: both filters hold then, and all tags; times and a limit replace those given here.

    A failure of recall or of the log does not stop an agent: it is logged, and shown as a failed run in the trace. What
    could not be kept is kept with the run's next message. Raises `InvalidInput` for options that cannot work, and for such
    choices of a run.

        memory = HTMMemoryMiddleware(Memory("atlas"), keep=("user", "assistant"), timeframe="auto")
        agent = create_agent(model, tools, middleware=[memory], checkpointer=saver)
        agent.invoke({"messages": "Hello!"}, {"configurable": {"thread_id": "t1", "user_id": "ann"}})
    """

    state_schema = HTMState
    trace_policy = TracePolicy(process_inputs=omit_payload)

    def __init__(
        self,
        memory: Memory,
        *,
        user: NameSource = None,
        session: NameSource = None,
        scope: Scope | None = None,
        budget: int | None = None,
        recall_budget: int = 1_000,
        profile_budget: int = 150,
        recall_limit: int = 8,
        recall_timeout: float | None = 10.0,
        timeout: float | None = 10.0,
        min_score: float = 0.0,
        min_trust: int = 0,
        limit: int | None = None,
        where: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        timeframe: Any = None,
        keep: Keep[AnyMessage] | None = None,
        rewrite: Rewrite | None = None,
        tenant: TenantSource = None,
        trust_context: bool = False,
        inject: Inject = "question",
        tools: Sequence[str] = (),
        restore: bool = True,
        subagents: bool = False,
        palace: object | None = None,
        enforce: Literal["strict", "advise"] = "advise",
        name: str = "HTMMemoryMiddleware",
    ) -> None:
        super().__init__()
        self.memory = check_memory(memory)
        self._consultation = None if palace is None else PalaceConsultation(palace, enforce=enforce)
        self._user = check_name_source(user, what="user")
        self._session = check_name_source(session, what="session")
        self._requests = RequestBuilder(
            budget=None if budget is None else check_whole(budget, least=1, what="budget"),
            recall_budget=check_whole(recall_budget, least=0, what="recall_budget"),
            profile_budget=check_whole(profile_budget, least=0, what="profile_budget"),
            inject=check_inject(inject),
        )
        self._tenant = check_tenant(tenant)
        self._trust_context = trust_context
        if tenant is not None and palace is not None:
            raise InvalidInput(
                "expected palace= or tenant=, since a palace is of one tenant; make a middleware for each"
            )
        self._keep = check_keep(keep)
        choices = check_choices(
            limit=check_recall_limit(limit, recall_limit), where=where, tags=tags, timeframe=timeframe
        )
        self._recall = PromptRecall(
            choices=choices,
            min_score=check_score(min_score),
            min_trust=check_min_trust(min_trust),
            scope=check_choice(scope, SCOPES, what="scope"),
            timeout=check_timeout(recall_timeout),
            restore=restore,
            rewrite=check_rewrite(rewrite),
            profile_budget=self._requests.profile_budget,
        )
        self._subagents = subagents
        self._name = check_name(name)
        self.tools = _tools(
            tools, memory, ToolOptions(user, session, self._tenant, trust_context, scope, choices, min_trust)
        )
        note_inputs()
        self._conversations = Conversations()
        self._timeout = check_timeout(timeout, what="timeout")
        self._warned: set[str] = set()

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a handle like the memory itself, with what it knows of each conversation

    @property
    def name(self) -> str:
        """The name among an agent's middleware; two of them need two names."""
        return self._name

    # -- what LangChain calls -----------------------------------------------------------------------------------------

    def before_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Note who speaks in which thread, and give memory its time for the turn. LangChain calls it.

        Args:
            state: The agent's state.
            runtime: The run's.

        Raises `InvalidInput` for a reserved user, and for choices of a run that recall would refuse.
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
        """Keep what was said, show the model what fits and what memory knows, and keep its answer. LangChain calls it.

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
            context = run.recall.context(conversation, shown, began_with=run.began_with, restores=run.restores)
            fitted = self._requests.fitted(
                with_evidence(request, consulted), beside_evidence(context, consulted), conversation
            )
            response = with_citation(handler(fitted), consulted)
        persist(conversation, response.result)
        return response

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        run, gone = self._run(request.state, request.runtime), forgotten_in(request.messages)
        run.conversation.forget(gone)
        request = request.override(messages=without_forgotten(request.messages, gone))
        conversation, shown = run.conversation, with_ids(request.messages, key=run.key)
        await apersist(conversation, run.messages, extent=run.extent)
        consulted = await asyncio.to_thread(self._consult, run, shown) if self._consultation else None
        response = refusal(consulted)
        if response is None:
            context = await run.recall.acontext(conversation, shown, began_with=run.began_with, restores=run.restores)
            with held_parts(running_config()) as parts:
                try:
                    fitted = self._requests.fitted(
                        with_evidence(request, consulted), beside_evidence(context, consulted), conversation
                    )
                    answer = await handler(fitted)
                except asyncio.CancelledError:  # the reader has left
                    await apersist(conversation, parts.messages())
                    raise
            response = with_citation(answer, consulted)
        await apersist(conversation, response.result)
        return response

    def after_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep messages as other middleware has changed them, and what could not be kept before. LangChain calls it.

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

    # -- inside -------------------------------------------------------------------------------------------------------

    def _user_of(self, runtime: Runtime[Any] | None) -> str | None:
        """The user that the server knows, else the one that the run names; None where neither says who it is."""
        own = None if self._user is not None or self._trust_context else self.memory.user
        return user_of(runtime, source=self._user, own=own, trust_context=self._trust_context)

    def _session_of(self, runtime: Runtime[Any] | None) -> str | None:
        return session_of(runtime, source=self._session, default=self.memory.session, trust_context=self._trust_context)

    def _may_have_had_user(self, state: HTMState) -> bool:
        """True if the thread may have had a user before a run that names none."""
        note = note_of(state)
        return self._user is None and (note is None or any(user is not None for user, _ in note.speakers))

    def _tenant_of(self, runtime: Runtime[Any] | None, noted: str | None) -> str:
        """The tenant of a run in a thread that began in the tenant `noted`.

        Without a checkpointer of its own an agent cannot tell whether the messages that it is given are another tenant's.
        """
        is_required = checkpointer() is None or is_nested(runtime)
        return tenant_of_thread(
            runtime, source=self._tenant, default=self.memory.tenant, noted=noted, is_required=is_required
        )

    def _is_in_tenant_of_graph(self, state: HTMState, runtime: Runtime[Any]) -> bool:
        """True if the tenant is that of the graph that calls the agent, where it is known from an earlier run."""
        return may_choose_tenant(self._tenant) and is_nested(runtime) and "htm_tenant" not in state

    def _begin(
        self, state: HTMState, runtime: Runtime[Any], user: str | None, saver: Any, *, tenant: str | None = None
    ) -> dict[str, Any] | None:
        """Return what a run adds to the state when it begins: its session, and its thread's note where that changes."""
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
            noted = replace(noted, turn=_turn_in(messages), asked=messages[-1].id if messages else None)
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
        """True if a thread that begins is shown what the log has: after a restart, but not after it was deleted."""
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
            _log.warning("no thread_id: each run is a session of its own; give one in config['configurable']")
        if not has_user and "user" not in self._warned:
            self._warned.add("user")
            _log.warning(
                "no user_id: what is said is known in its own thread only; give one in config['configurable'], or user="
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
            return _Run(conversation, without_prompts(own), brought, key, None, restores=saver is None, recall=recall)
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
            memory = memory_for(in_tenant(self.memory, tenant), user=user, session=session, timezone=timezone)
            if subagent is None:
                return Conversation(memory, log=session, thread=thread, keep=self._keep)
            log, saves = f"{session}/{subagent}", self._subagents
            return Conversation(memory, log=log, saves=saves, restores=False, keep=self._keep, by_agent=True)

        return key, self._conversations.of(key, open)

    def _consult(self, run: _Run, shown: Sequence[AnyMessage]) -> Consulted | None:
        """Consult the palace within the turn's deadline; a reader of its evidence has its own time."""
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

    What stands up to the message `after`, with which the turn before was asked, is not part of it: somebody else may have said it.
    """
    at = max([first_of_turn(messages), *(n + 1 for n, each in enumerate(messages) if after and each.id == after)])
    return messages[at].id if at < len(messages) else None


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """Options that the middleware and its tools have in common."""

    user: NameSource
    session: NameSource
    tenant: TenantSource
    trust_context: bool
    scope: Scope | None
    choices: Choices
    min_trust: int


def _tools(names: Sequence[str], memory: Memory, options: ToolOptions) -> list[BaseTool]:
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        check_choice(name, TOOLS, what="tools")
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"expected each of tools once, got {', '.join(wanted)}")
    whose: dict[str, Any] = {
        "user": options.user,
        "session": options.session,
        "tenant": options.tenant,
        "trust_context": options.trust_context,
    }
    made = {
        "recall": lambda: create_recall_tool(
            memory, **whose, scope=options.scope, min_trust=options.min_trust, **options.choices.filters()
        ),
        "remember": lambda: create_remember_tool(memory, **whose),
        "forget": lambda: create_forget_tool(memory, **whose),
    }
    return [made[each]() for each in wanted]
