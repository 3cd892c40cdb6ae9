"""Memory for `create_agent`: everything said is kept, what no longer fits is left out, what is asked for comes back."""

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

from htm_core import InvalidInput, Memory, Scope, anonymous

from .conversation import Conversation, Conversations, Facts
from .grounding import Consulting
from .options import SCOPES, called, memory_given, named, one_of, score, seconds, whole
from .persist import akeep, keep
from .recalled_block import appended, block, placed, shown_in
from .retrieval import Asking
from .scope import Named, session_of, subagent_of, user_of
from .tokens import Counters
from .tools import create_forget_tool, create_recall_tool, create_remember_tool
from .window import fit, leading

_log = logging.getLogger("htm.langchain")

# The budget where neither the user nor the model's profile names one, and the share of a model's input that is used.
DEFAULT_BUDGET = 16_000
PROFILE_SHARE = 0.7
# Recall never takes more than this share of the budget.
RECALL_SHARE = 0.25

TOOLS = ("recall", "remember", "forget")

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class HTMState(AgentState[Any]):
    """An agent's state with the session of a run that has no thread."""

    htm_session: NotRequired[Annotated[str, PrivateStateAttr]]


class HTMMemoryMiddleware(AgentMiddleware[HTMState, Any, Any]):
    """Give an agent a memory that never forgets, for all of a server's users at once.

    Every message is kept as soon as it is there. A request to the model holds the newest whole turns that `budget` tokens
    hold, counting system prompt, tools and recall (default: 0.7 of the input that the model's profile names, else
    16,000), and what memory knows about the question: up to `recall_limit` passages with at least `min_score`, in at
    most `recall_budget` tokens and a quarter of the budget, if memory answers within `recall_timeout` seconds; as a
    message before the question (`inject="human"`) or at the end of the system prompt ("system", which costs the
    provider's cache of the prefix). `tools` gives the model "recall", "remember" and "forget" to use by itself.

    `user` is a name or a callable of the runtime; else the context's `user_id`, the server's identity, the config's
    `user_id`, the memory's own user. Without any the scope is the session. `session` likewise; else the context's
    `session_id`, the thread, the memory's own session, or one session per run. `scope` is "user", "session" or "tenant".
    With `restore` a run that brings only a new turn is shown what the log has before it. An agent that another agent's
    tool calls is shown what memory knows, and is kept, in a session of its own, only with `subagents`. Neither recall
    nor the log stops an agent: what fails is logged, fails in the trace, and what could not be kept is kept with the
    run's next message.

    A `palace` (`htm_core.palace.Palace`) is consulted about each question before the model is: the model is told the
    evidence, and the answer's `response_metadata["htm_grounding"]` holds it. With `enforce="strict"` a miss is answered
    honestly without the model, and a layer that could not be asked raises `Ungrounded`. A thread that begins is told
    what the palace wakes up to.
    """

    state_schema = HTMState
    trace_policy = TracePolicy(process_inputs=omit_payload)

    def __init__(
        self,
        memory: Memory,
        *,
        user: Named = None,
        session: Named = None,
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
        self.memory = memory_given(memory)
        self._consulting = None if palace is None else Consulting(palace, enforce=enforce)
        self._user = named(user, what="user")
        self._session = named(session, what="session")
        self._budget = None if budget is None else whole(budget, least=1, what="budget")
        self._recall_budget = whole(recall_budget, least=0, what="recall_budget")
        self._asking = Asking(
            limit=whole(recall_limit, least=0, what="recall_limit"),
            min_score=score(min_score),
            scope=one_of(scope, SCOPES, what="scope"),
            seconds=seconds(recall_timeout),
            restore=restore,
        )
        self._inject = one_of(inject, ("human", "system"), what="inject")
        self._subagents = subagents
        self._name = called(name)
        self.tools = _tools(tools, memory, user=user, session=session, scope=scope)
        self._conversations = Conversations()
        self._counters = Counters()
        self._warned = False

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a handle, as the memory behind it, with what it knows of each conversation

    @property
    def name(self) -> str:
        """The name among an agent's middleware; two of them need two names."""
        return self._name

    # -- what LangChain calls -----------------------------------------------------------------------------------------

    def before_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Name the session of a run that has none."""
        if session_of(runtime, given=self._session, default=self.memory.session) is not None:
            return None
        if not self._warned:
            _log.warning("no thread_id: each run is a session of its own; give one in config['configurable']")
            self._warned = True
        return {"htm_session": f"run-{uuid4()}"}

    async def abefore_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`before_agent`, awaited."""
        return self.before_agent(state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Keep what was said, show the model what fits and what memory knows, and keep its answer."""
        conversation = self._conversation(request.state, request.runtime)
        keep(conversation, request.state["messages"])
        consulted = self._consulting and self._consulting.about(conversation.memory, request.messages)
        response = consulted.refusal() if consulted else None
        if response is None:
            told = consulted.told(request) if consulted else request
            response = handler(self._remembering(told, self._asking.facts(conversation, request.messages)))
            response = consulted.cited(response) if consulted else response
        keep(conversation, response.result)
        return response

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        conversation = self._conversation(request.state, request.runtime)
        await akeep(conversation, request.state["messages"])
        ask = self._consulting and self._consulting.about
        consulted = await asyncio.to_thread(ask, conversation.memory, request.messages) if ask else None
        response = consulted.refusal() if consulted else None
        if response is None:
            told = consulted.told(request) if consulted else request
            response = await handler(self._remembering(told, await self._asking.afacts(conversation, request.messages)))
            response = consulted.cited(response) if consulted else response
        await akeep(conversation, response.result)
        return response

    def after_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep what other middleware made of the messages, and what could not be kept before."""
        keep(self._conversation(state, runtime), state["messages"])
        return None

    async def aafter_agent(self, state: HTMState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`after_agent`, awaited."""
        await akeep(self._conversation(state, runtime), state["messages"])
        return None

    # -- whose ---------------------------------------------------------------------------------------------------------

    def _conversation(self, state: Any, runtime: Runtime[Any] | None) -> Conversation:
        found = session_of(runtime, given=self._session, default=self.memory.session)
        session = found or state.get("htm_session") or f"run-{uuid4()}"
        user = user_of(runtime, given=self._user, default=self.memory.user) or anonymous(session)
        other = subagent_of(runtime)

        def open() -> Conversation:
            memory = self.memory.of(user=user, session=session)
            if other is None:
                return Conversation(memory, log=session)
            return Conversation(memory, log=f"{session}/{other}", keeps=self._subagents, restores=False)

        return self._conversations.of((user, session, other), open)

    # -- what the model is shown --------------------------------------------------------------------------------------

    def _remembering(self, request: ModelRequest[Any], facts: Facts) -> ModelRequest[Any]:
        counts = self._counters.of(request.model)
        budget = self._budget or _budget_of(request.model)
        system = [request.system_message] if request.system_message else []
        room = budget - counts(system, tools=[*request.tools, *_answers_as(request.response_format)])
        reserve = min(self._recall_budget, int(budget * RECALL_SHARE))
        lead = leading(request.messages)
        together = [*request.messages[:lead], *facts.before, *request.messages[lead:]]
        window = fit(together, room=max(0, room - reserve), led=bool(system), counts=counts)
        reserve = min(reserve, room - counts(window))
        note = block(facts.recalled, shown=shown_in(window), limit=self._asking.limit, room=reserve, counts=counts)
        if self._inject == "system":
            return request.override(messages=window, system_message=appended(request.system_message, note))
        return request.override(messages=placed(window, note))


def _budget_of(model: BaseChatModel) -> int:
    profile = getattr(model, "profile", None) or {}
    most = profile.get("max_input_tokens")
    return int(most * PROFILE_SHARE) if isinstance(most, int) and most > 0 else DEFAULT_BUDGET


def _answers_as(response_format: Any) -> list[dict[str, Any]]:
    """The schemas that an answer is bound to, which a provider is sent like tools."""
    specs = [*getattr(response_format, "schema_specs", ()), getattr(response_format, "schema_spec", None)]
    return [
        {"type": "function", "function": {"name": spec.name, "parameters": spec.json_schema}}
        for spec in specs if spec is not None
    ]  # fmt: skip


def _tools(names: Sequence[str], memory: Memory, *, user: Named, session: Named, scope: Scope | None) -> list[BaseTool]:
    """The tools of these names, for the user and the session that a run is about."""
    given = (names,) if isinstance(names, str) else tuple(names)
    for each in given:
        one_of(each, TOOLS, what="tools")
    if len(set(given)) < len(given):
        raise InvalidInput(f"expected each of tools once, got {', '.join(given)}")
    made = {
        "recall": lambda: create_recall_tool(memory, user=user, session=session, scope=scope),
        "remember": lambda: create_remember_tool(memory, user=user, session=session),
        "forget": lambda: create_forget_tool(memory, user=user, session=session),
    }
    return [made[each]() for each in given]
