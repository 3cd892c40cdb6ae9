"""Places of the palace: what may be called a room, how long a note lives, and whose a session's notes are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..errors import InvalidInput
from .identity import LONGEST
from .validation import check_name

HOUR = 3600.0
LONGEST_PART = 100
# With what the owners begin to whom the notes of a session belong.
NOTES = "htm:notes:"
_PART = re.compile(r"[^\W_](?:[\w .+@()&'-]*[\w)])?")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One thing in the palace: what is said, where it is kept, by whom and since when, and until when.

    `id` is the mention's, `node_id` the node's. `kind` is "identity", "filed", "note", "artifact" or "procedure"; only
    filed things have a room and a drawer, only notes an `expires_at`, only artifacts a `uri`.
    """

    id: str
    node_id: str
    kind: str
    content: str
    tokens: int
    importance: float
    room: str = ""
    drawer: str = ""
    robot: str
    session: str | None
    at: datetime
    filed_at: datetime
    expires_at: datetime | None = None
    promoted_at: datetime | None = None
    uri: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawer:
    """A drawer of a room: how much lies in it, and since when its newest."""

    name: str
    places: int
    filed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A room and its drawers, by name."""

    name: str
    drawers: tuple[Drawer, ...]

    @property
    def places(self) -> int:
        """How much lies in all its drawers."""
        return sum(drawer.places for drawer in self.drawers)

    @property
    def filed_at(self) -> datetime:
        """When something was filed in it last."""
        return max(drawer.filed_at for drawer in self.drawers)


def check_part(name: object, *, what: str) -> str:
    """The name of a room or a drawer: it can be a file's on any system, so that a palace can be kept in a folder."""
    given = check_name(name, what=what)
    if len(given) > LONGEST_PART or not _PART.fullmatch(given) or _RESERVED.fullmatch(given):
        raise InvalidInput(
            f"expected {what} to be of at most {LONGEST_PART} letters, digits, spaces or -_.+@()&', beginning with a letter or "
            f"a digit, got {given!r:.120}; it is a file's name when the palace is exported"
        )
    return given


def lifetime(ttl: timedelta | float) -> timedelta:
    """How long a note lives: a timedelta, or seconds; more than none and at most a year."""
    if isinstance(ttl, bool) or not isinstance(ttl, timedelta | int | float):
        raise InvalidInput(f"expected ttl to be a timedelta or seconds, got {ttl!r}")
    span = ttl if isinstance(ttl, timedelta) else _seconds(ttl)
    if not timedelta(0) < span <= timedelta(days=366):
        raise InvalidInput(f"expected ttl of more than nothing and at most 366 days, got {ttl!r}; to keep it, file it")
    return span


def _seconds(ttl: float) -> timedelta:
    try:
        return timedelta(seconds=ttl)
    except (OverflowError, ValueError):
        raise InvalidInput(f"expected ttl to be seconds, got {ttl!r}") from None


def notes_of(user: str) -> str:
    """With what the owners of a user's notes begin, one for each session."""
    return f"{NOTES}{hashlib.sha256(user.encode()).hexdigest()[:32]}:"


def note_owner(user: str, session: str) -> str:
    """The owner of a session's notes: another one for each user and session, so that nobody else sees them."""
    name = notes_of(user) + session
    return (
        name
        if len(name) <= LONGEST
        else notes_of(user) + hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
    )


def not_of_notes(user: str | None) -> None:
    """Raises `InvalidInput` for a user named like the owner of a session's notes, who is nobody."""
    if isinstance(user, str) and user.startswith(NOTES):
        raise InvalidInput(
            f"expected a user's own name, got {user!r:.120}, which is kept for the notes of sessions; see Palace.notes()"
        )
