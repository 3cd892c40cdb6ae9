"""Waking up: what a new session is to know, selected and cut to a budget of tokens.

What seldom changes comes first and what changes with every session last, so that a provider's prompt cache keeps the
beginning: identity, rooms by name, what is new since last time, notes that survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..rules.places import Placed, Room
from ..store import places
from ..types import TokenCounter

if TYPE_CHECKING:
    from .palace import Palace

MOST_ROOMS = 12  # the ones in which something was filed last
MOST_NEW = 30
MOST_NOTES = 30
LONGEST_LINE = 400  # characters of one memory
HEADS = {
    "identity": "# Who I am",
    "rooms": "# My palace",
    "new": "# New since last time",
    "notes": "# Notes of this session",
}
# How budgets are shared out where all parts have more to say than fits: notes are what a session most needs of these.
ORDER = ("notes", "new", "rooms")


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUp:
    """What a session begins with: the text for a model, its tokens, and what of each part is in it."""

    text: str
    tokens: int
    identity: str | None = None
    rooms: tuple[Room, ...] = ()
    new: tuple[Placed, ...] = ()
    notes: tuple[Placed, ...] = ()
    left_out: int = 0


@dataclass(slots=True)
class _Page:
    """The lines of each part that were taken, and what they count together."""

    count: TokenCounter
    budget: int
    parts: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in HEADS})

    def text(self) -> str:
        return "\n\n".join("\n".join([HEADS[name], *lines]) for name, lines in self.parts.items() if lines)

    def take(self, part: str, line: str) -> bool:
        """Take a line in, unless the whole then exceeds the budget."""
        self.parts[part].append(line)
        if self.count(self.text()) <= self.budget:
            return True
        self.parts[part].pop()
        return False


def wake_up(palace: Palace, *, budget: int) -> WakeUp:
    """What a new session is to know; see `Palace.wake_up`."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        raise InvalidInput(f"expected budget to be a whole number of tokens, 0 or more, got {budget!r}")
    engine = palace.memory._engine
    identity, kept = palace.identity(), palace.notes(limit=MOST_NOTES)
    with engine.transaction() as connection:
        last = places.woke(connection, owner=engine.owner, robot=engine.robot)
        rooms = places.rooms(connection, owners=engine.owners)
        new = places.look(
            connection, owners=engine.owners, kinds=("filed",), now=palace._now(), limit=MOST_NEW, since=last
        )
        places.wake(connection, owner=engine.owner, robot=engine.robot, at=palace._now())
    surviving = [note for note in kept if note.promoted_at is None]
    made = _assembled(engine.tokens, budget, identity=identity, rooms=_active(rooms), new=new, notes=surviving)
    engine.emit("wake", tokens=made.tokens, left_out=made.left_out)
    return made


def _active(rooms: Sequence[Room]) -> list[Room]:
    """The rooms in which something was filed last, by name."""
    latest = sorted(rooms, key=lambda room: room.filed_at, reverse=True)[:MOST_ROOMS]
    return sorted(latest, key=lambda room: room.name)


def _assembled(
    count: TokenCounter, budget: int, *, identity: str | None, rooms: Sequence[Room], new: Sequence[Placed],
    notes: Sequence[Placed],
) -> WakeUp:  # fmt: skip
    page = _Page(count, budget)
    who = [line for line in (identity or "").splitlines() if line.strip()]
    told = sum(page.take("identity", line) for line in who) == len(who)
    lines: dict[str, list[str]] = {
        "notes": [_line(note.content) for note in notes],
        "new": [f"{_line(each.content)} [{each.room}/{each.drawer}]" for each in new],
        "rooms": [_summary(room) for room in rooms],
    }  # fmt: skip
    taken = _shared_out(page, lines)
    text = page.text()
    return WakeUp(
        text=text, tokens=count(text) if text else 0, identity=identity,
        rooms=tuple(rooms[at] for at in sorted(taken["rooms"])), new=tuple(new[at] for at in sorted(taken["new"])),
        notes=tuple(notes[at] for at in sorted(taken["notes"])),
        left_out=sum(len(lines[part]) - len(taken[part]) for part in ORDER) + (not told),
    )  # fmt: skip


def _shared_out(page: _Page, lines: dict[str, list[str]]) -> dict[str, list[int]]:
    """Take from each part in turn as long as anything fits; which lines of each were taken."""
    taken: dict[str, list[int]] = {part: [] for part in ORDER}
    for at in range(max(map(len, lines.values()), default=0)):
        for part in ORDER:
            if at < len(lines[part]) and page.take(part, lines[part][at]):
                taken[part].append(at)
    return taken


def _line(content: str) -> str:
    text = " ".join(content.split())
    return f"- {text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + '…'}"


def _summary(room: Room) -> str:
    """A room in a line: its drawers, those with most in them first, and how much lies in each."""
    drawers = sorted(room.drawers, key=lambda drawer: (-drawer.places, drawer.name))
    shown = ", ".join(f"{drawer.name} ({drawer.places:,})" for drawer in drawers[:6])
    more = f" and {len(drawers) - 6} more drawers" if len(drawers) > 6 else ""
    return f"- {room.name}: {shown}{more}"
