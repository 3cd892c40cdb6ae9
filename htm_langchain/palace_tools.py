"""Tools of an agent over a memory palace: to note, to promote, to file and to look.

What runs the agent decides whose palace that is, as for the tools of `htm_langchain.tools`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from htm_core.palace import Hands, Palace, checked_palace

from .scope import NameSource
from .tools import Hidden, ToolScope, make_tool, reply_to_errors

_ARGUMENTS = Hands.ARGUMENTS
_ROOM = Field(description=_ARGUMENTS["room"])
_DRAWER = Field(description=_ARGUMENTS["drawer"])


class NoteArguments(BaseModel):
    """Arguments of note."""

    content: str = Field(description=_ARGUMENTS["noted"])


class PromoteArguments(BaseModel):
    """Arguments of promote."""

    note_id: str = Field(description=_ARGUMENTS["note_id"])
    room: str = _ROOM
    drawer: str = _DRAWER
    reason: str = Field(description=_ARGUMENTS["reason"])
    summary: str = Field(description=_ARGUMENTS["summary"])


class FileArguments(BaseModel):
    """Arguments of file."""

    content: str = Field(description=_ARGUMENTS["fact"])
    room: str = _ROOM
    drawer: str = _DRAWER
    reason: str = Field(description=_ARGUMENTS["reason"])


class LookArguments(BaseModel):
    """Arguments of look."""

    room: str | None = Field(default=None, description=_ARGUMENTS["only_room"])
    drawer: str | None = Field(default=None, description=_ARGUMENTS["only_drawer"])


def create_palace_tools(
    palace: Palace,
    *,
    user: NameSource = None,
    session: NameSource = None,
    trust_context: bool = False,
) -> list[BaseTool]:
    """The tools `note`, `promote_to_palace`, `file_in_palace` and `look_palace` over a palace.

    Args:
        palace: The palace, of the same tenant as those who use the tools: user and session are
            found for each run.
        user: A name, or a callable that takes the runtime; by default found as
            `HTMMemoryMiddleware` does.
        session: Likewise.
        trust_context: Whether a run's context and configuration may name another user and session
            than the server's, as for `HTMMemoryMiddleware`; False by default.

    A model can set none of these. Raises `InvalidInput` for anything but a
    `htm_core.palace.Palace`.

        agent = create_agent(model, tools=create_palace_tools(Palace(memory)))
    """
    shared = checked_palace(palace, instead="create_palace_tools(Palace(memory))")
    run_scope = ToolScope(shared.memory, user, session, trust_context=trust_context)

    def hands(runtime: Any, config: RunnableConfig) -> Hands:
        memory = run_scope.memory(runtime, config)
        return Hands(shared.of(user=memory.user, session=memory.session))

    @reply_to_errors
    def note(content: str, *, runtime: Hidden = None, config: RunnableConfig) -> str:
        """Note something for this session."""
        return hands(runtime, config).note(content)

    @reply_to_errors
    def promote(
        note_id: str,
        room: str,
        drawer: str,
        reason: str,
        summary: str,
        *,
        runtime: Hidden = None,
        config: RunnableConfig,
    ) -> str:
        """Promote a note: file what it has taught."""
        return hands(runtime, config).promote(
            note_id, room=room, drawer=drawer, reason=reason, summary=summary
        )

    @reply_to_errors
    def file(
        content: str,
        room: str,
        drawer: str,
        reason: str,
        *,
        runtime: Hidden = None,
        config: RunnableConfig,
    ) -> str:
        """File a fact."""
        return hands(runtime, config).file(content, room=room, drawer=drawer, reason=reason)

    @reply_to_errors
    def look(
        room: str | None = None,
        drawer: str | None = None,
        *,
        runtime: Hidden = None,
        config: RunnableConfig,
    ) -> str:
        """Look at what is there."""
        return hands(runtime, config).look(room=room, drawer=drawer)

    functions: dict[str, tuple[Callable[..., str], type[BaseModel]]] = {
        "note": (note, NoteArguments),
        "promote_to_palace": (promote, PromoteArguments),
        "file_in_palace": (file, FileArguments),
        "look_palace": (look, LookArguments),
    }
    return [
        make_tool(function, run_scope, name, Hands.TOOLS[name], arguments)
        for name, (function, arguments) in functions.items()
    ]
