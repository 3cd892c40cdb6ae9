"""Tools of an agent over a memory palace: to note, to promote, to file and to look.

LlamaIndex reads the annotations themselves, so they are not postponed in this module.
"""

import asyncio
from typing import Annotated, Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.tools.tool_spec.base import BaseToolSpec

from htm_core.palace import Hands, Palace, checked_palace

from .scope import memory_for
from .tools import reply_to_errors

_ARGUMENTS = Hands.ARGUMENTS
Note = Annotated[str, _ARGUMENTS["noted"]]
NoteId = Annotated[str, _ARGUMENTS["note_id"]]
Room = Annotated[str, _ARGUMENTS["room"]]
Drawer = Annotated[str, _ARGUMENTS["drawer"]]
Reason = Annotated[str, _ARGUMENTS["reason"]]
Summary = Annotated[str, _ARGUMENTS["summary"]]
Fact = Annotated[str, _ARGUMENTS["fact"]]
OnlyRoom = Annotated[str | None, _ARGUMENTS["only_room"]]
OnlyDrawer = Annotated[str | None, _ARGUMENTS["only_drawer"]]


class HTMPalaceToolSpec(BaseToolSpec):
    """Give an agent the tools `note`, `promote_to_palace`, `file_in_palace` and `look_palace`,
    awaited where it awaits.

    Args:
        palace: The palace. It decides whose palace it is, never the model: its user's, or in a
            session without a user that session's alone.

    An error becomes an answer that the model can act on. Raises `InvalidInput` for what is no
    palace.

        agent = FunctionAgent(tools=HTMPalaceToolSpec(Palace(memory)).to_tool_list(), llm=llm)
    """

    spec_functions = [(name, f"a{name}") for name in Hands.TOOLS]  # noqa: RUF012 - the base's

    def __init__(self, palace: Palace) -> None:
        shared = checked_palace(palace, instead="HTMPalaceToolSpec(Palace(memory))")
        memory = memory_for(shared.memory, user=None, session=shared.memory.session)
        self.palace = shared.of(user=memory.user, session=memory.session)
        self._hands = Hands(self.palace)

    def get_metadata_from_fn_name(self, fn_name: str, spec_functions: Any = None) -> ToolMetadata:  # noqa: ARG002 - the base has it
        """Metadata of a tool for a model: its arguments, and one sentence."""
        schema = FunctionTool.from_defaults(getattr(self, fn_name)).metadata.fn_schema
        return ToolMetadata(name=fn_name, description=Hands.TOOLS[fn_name], fn_schema=schema)

    @reply_to_errors
    def note(self, content: Note) -> str:
        """Note something for this session."""
        return self._hands.note(content)

    @reply_to_errors
    def promote_to_palace(
        self, note_id: NoteId, room: Room, drawer: Drawer, reason: Reason, summary: Summary
    ) -> str:
        """Promote a note: file what it has taught."""
        return self._hands.promote(
            note_id, room=room, drawer=drawer, reason=reason, summary=summary
        )

    @reply_to_errors
    def file_in_palace(self, content: Fact, room: Room, drawer: Drawer, reason: Reason) -> str:
        """File a fact."""
        return self._hands.file(content, room=room, drawer=drawer, reason=reason)

    @reply_to_errors
    def look_palace(self, room: OnlyRoom = None, drawer: OnlyDrawer = None) -> str:
        """Look at what is there."""
        return self._hands.look(room=room, drawer=drawer)

    async def anote(self, content: Note) -> str:
        """`note`, awaited."""
        return await asyncio.to_thread(self.note, content)

    async def apromote_to_palace(
        self, note_id: NoteId, room: Room, drawer: Drawer, reason: Reason, summary: Summary
    ) -> str:
        """`promote_to_palace`, awaited."""
        return await asyncio.to_thread(
            self.promote_to_palace, note_id, room, drawer, reason, summary
        )

    async def afile_in_palace(
        self, content: Fact, room: Room, drawer: Drawer, reason: Reason
    ) -> str:
        """`file_in_palace`, awaited."""
        return await asyncio.to_thread(self.file_in_palace, content, room, drawer, reason)

    async def alook_palace(self, room: OnlyRoom = None, drawer: OnlyDrawer = None) -> str:
        """`look_palace`, awaited."""
        return await asyncio.to_thread(self.look_palace, room, drawer)
