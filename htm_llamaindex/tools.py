"""Memory in an agent's own hands: tools to recall, to remember and to forget.

LlamaIndex reads the annotations themselves, so they are not postponed in this module.
"""

import asyncio
import functools
import inspect
import logging
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from htm_core import Hit, HTMError, InvalidInput, Memory, NotFound

from .scope import memory_for, scope_of

_log = logging.getLogger("htm.llamaindex")
_P = ParamSpec("_P")

MOST_RECALLED = 20
Verb = Callable[_P, str]

Question = Annotated[str, "What to look for, in words or as a question."]
Limit = Annotated[int, f"How many memories at most, from 1 to {MOST_RECALLED}."]
When = Annotated[str | None, "Only what was said then, such as 'yesterday' or 'last week'; leave out for all times."]
Fact = Annotated[str, "What to remember: one fact, as a sentence that can be understood by itself."]
Importance = Annotated[float | None, "From 0 (trivial) to 10 (vital); leave out if unsure."]
Tags = Annotated[list[str] | None, "What it is about, such as 'user:preference'; leave out if nothing fits."]
Id = Annotated[str, "The id of the memory, as recall shows it in brackets."]


def _told(verb: Verb[_P]) -> Verb[_P]:
    """A tool that answers what went wrong, for the model to act on, instead of ending the run.

    Only what the model said wrong is told in full; the rest is for the log.
    """

    @functools.wraps(verb)
    def _answering(*args: _P.args, **kwargs: _P.kwargs) -> str:
        try:
            return verb(*args, **kwargs)
        except (InvalidInput, NotFound) as error:
            return f"That did not work: {error}"
        except HTMError as error:
            _log.warning("%s failed (%s)", verb.__name__, type(error).__name__)
            return "That did not work: memory cannot be reached just now. Go on without it."

    return _answering


class HTMToolSpec(BaseToolSpec):
    """Give an agent tools over a memory: `FunctionAgent(tools=HTMToolSpec(memory).to_tool_list(), …)`.

    `recall`, `remember` and `forget`, awaited where the agent awaits. Whose memories these are is settled by `memory` and
    never by the model: a user's, or in a session without a user that session's alone.
    """

    spec_functions = [("recall", "arecall"), ("remember", "aremember"), ("forget", "aforget")]  # noqa: RUF012 - the base's

    def __init__(self, memory: Memory) -> None:
        if not isinstance(memory, Memory):
            raise InvalidInput(f"expected an htm_core.Memory, got {type(memory).__name__}; make one first: Memory()")
        self.memory = memory_for(memory, user=None, session=memory.session)

    def get_metadata_from_fn_name(self, fn_name: str, spec_functions: Any = None) -> ToolMetadata:  # noqa: ARG002 - the base has it
        """What a model is told of a tool: its schema, and its first sentence instead of the whole signature."""
        verb = getattr(self, fn_name)
        schema = FunctionTool.from_defaults(verb).metadata.fn_schema
        return ToolMetadata(name=fn_name, description=inspect.getdoc(verb) or fn_name, fn_schema=schema)

    @_told
    def recall(self, query: Question, limit: Limit = 5, timeframe: When = None) -> str:
        """Look up what was said or noted before: facts about the user, decisions, earlier conversations."""
        wanted = min(max(1, limit), MOST_RECALLED)
        found = self.memory.recall(query, limit=wanted, timeframe=timeframe, scope=scope_of(self.memory), hold=False)
        lines = [_line(hit) for hit in found] or ["Nothing is remembered about that."]
        return "\n".join([*lines, found.degraded] if found.degraded else lines)

    @_told
    def remember(self, content: Fact, importance: Importance = None, tags: Tags = None) -> str:
        """Keep a fact for good, so that it can be recalled in later conversations."""
        node = self.memory.remember(content, importance=importance, tags=tags or ())
        return f"Remembered [{node.id}]." if node.is_new else f"That was known already [{node.id}]."

    @_told
    def forget(self, memory_id: Id) -> str:
        """Forget a memory that is wrong or that the user wants to be forgotten."""
        known = memory_id.strip().strip("[]")
        self.memory.forget(known)
        return f"Forgotten [{known}]."

    async def arecall(self, query: Question, limit: Limit = 5, timeframe: When = None) -> str:
        """`recall`, awaited."""
        return await asyncio.to_thread(self.recall, query, limit, timeframe)

    async def aremember(self, content: Fact, importance: Importance = None, tags: Tags = None) -> str:
        """`remember`, awaited."""
        return await asyncio.to_thread(self.remember, content, importance, tags)

    async def aforget(self, memory_id: Id) -> str:
        """`forget`, awaited."""
        return await asyncio.to_thread(self.forget, memory_id)


def _line(hit: Hit) -> str:
    """One memory, its further lines set in, so that none of them reads like another memory."""
    said = hit.mention
    about = f" ({said.at.date().isoformat()}, {said.name or said.role or 'noted'})" if said else ""
    words = hit.content.replace("\n", "\n    ")
    return f"[{hit.node.id}]{about} {words}"
