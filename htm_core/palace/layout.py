"""Layouts: which rooms and drawers a palace has. Three are ready-made; make your own in the same
way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..base.errors import InvalidInput
from ..base.places import check_place_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The rooms of a palace, each with its drawers; a room with an empty tuple takes any drawer.

    Palace(memory, layout=Layout(name="kitchen", rooms={"kitchen": ("recipes",), "cellar": ()}))
    """

    name: str
    rooms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.rooms:
            raise InvalidInput(
                "expected a layout with at least one room; a palace without a layout takes any room"
            )
        named: dict[str, tuple[str, ...]] = {}
        for room, drawers in self.rooms.items():
            if isinstance(drawers, str):
                raise InvalidInput(
                    f"expected the drawers of {room!r} to be a list, got the string {drawers!r}"
                )
            named[check_place_name(room, what="room")] = tuple(
                check_place_name(each, what="drawer") for each in drawers
            )
        object.__setattr__(self, "rooms", named)

    def check(self, room: str, drawer: str) -> None:
        """Raises `InvalidInput` for a room or a drawer that the layout does not have."""
        if room not in self.rooms:
            raise InvalidInput(f"expected one of the rooms {', '.join(self.rooms)}, got {room!r}")
        drawers = self.rooms[room]
        if drawers and drawer not in drawers:
            raise InvalidInput(
                f"expected one of the drawers {', '.join(drawers)} of {room!r}, got {drawer!r}"
            )


def for_issue_analysis() -> Layout:
    """Rooms for working on an issue: the report, the evidence, hypotheses, decisions."""
    return Layout(
        name="issue analysis",
        rooms={
            "issue": ("report", "reproduction", "scope"),
            "evidence": ("logs", "code", "history"),
            "hypotheses": ("open", "refuted", "confirmed"),
            "decisions": ("fix", "follow-up"),
        },
    )


def for_health_check() -> Layout:
    """Rooms for watching systems: services, their baselines, incidents, actions."""
    return Layout(
        name="health check",
        rooms={
            "services": (),
            "baselines": (),
            "incidents": ("open", "resolved"),
            "actions": ("done", "due"),
        },
    )


def for_code_review() -> Layout:
    """Rooms for reviewing code: the change, the conventions, findings, the outcome."""
    return Layout(
        name="code review",
        rooms={
            "change": ("purpose", "files", "risks"),
            "conventions": (),
            "findings": ("blocking", "minor", "praise"),
            "outcome": ("answered", "accepted"),
        },
    )
