"""Memory for `create_agent`: everything that is said is kept, what no longer fits is left out, and recall brings it back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
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
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from htm_core import InvalidInput, Memory, Scope
from htm_core.integration.scope import check_memory, memory_for

from .conversation import Conversation, Conversations, TurnContext
from .grounding import PalaceConsultation, refusal, with_citation, with_evidence
from .messages import leading_system
from .options import SCOPES, check_choice, check_name, check_name_source, check_score, check_timeout, check_whole
from .persist import apersist, persist
from .retrieval import PromptRecall, append_to_system, before_question, recalled_message, shown_texts
from .scope import NameSource, session_of, subagent_of, user_of
from .tokens import Counters
from .tools import create_forget_tool, create_recall_tool, create_remember_tool
from .window import fit

_log = logging.getLogger("htm.langchain")

# The budget when neither the user nor the model's profile says one, and the share of a model's input that is used.
DEFAULT_BUDGET = 16_000
PROFILE_SHARE = 0.7
# The largest share of the budget for what is recalled.
RECALL_SHARE = 0.25

TOOLS = ("recall", "remember", "forget")

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class HTMState(AgentState[Any]):
    """An agent's state with the session of a run that has no thread."""

    htm_session: NotRequired[Annotated[str, PrivateStateAttr]]


