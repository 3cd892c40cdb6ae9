"""Tools of an agent over a memory: to recall, to remember and to forget.

LlamaIndex reads the annotations themselves, so they are not postponed in this module.
"""

import asyncio
import logging
from typing import Annotated, Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from htm_core import Memory
from htm_core.prompt import tool_replies
from htm_core.prompt.choices import check_choices
from htm_core.prompt.origin import check_min_trust, trusted
from htm_core.prompt.overview import recall_or_overview
from htm_core.prompt.scope import check_memory, scope_of

from .scope import memory_for

_ARGUMENTS = tool_replies.ARGUMENTS
Query = Annotated[str, _ARGUMENTS["query"]]
Limit = Annotated[int, _ARGUMENTS["limit"]]
Timeframe = Annotated[str | None, _ARGUMENTS["timeframe"]]
Content = Annotated[str, _ARGUMENTS["content"]]
Importance = Annotated[float | None, _ARGUMENTS["importance"]]
Tags = Annotated[list[str] | None, _ARGUMENTS["tags"]]
MemoryId = Annotated[str, _ARGUMENTS["memory_id"]]

# A tool's errors become its answer.
reply_to_errors = tool_replies.reply_to_errors(
    lambda reply, error: reply,  # noqa: ARG005 - the error is in the reply already
    log=logging.getLogger("htm.llamaindex"),
    unreachable="That did not work: memory cannot be reached just now. Go on without it.",
)


class HTMToolSpec(BaseToolSpec):
    """Give an agent the tools `recall`, `remember` and `forget` over a memory, awaited where the
    agent awaits.

    Args:
        memory: The memory. It decides whose memories these are, never the model: its user's, or in
            a session without a user that session's alone.
        min_trust: The lowest trust, from 0 (the default) to 4, of what is shown: see
            docs/why/trust.md.

    What is recalled comes with a warning that it is reference data and not instructions. An error
    becomes an answer that the model can act on. Raises `InvalidInput` for what is no memory.

        agent = FunctionAgent(tools=HTMToolSpec(Memory("atlas", user="ann")).to_tool_list(),
        llm=llm)
    """

    spec_functions = [(name, f"a{name}") for name in tool_replies.TOOLS]  # noqa: RUF012 - the base's

    def __init__(self, memory: Memory, *, min_trust: int = 0) -> None:
        self._min_trust = check_min_trust(min_trust)
        self.memory = memory_for(check_memory(memory), user=None, session=memory.session)

    def get_metadata_from_fn_name(self, fn_name: str, spec_functions: Any = None) -> ToolMetadata:  # noqa: ARG002 - the base has it
        """Metadata of a tool for a model: its arguments, and one sentence."""
        schema = FunctionTool.from_defaults(getattr(self, fn_name)).metadata.fn_schema
        return ToolMetadata(name=fn_name, description=tool_replies.TOOLS[fn_name], fn_schema=schema)

    @reply_to_errors
    def recall(self, query: Query, limit: Limit = 5, timeframe: Timeframe = None) -> str:
        """Look up what was said or noted before."""
        limit = tool_replies.allowed_limit(limit)
        result = recall_or_overview(
            self.memory,
            query,
            choices=check_choices(limit=limit, timeframe=timeframe),
            scope=scope_of(self.memory),
            limit=limit,
            min_score=0.0,
        )
        return tool_replies.recall_reply(self.memory, trusted(result, self._min_trust))

    @reply_to_errors
    def remember(self, content: Content, importance: Importance = None, tags: Tags = None) -> str:
        """Keep a fact for good."""
        node = self.memory.remember(
            content, importance=importance, tags=tags or (), source="assistant"
        )
        return tool_replies.remembered(node)

    @reply_to_errors
    def forget(self, memory_id: MemoryId) -> str:
        """Forget a memory."""
        id = tool_replies.without_brackets(memory_id)
        self.memory.forget(id)
        return tool_replies.forgotten(id)

    async def arecall(self, query: Query, limit: Limit = 5, timeframe: Timeframe = None) -> str:
        """`recall`, awaited."""
        return await asyncio.to_thread(self.recall, query, limit, timeframe)

    async def aremember(
        self, content: Content, importance: Importance = None, tags: Tags = None
    ) -> str:
        """`remember`, awaited."""
        return await asyncio.to_thread(self.remember, content, importance, tags)

    async def aforget(self, memory_id: MemoryId) -> str:
        """`forget`, awaited."""
        return await asyncio.to_thread(self.forget, memory_id)
