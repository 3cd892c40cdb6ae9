"""A memory palace in an agent's own hands: tools to note, to promote, to file and to look.

LlamaIndex reads the annotations themselves, so they are not postponed in this module.
"""

import asyncio
from typing import Annotated, Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from htm_core import palace as palaces

from .scope import memory_for
from .tools import _told

_ABOUT = palaces.Hands.ARGUMENTS
Noted = Annotated[str, _ABOUT["noted"]]
NoteId = Annotated[str, _ABOUT["note_id"]]
Room = Annotated[str, _ABOUT["room"]]
Drawer = Annotated[str, _ABOUT["drawer"]]
Reason = Annotated[str, _ABOUT["reason"]]
Summary = Annotated[str, _ABOUT["summary"]]
Fact = Annotated[str, _ABOUT["fact"]]
OnlyRoom = Annotated[str | None, _ABOUT["only_room"]]
OnlyDrawer = Annotated[str | None, _ABOUT["only_drawer"]]


class HTMPalaceToolSpec(BaseToolSpec):
    """Give an agent tools over a palace: `FunctionAgent(tools=HTMPalaceToolSpec(palace).to_tool_list(), …)`.

    `note`, `promote_to_palace`, `file_in_palace` and `look_palace`, awaited where the agent awaits. Whose palace it is is
    settled by `palace` and never by the model: a user's, or in a session without a user that session's alone.
    """

    spec_functions = [(name, f"a{name}") for name in palaces.Hands.TOOLS]  # noqa: RUF012 - the base's

    def __init__(self, palace: palaces.Palace) -> None:
        known = palaces.checked_palace(palace, instead="HTMPalaceToolSpec(Palace(memory))")
        memory = memory_for(known.memory, user=None, session=known.memory.session)
        self.palace = known.of(user=memory.user, session=memory.session)
        self._hands = palaces.Hands(self.palace)

    def get_metadata_from_fn_name(self, fn_name: str, spec_functions: Any = None) -> ToolMetadata:  # noqa: ARG002 - the base has it
        """What a model is told of a tool: its schema, and a sentence."""
        schema = FunctionTool.from_defaults(getattr(self, fn_name)).metadata.fn_schema
        return ToolMetadata(name=fn_name, description=palaces.Hands.TOOLS[fn_name], fn_schema=schema)

    @_told
    def note(self, content: Noted) -> str:
        """Note something for this session."""
        return self._hands.note(content)

    @_told
    def promote_to_palace(self, note_id: NoteId, room: Room, drawer: Drawer, reason: Reason, summary: Summary) -> str:
        """Promote a note: file what it has taught."""
        return self._hands.promote(note_id, room=room, drawer=drawer, reason=reason, summary=summary)

    @_told
    def file_in_palace(self, content: Fact, room: Room, drawer: Drawer) -> str:
        """File a fact."""
        return self._hands.file(content, room=room, drawer=drawer)

    @_told
    def look_palace(self, room: OnlyRoom = None, drawer: OnlyDrawer = None) -> str:
        """Look at what is there."""
        return self._hands.look(room=room, drawer=drawer)

    async def anote(self, content: Noted) -> str:
        """`note`, awaited."""
        return await asyncio.to_thread(self.note, content)

    async def apromote_to_palace(
        self, note_id: NoteId, room: Room, drawer: Drawer, reason: Reason, summary: Summary
    ) -> str:
        """`promote_to_palace`, awaited."""
        return await asyncio.to_thread(self.promote_to_palace, note_id, room, drawer, reason, summary)

    async def afile_in_palace(self, content: Fact, room: Room, drawer: Drawer) -> str:
        """`file_in_palace`, awaited."""
        return await asyncio.to_thread(self.file_in_palace, content, room, drawer)

    async def alook_palace(self, room: OnlyRoom = None, drawer: OnlyDrawer = None) -> str:
        """`look_palace`, awaited."""
        return await asyncio.to_thread(self.look_palace, room, drawer)
