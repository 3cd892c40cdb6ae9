"""A palace in an agent's own hands: what a model may do with it, in words that it is told and words that it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from .palace import Palace
from .promote import Duplicate, Promoted

MOST_SHOWN = 20


class Hands:
    """A palace for a model: each verb answers a sentence. Whose palace it is was settled before.

    `TOOLS` and `ARGUMENTS` are what a model is told of each tool and of each argument.
    """

    TOOLS: ClassVar[Mapping[str, str]] = {
        "note": "Note for this session what was learned; it is gone after an hour.",
        "promote_to_palace": "Keep for good what a note has taught.",
        "file_in_palace": "Keep a fact that is sure in a drawer, for good.",
        "look_palace": "Look at what is filed, and at this session's notes.",
    }
    ARGUMENTS: ClassVar[Mapping[str, str]] = {
        "noted": "What was learned in this session; it is gone after an hour.",
        "note_id": "The id of the note, as note and look_palace show it in brackets.",
        "room": "The room, such as 'projects' or 'people'.",
        "drawer": "The drawer of the room: one topic, such as a project's or a person's name.",
        "reason": "Why it is worth keeping for good.",
        "summary": "What was learned, in a sentence of your own; never raw output of a tool.",
        "fact": "One fact, as a sentence that can be understood by itself.",
        "only_room": "Only this room; leave out for all, and this session's notes.",
        "only_drawer": "Only this drawer.",
    }

    def __init__(self, palace: Palace) -> None:
        self.palace = palace

    def note(self, content: str) -> str:
        """Note something for this session."""
        return f"Noted [{self.palace.note(content).id}]."

    def promote(self, note_id: str, *, room: str, drawer: str, reason: str, summary: str) -> str:
        """Promote a note; a duplicate and a contradiction are said."""
        id = note_id.strip().strip("[]")
        done = self.palace.promote(id, room=room, drawer=drawer, reason=reason, summary=summary)
        if isinstance(done, Duplicate):
            return f"It is known already: {done.of.content}"
        if isinstance(done, Promoted):
            return f"Filed in {room}/{drawer} [{done.placed.id}]."
        other = "; ".join(f"{each.content} ({each.why})" for each in done.contradicts)
        return f"Filed in {room}/{drawer} [{done.placed.id}], but it contradicts: {other}"

    def file(self, content: str, *, room: str, drawer: str) -> str:
        """File a fact."""
        return f"Filed in {room}/{drawer} [{self.palace.file(content, room=room, drawer=drawer).id}]."

    def look(self, *, room: str | None = None, drawer: str | None = None) -> str:
        """What is filed, a line for each, and without a room this session's notes."""
        filed = self.palace.look(room=room, drawer=drawer, limit=MOST_SHOWN)
        notes = [] if room or drawer else self.palace.notes(limit=MOST_SHOWN)
        lines = [_line(each.id, f"{each.room}/{each.drawer}", each.content) for each in filed]
        lines += [_line(each.id, "note", each.content) for each in notes]
        return "\n".join(lines) or "Nothing is there."


def _line(id: str, place: str, content: str) -> str:
    """One of them, its further lines set in, so that none of them reads like another."""
    words = content.replace("\n", "\n    ")
    return f"[{id}] ({place}) {words}"
