"""Waking up: what a new session should know, chosen and cut to a budget of tokens.

What seldom changes comes first and what changes with every session comes last, so that a provider's prompt cache can keep the
beginning: identity, rooms by name, what is new since last time, notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import InvalidInput
from ..rules.places import Placed, Room
from ..store import places
from ..types import TokenCounter
from .context import PalaceContext

MAX_ROOMS = 12  # the ones in which something was filed last
MAX_NEW = 30
MAX_NOTES = 30
MAX_LINE_LENGTH = 400  # characters of one memory
MAX_DRAWERS_SHOWN = 6  # of one room
HEADS = {
    "identity": "# Who I am",
    "rooms": "# My palace",
    "new": "# New since last time",
    "notes": "# Notes of this session",
}
# Where not everything fits, the budget is shared out in turns, in this order: a session needs its notes most.
ORDER = ("notes", "new", "rooms")


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUp:
    """What a session begins with: the text for a model, its tokens, and the parts that are in it.

    `left_out` says how many lines did not fit.
    """

    text: str
    tokens: int
    identity: str | None = None
    rooms: tuple[Room, ...] = ()
    new: tuple[Placed, ...] = ()
    notes: tuple[Placed, ...] = ()
    left_out: int = 0


@dataclass(slots=True)
class _WakeUpText:
    """The lines of each part that fit into the budget so far."""

    count: TokenCounter
    budget: int
    parts: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in HEADS})

    def text(self) -> str:
        return "\n\n".join("\n".join([HEADS[name], *lines]) for name, lines in self.parts.items() if lines)

    def add(self, part: str, line: str) -> bool:
        """Add a line unless the whole text then exceeds the budget, and say whether it was added."""
        self.parts[part].append(line)
        if self.count(self.text()) <= self.budget:
            return True
        self.parts[part].pop()
        return False


def wake_up(context: PalaceContext, *, budget: int) -> WakeUp:
    """What a new session should know; see `Palace.wake_up`."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}")
    engine = context.engine
    identity, kept = context.identity(), context.notes(limit=MAX_NOTES)
    with engine.transaction() as connection:
        last = places.last_wake(connection, owner=engine.owner, robot=engine.robot)
        rooms = places.rooms(connection, owners=engine.owners)
        new = places.list_places(
            connection, owners=engine.owners, kinds=("filed",), now=context.now(), limit=MAX_NEW, since=last
        )
        places.set_wake(connection, owner=engine.owner, robot=engine.robot, at=context.now())
    active = sorted(rooms, key=lambda room: room.filed_at, reverse=True)[:MAX_ROOMS]
    woken = _compose(
        engine.tokens, budget, identity=identity, rooms=sorted(active, key=lambda room: room.name), new=new,
        notes=[note for note in kept if note.promoted_at is None],
    )  # fmt: skip
    engine.emit("wake", tokens=woken.tokens, left_out=woken.left_out)
    return woken


def _compose(
    count: TokenCounter, budget: int, *, identity: str | None, rooms: Sequence[Room], new: Sequence[Placed],
    notes: Sequence[Placed],
) -> WakeUp:  # fmt: skip
    """Put in the identity first; then from each part in turn a line, as long as anything fits."""
    text = _WakeUpText(count, budget)
    who = [line for line in (identity or "").splitlines() if line.strip()]
    whole_identity = sum(text.add("identity", line) for line in who) == len(who)
    lines: dict[str, list[str]] = {
        "notes": [_line(note.content) for note in notes],
        "new": [f"{_line(each.content)} [{each.room}/{each.drawer}]" for each in new],
        "rooms": [_summary(room) for room in rooms],
    }  # fmt: skip
    taken: dict[str, list[int]] = {part: [] for part in ORDER}
    for at in range(max(map(len, lines.values()), default=0)):
        for part in ORDER:
            if at < len(lines[part]) and text.add(part, lines[part][at]):
                taken[part].append(at)
    whole = text.text()
    return WakeUp(
        text=whole, tokens=count(whole) if whole else 0, identity=identity,
        rooms=tuple(rooms[at] for at in taken["rooms"]), new=tuple(new[at] for at in taken["new"]),
        notes=tuple(notes[at] for at in taken["notes"]),
        left_out=sum(len(lines[part]) - len(taken[part]) for part in ORDER) + (not whole_identity),
    )  # fmt: skip


def _line(content: str) -> str:
    text = " ".join(content.split())
    return f"- {text if len(text) <= MAX_LINE_LENGTH else text[: MAX_LINE_LENGTH - 1] + '…'}"


def _summary(room: Room) -> str:
    """A room in one line: the fullest drawers, and how many things are in each."""
    drawers = sorted(room.drawers, key=lambda drawer: (-drawer.places, drawer.name))
    shown = ", ".join(f"{drawer.name} ({drawer.places:,})" for drawer in drawers[:MAX_DRAWERS_SHOWN])
    more = len(drawers) - MAX_DRAWERS_SHOWN
    return f"- {room.name}: {shown}" + (f" and {more} more drawers" if more > 0 else "")