class HTMMemoryMiddleware(AgentMiddleware[HTMState, Any, Any]):
    """Give an agent a memory that never forgets, for all of a server's users at once.

    Every message is kept as soon as it is there. A request to the model holds the newest whole turns that fit the budget,
    and what memory knows about the question.

    Args:
        memory: The memory. Each run works on it as the run's user and session.
        user: A name, or a callable of the runtime. By default the context's `user_id`, the server's identity, the
            config's `user_id`, or the memory's own user. Without any, memories belong to the session alone.
        session: Likewise. By default the context's `session_id`, the thread, the memory's own session, or a new session
            for each run.
        scope: What is recalled: "user", "session" or "tenant". By default all of a known user's memories, and only the
            session's where no user is known.
        budget: Tokens of a request, with system prompt, tools and recall. By default 0.7 of the input that the model's
            profile names, else 16,000.
        recall_budget: Tokens of what is recalled at most; never more than a quarter of the budget.
        recall_limit: Passages to recall at most; 0 recalls none.
        recall_timeout: Seconds to wait for recall; None waits as long as it takes.
        min_score: The lowest score, from 0 to 1, of a passage that is shown.
        inject: Where the recalled passages go: "human", in a message before the question, or "system", at the end of the
            system prompt, which costs the provider's cache of the prefix.
        tools: Which of "recall", "remember" and "forget" the model may use by itself.
        restore: Whether a run that brings only a new turn is shown what the log has from before it.
        subagents: Whether an agent that another agent's tool calls is kept too, in a session of its own. It is shown what
            memory knows in any case.
        palace: A `htm_core.palace.Palace` that is consulted about each question before the model is. The model reads the
            evidence, and the answer's `response_metadata["htm_grounding"]` holds it. A thread that starts is shown what
            the palace wakes up to.
        enforce: "strict" answers a question without evidence honestly, without the model, and raises `Ungrounded` when a
            layer of the palace could not be reached. "advise" lets the model answer.
        name: The name among an agent's middleware; two of them need two names.

    A failure of recall or of the log does not stop an agent: it is logged, and shown as a failed run in the trace. What
    could not be kept is kept with the run's next message. Raises `InvalidInput` for options that cannot work.

        agent = create_agent(model, tools, middleware=[HTMMemoryMiddleware(Memory("atlas"))], checkpointer=saver)
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
        recall_limit: int = 8,
        recall_timeout: float | None = 10.0,
        min_score: float = 0.2,
        inject: Literal["human", "system"] = "human",
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
        self._budget = None if budget is None else check_whole(budget, least=1, what="budget")
        self._recall_budget = check_whole(recall_budget, least=0, what="recall_budget")
        self._recall = PromptRecall(
            limit=check_whole(recall_limit, least=0, what="recall_limit"),
            min_score=check_score(min_score),
            scope=check_choice(scope, SCOPES, what="scope"),
            timeout=check_timeout(recall_timeout),
            restore=restore,
        )
        self._inject = check_choice(inject, ("human", "system"), what="inject")
        self._subagents = subagents
        self._name = check_name(name)
        self.tools = _tools(tools, memory, user=user, session=session, scope=scope)
        self._conversations = Conversations()
        self._counters = Counters()
        self._has_warned = False

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a handle like the memory itself, with what it knows of each conversation

    @property
    def name(self) -> str:
        """The name among an agent's middleware; two of them need two names."""
        return self._name

    # -- what LangChain calls -----------------------------------------------------------------------------------------

    def before_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Name the session of a run that has none."""
        if session_of(runtime, given=self._session, default=self.memory.session) is not None:
            return None
        if not self._has_warned:
            _log.warning("no thread_id: each run is a session of its own; give one in config['configurable']")
            self._has_warned = True
        return {"htm_session": f"run-{uuid4()}"}

    async def abefore_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`before_agent`, awaited."""
        return self.before_agent(state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Keep what was said, show the model what fits and what memory knows, and keep its answer."""
        conversation = self._conversation(request.state, request.runtime)
        persist(conversation, request.state["messages"])
        consulted = None
        if self._consultation is not None:
            consulted = self._consultation.about(conversation.memory, request.messages)
        response = refusal(consulted)
        if response is None:
            context = self._recall.context(conversation, request.messages)
            response = with_citation(handler(self._fitted(with_evidence(request, consulted), context)), consulted)
        persist(conversation, response.result)
        return response

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        conversation = self._conversation(request.state, request.runtime)
        await apersist(conversation, request.state["messages"])
        consulted = None
        if self._consultation is not None:
            consulted = await asyncio.to_thread(self._consultation.about, conversation.memory, request.messages)
        response = refusal(consulted)
        if response is None:
            context = await self._recall.acontext(conversation, request.messages)
            response = with_citation(await handler(self._fitted(with_evidence(request, consulted), context)), consulted)
        await apersist(conversation, response.result)
        return response

    def after_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep messages as other middleware has changed them, and what could not be kept before."""
        persist(self._conversation(state, runtime), state["messages"])
        return None

    async def aafter_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`after_agent`, awaited."""
        await apersist(self._conversation(state, runtime), state["messages"])
        return None

    # -- inside -------------------------------------------------------------------------------------------------------

    def _conversation(self, state: Any, runtime: Runtime[Any] | None) -> Conversation:
        found = session_of(runtime, given=self._session, default=self.memory.session)
        session = found or state.get("htm_session") or f"run-{uuid4()}"
        user = user_of(runtime, given=self._user, default=self.memory.user)
        subagent = subagent_of(runtime)

        def open() -> Conversation:
            memory = memory_for(self.memory, user=user, session=session)
            if subagent is None:
                return Conversation(memory, log=session)
            return Conversation(memory, log=f"{session}/{subagent}", saves=self._subagents, restores=False)

        return self._conversations.of((user, session, subagent), open)

    def _fitted(self, request: ModelRequest[Any], context: TurnContext) -> ModelRequest[Any]:
        """A request with as much of the conversation and of what memory knows as fits the budget."""
        counts = self._counters.of(request.model)
        budget = self._budget or _budget_of(request.model)
        system = [request.system_message] if request.system_message else []
        room = budget - counts(system, tools=[*request.tools, *_response_schemas(request.response_format)])
        reserve = min(self._recall_budget, int(budget * RECALL_SHARE))
        lead = leading_system(request.messages)
        messages = [*request.messages[:lead], *context.earlier, *request.messages[lead:]]
        window = fit(messages, room=max(0, room - reserve), has_system_prompt=bool(system), counts=counts)
        note = recalled_message(
            context.recalled,
            shown=shown_texts(window),
            limit=self._recall.limit,
            room=min(reserve, room - counts(window)),
            counts=counts,
        )
        if self._inject == "system":
            text = "" if note is None else str(note.text)
            return request.override(messages=window, system_message=append_to_system(request.system_message, text))
        return request.override(messages=before_question(window, note))


def _budget_of(model: BaseChatModel) -> int:
    profile = getattr(model, "profile", None) or {}
    limit = profile.get("max_input_tokens")
    return int(limit * PROFILE_SHARE) if isinstance(limit, int) and limit > 0 else DEFAULT_BUDGET


def _response_schemas(response_format: Any) -> list[dict[str, Any]]:
    """The schemas of a structured response, which a provider is sent like tools."""
    specs = [*getattr(response_format, "schema_specs", ()), getattr(response_format, "schema_spec", None)]
    return [
        {"type": "function", "function": {"name": spec.name, "parameters": spec.json_schema}}
        for spec in specs if spec is not None
    ]  # fmt: skip


def _tools(
    names: Sequence[str], memory: Memory, *, user: NameSource, session: NameSource, scope: Scope | None
) -> list[BaseTool]:
    given = (names,) if isinstance(names, str) else tuple(names)
    for each in given:
        check_choice(each, TOOLS, what="tools")
    if len(set(given)) < len(given):
        raise InvalidInput(f"expected each of tools once, got {', '.join(given)}")
    made = {
        "recall": lambda: create_recall_tool(memory, user=user, session=session, scope=scope),
        "remember": lambda: create_remember_tool(memory, user=user, session=session),
        "forget": lambda: create_forget_tool(memory, user=user, session=session),
    }
    return [made[each]() for each in given]
