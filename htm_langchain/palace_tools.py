"""A memory palace in an agent's own hands: tools to note, to promote, to file and to look.

Whose palace they touch is settled by what runs the agent, as for the tools of `htm_langchain.tools`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from htm_core import palace as palaces

from .options import named
from .scope import Named
from .tools import Hidden, _told, _tool, _Whose

_ABOUT = palaces.Hands.ARGUMENTS
_ROOM = Field(description=_ABOUT["room"])
_DRAWER = Field(description=_ABOUT["drawer"])


class Noting(BaseModel):
    """What a model says to note."""

    content: str = Field(description=_ABOUT["noted"])


class Promoting(BaseModel):
    """What a model says to promote."""

    note_id: str = Field(description=_ABOUT["note_id"])
    room: str = _ROOM
    drawer: str = _DRAWER
    reason: str = Field(description=_ABOUT["reason"])
    summary: str = Field(description=_ABOUT["summary"])


class Filing(BaseModel):
    """What a model says to file."""

    content: str = Field(description=_ABOUT["fact"])
    room: str = _ROOM
    drawer: str = _DRAWER


class Looking(BaseModel):
    """What a model says to look at."""

    room: str | None = Field(default=None, description=_ABOUT["only_room"])
    drawer: str | None = Field(default=None, description=_ABOUT["only_drawer"])


def create_palace_tools(palace: object, *, user: Named = None, session: Named = None) -> list[BaseTool]:
    """The tools `note`, `promote_to_palace`, `file_in_palace` and `look_palace` over a `htm_core.palace.Palace`.

    `user` and `session` are as for `create_recall_tool`; a model cannot say either.
    """
    checked = palaces.checked_palace(palace, instead="create_palace_tools(Palace(memory))")
    whose = _Whose(checked.memory, named(user, what="user"), named(session, what="session"))

    def theirs(runtime: Any, config: RunnableConfig) -> palaces.Hands:
        memory = whose.memory(runtime, config)
        return palaces.Hands(checked.of(user=memory.user, session=memory.session))

    verbs = (_noting(theirs), _promoting(theirs), _filing(theirs), _looking(theirs))
    schemas: tuple[type[BaseModel], ...] = (Noting, Promoting, Filing, Looking)
    return [
        _tool(verb, whose, name, about, schema)
        for verb, schema, (name, about) in zip(verbs, schemas, palaces.Hands.TOOLS.items(), strict=True)
    ]


_Theirs = Callable[[Any, RunnableConfig], palaces.Hands]


def _noting(theirs: _Theirs) -> Callable[..., str]:
    @_told
    def note(content: str, *, runtime: Hidden = None, config: RunnableConfig) -> str:
        """Note something for this session."""
        return theirs(runtime, config).note(content)

    return note


def _promoting(theirs: _Theirs) -> Callable[..., str]:
    @_told
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
        """Promote a note."""
        hands = theirs(runtime, config)
        return hands.promote(note_id, room=room, drawer=drawer, reason=reason, summary=summary)

    return promote


def _filing(theirs: _Theirs) -> Callable[..., str]:
    @_told
    def file(content: str, room: str, drawer: str, *, runtime: Hidden = None, config: RunnableConfig) -> str:
        """File a fact."""
        return theirs(runtime, config).file(content, room=room, drawer=drawer)

    return file


def _looking(theirs: _Theirs) -> Callable[..., str]:
    @_told
    def look(
        room: str | None = None, drawer: str | None = None, *, runtime: Hidden = None, config: RunnableConfig
    ) -> str:
        """Look at what is there."""
        return theirs(runtime, config).look(room=room, drawer=drawer)

    return look
