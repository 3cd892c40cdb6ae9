"""Work and replies of an agent's tools over a palace: used by the tools of both adapters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..base.types import Source
from ..text.fence import Fence, indented, is_slug, new_token, one_line, source
from .palace import Palace
from .promote import Duplicate, Promoted, PromotionConflict
from .wake import TAG, WARNING

MAX_SHOWN = 20  # filed texts, and as many notes
BY: Source = "assistant"  # whose words a model's tools bring, whatever they say
NO_PALACE = (
    "Nothing is filed in the palace yet, and nothing is noted in this session, so it cannot say "
    "anything. That is no answer: "
    "look up what was said before with recall."
)


class PalaceToolReplies:
    """A palace for a model: each verb acts and replies with a sentence. The caller decides which
    palace it is.

    `TOOLS` holds the description of each tool, and `ARGUMENTS` the description of each argument, as
    a model reads them. `htm_core.palace.Hands` is another name of this class.
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
        "fact": "One fact, as a sentence that can be understood by itself; never raw output of a "
        "tool.",
        "only_room": "Only this room; leave out for all, and this session's notes.",
        "only_drawer": "Only this drawer.",
    }

    def __init__(self, palace: Palace) -> None:
        self.palace = palace

    def note(self, content: str) -> str:
        """Note something for this session."""
        return f"Noted [{self.palace.note(content, source=BY).id}]."

    def promote(self, note_id: str, *, room: str, drawer: str, reason: str, summary: str) -> str:
        """Promote a note. The reply names a duplicate, or what the summary contradicts."""
        id = note_id.strip().strip("[]")
        done = self.palace.promote(
            id, room=room, drawer=drawer, reason=reason, summary=summary, source=BY
        )
        return _outcome(done)

    def file(self, content: str, *, room: str, drawer: str, reason: str = "") -> str:
        """File a fact, by the checks of a promotion: a reason is needed. The reply names a
        duplicate or a contradiction.
        """
        return _outcome(
            self.palace.submit(content, room=room, drawer=drawer, reason=reason, source=BY)
        )

    def look(self, *, room: str | None = None, drawer: str | None = None) -> str:
        """List what is filed, one line each; without a room also this session's notes."""
        filed = self.palace.look(room=room, drawer=drawer, limit=MAX_SHOWN)
        notes = [] if room or drawer else self.palace.notes(limit=MAX_SHOWN)
        lines = [_line(each.id, f"{each.room}/{each.drawer}", each.content) for each in filed]
        lines += [_line(each.id, "note", each.content) for each in notes]
        if lines:
            return _fence().enclose(WARNING, *lines)
        return NO_PALACE if self.is_empty() else "Nothing is there."

    def is_empty(self) -> bool:
        """True if nothing is filed for this owner, and nothing noted in this session."""
        return self.palace.context.survey(limit=1).is_empty


def _outcome(outcome: Promoted | Duplicate | PromotionConflict) -> str:
    """Return what became of a text, in words."""
    if isinstance(outcome, Duplicate):
        return f"It is known already: {_fence().enclose_inline(one_line(outcome.of.content))}"
    place = f"{outcome.placed.room}/{outcome.placed.drawer}"
    # The model has just named the place; a longer name is not said back outside of a fence.
    filed = f"Filed in {place if is_slug(place) else 'the drawer'} [{outcome.placed.id}]"
    if isinstance(outcome, Promoted):
        return f"{filed}."
    others = "; ".join(
        f"{one_line(each.content)} ({source(each.why)})" for each in outcome.contradicts
    )
    return f"{filed}, but it contradicts: {_fence().enclose_inline(others)}"


def _fence() -> Fence:
    """The fence around what one reply quotes."""
    return Fence(TAG, new_token())


def _line(id: str, place: str, content: str) -> str:
    """One entry. Its further lines are indented, so that none of them reads like another entry."""
    return f"[{id}] ({source(place)}) {indented(content, by=4)}"
