"""Tools of an agent over a memory: to recall, to remember and to forget.

What runs the agent decides whose memory that is, through arguments that no model sees or fills.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn, Unpack

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException
from pydantic import BaseModel, Field

from htm_core import HTMError, Memory, Scope
from htm_core.prompt import tool_replies
from htm_core.prompt.choices import MemoryFilters, check_choices
from htm_core.prompt.option_names import part, with_options
from htm_core.prompt.origin import check_min_trust, trusted
from htm_core.prompt.overview import recall_or_overview
from htm_core.prompt.scope import check_memory, scope_of

from .option_sets import RecallToolOptions, RunOptions
from .options import SCOPES, check_choice, check_name_source, check_score, check_tenant
from .retriever import documents
from .scope import NameSource, TenantSource, chosen, memory_of, run_of

_TOOLS, _ARGUMENTS = tool_replies.TOOLS, tool_replies.ARGUMENTS
# LangGraph fills this parameter by its name, `runtime`, and leaves it out of what a model sees.
Hidden = Annotated[Any, InjectedToolArg]


class RecallArguments(BaseModel):
    """Arguments of recall."""

    query: str = Field(description=_ARGUMENTS["query"])
    limit: int = Field(default=5, description=_ARGUMENTS["limit"])
    timeframe: str | None = Field(default=None, description=_ARGUMENTS["timeframe"])


class RememberArguments(BaseModel):
    """Arguments of remember."""

    content: str = Field(description=_ARGUMENTS["content"])
    importance: float | None = Field(default=None, description=_ARGUMENTS["importance"])
    tags: list[str] | None = Field(default=None, description=_ARGUMENTS["tags"])


class ForgetArguments(BaseModel):
    """Arguments of forget."""

    memory_id: str = Field(description=_ARGUMENTS["memory_id"])


@with_options(RecallToolOptions, trust_context=False, min_score=0.0, min_trust=0)
def create_recall_tool(
    memory: Memory,
    *,
    scope: Scope | None = None,
    name: str = "recall",
    description: str = _TOOLS["recall"],
    **options: Unpack[RecallToolOptions],
) -> BaseTool:
    """A tool that answers with what is remembered, each memory with its id; its message's artifact
    is the documents.

    Args:
        memory: The memory, or one of the same tenant: user and session are found for each run.
        scope: "user", "session" or "tenant" (everybody's). By default all of a known user's
            memories, and only the session's where no user is known.
        name: The tool's name.
        description: What the model reads about the tool.
        options: Options of `RunOptions` say whose memory it is, and those of `PromptFilters` what
            is shown. A `timeframe` holds where the model names no time. A run may narrow it
            further, as for `HTMMemoryMiddleware`.

    A model can set none of these. Raises `InvalidInput` for what these arguments cannot be.

        agent = create_agent(model, tools=[create_recall_tool(memory),
        create_remember_tool(memory)])
    """
    run_scope = ToolScope(check_memory(memory), **part(RunOptions, options))
    check_choice(scope, SCOPES, what="scope")
    least, min_trust = check_score(options["min_score"]), check_min_trust(options["min_trust"])
    choices = check_choices(limit=tool_replies.allowed_limit(5), **part(MemoryFilters, options))

    @reply_to_errors
    def recall(
        query: str,
        limit: int = 5,
        timeframe: str | None = None,
        *,
        runtime: Hidden = None,
        config: RunnableConfig,
    ) -> tuple[str, list[Document]]:
        """Look up what was said or noted before."""
        theirs = run_scope.memory(runtime, config)
        own = chosen(run_scope.trusted(runtime, config), choices).narrowed({"timeframe": timeframe})
        result = recall_or_overview(
            theirs,
            query,
            choices=own,
            scope=scope or scope_of(theirs),
            limit=tool_replies.allowed_limit(limit),
            min_score=least,
        )
        result = trusted(result, min_trust)
        return tool_replies.recall_reply(theirs, result), documents(result)

    return make_tool(
        recall,
        run_scope,
        name,
        description,
        RecallArguments,
        response_format="content_and_artifact",
    )


@with_options(RunOptions, trust_context=False)
def create_remember_tool(
    memory: Memory,
    *,
    name: str = "remember",
    description: str = _TOOLS["remember"],
    **run: Unpack[RunOptions],
) -> BaseTool:
    """A tool that remembers a fact for whoever is speaking; where no user is known, for this
    session alone.

    What it remembers is the assistant's word, not the user's.

    Args:
        memory: The memory, or one of the same tenant: user and session are found for each run.
        name: The tool's name; "remember" by default.
        description: What the model reads about the tool.
        run: Options of whose memory it is.

    A model can set none of these. Raises `InvalidInput` for what these arguments cannot be.

        agent = create_agent(model, tools=[create_remember_tool(memory, user="ann")])
    """
    run_scope = ToolScope(check_memory(memory), **run)

    @reply_to_errors
    def remember(
        content: str,
        importance: float | None = None,
        tags: list[str] | None = None,
        *,
        runtime: Hidden = None,
        config: RunnableConfig,
    ) -> str:
        """Keep a fact for good."""
        theirs = run_scope.memory(runtime, config)
        node = theirs.remember(content, importance=importance, tags=tags or (), source="assistant")
        return tool_replies.remembered(node)

    return make_tool(remember, run_scope, name, description, RememberArguments)


@with_options(RunOptions, trust_context=False)
def create_forget_tool(
    memory: Memory,
    *,
    name: str = "forget",
    description: str = _TOOLS["forget"],
    **run: Unpack[RunOptions],
) -> BaseTool:
    """A tool that forgets one memory of whoever is speaking, and of nobody else; `Memory.restore`
    brings it back.

    Args:
        memory: The memory, or one of the same tenant: user and session are found for each run.
        name: The tool's name; "forget" by default.
        description: What the model reads about the tool.
        run: Options of whose memory it is.

    A model can set none of these. Raises `InvalidInput` for what these arguments cannot be.

        agent = create_agent(model, tools=[create_recall_tool(memory), create_forget_tool(memory)])
    """
    run_scope = ToolScope(check_memory(memory), **run)

    @reply_to_errors
    def forget(memory_id: str, *, runtime: Hidden = None, config: RunnableConfig) -> str:
        """Forget a memory."""
        run_scope.memory(runtime, config).forget(tool_replies.without_brackets(memory_id))
        return tool_replies.forgotten(memory_id)

    return make_tool(forget, run_scope, name, description, ForgetArguments)


@dataclass(frozen=True, slots=True)
class ToolScope:
    """Source of whose memory a run of a tool is about. Raises `InvalidInput` for what is no source
    of a name.
    """

    base: Memory
    user: NameSource
    session: NameSource
    tenant: TenantSource = None
    trust_context: bool = False

    def __post_init__(self) -> None:
        check_name_source(self.user, what="user")
        check_name_source(self.session, what="session")
        check_tenant(self.tenant)

    def memory(self, runtime: Any, config: RunnableConfig) -> Memory:
        """The memory of whoever is speaking."""
        run = self.trusted(runtime, config)
        return memory_of(
            self.base,
            run,
            user=self.user,
            session=self.session,
            tenant=self.tenant,
            trust_context=self.trust_context,
        )

    @staticmethod
    def trusted(runtime: Any, config: RunnableConfig) -> Any:
        """Return what is known of a run. A runtime that is plain JSON came from a model, and is
        ignored.
        """
        is_invented = runtime is None or isinstance(runtime, Mapping | list | str | int | float)
        return run_of(config) if is_invented else runtime


class MemoryTool(StructuredTool):
    """A tool over a memory. A deep copy has the same memory; it cannot be pickled, since it holds
    connections.
    """

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle the tool {self.name!r}: it holds a memory's connections; make it in "
            "each process, of the "
            "Memory(…) there"
        )


def make_tool(
    function: Callable[..., Any],
    run_scope: ToolScope,
    name: str,
    description: str,
    arguments: type[BaseModel],
    *,
    response_format: str = "content",
) -> BaseTool:
    """A tool of a function; awaited, it runs on the memory's own threads."""

    async def awaited(
        *args: Any, runtime: Hidden = None, config: RunnableConfig, **kwargs: Any
    ) -> Any:
        return await run_scope.base.aio.run(
            function, *args, runtime=runtime, config=config, **kwargs
        )

    return MemoryTool.from_function(
        func=function,
        coroutine=awaited,
        name=name,
        description=description,
        args_schema=arguments,
        response_format=response_format,  # type: ignore[arg-type]  # one of its two
        handle_tool_error=True,
    )


def forgotten_in(messages: Sequence[AnyMessage]) -> frozenset[str]:
    """The ids of what an agent has forgotten, as the replies of its forget tool say."""
    replies = [each for each in messages if isinstance(each, ToolMessage)]
    return frozenset(
        id for each in replies if (id := tool_replies.forgotten_in(str(each.text))) is not None
    )


def without_forgotten(messages: Sequence[AnyMessage], ids: Collection[str]) -> list[AnyMessage]:
    """Messages in which no reply of a recall tool shows what has these ids."""
    return [
        _without(each, ids) if ids and isinstance(each, ToolMessage) else each for each in messages
    ]


def _without(message: ToolMessage, ids: Collection[str]) -> ToolMessage:
    words = str(message.text)
    if tool_replies.forgotten_in(words) is not None:
        return message
    kept = tool_replies.without_memories(words, ids)
    return (
        message if kept == words else message.model_copy(update={"content": kept, "artifact": None})
    )


def _raise_for_model(reply: str, error: HTMError) -> NoReturn:
    raise ToolException(reply) from error


# A tool's errors become messages to the model with the status "error".
reply_to_errors = tool_replies.reply_to_errors(
    _raise_for_model,
    log=logging.getLogger("htm.langchain"),
    unreachable="Memory cannot be reached just now; go on without it.",
)
