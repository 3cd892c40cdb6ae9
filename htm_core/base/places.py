"""Places of the palace: the names of rooms and drawers, the lifetime of a note, and the owner of a
session's notes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from .errors import InvalidInput
from .limits import NAME_LENGTH
from .validation import normal_name

PlaceKind = Literal["identity", "filed", "note", "artifact", "procedure"]
HOUR = 3600.0  # seconds
MAX_NAME_LENGTH = 100
# Every owner of a session's notes begins with this.
NOTE_OWNER_PREFIX = "htm:notes:"
_NAME = re.compile(r"[^\W_](?:[\w .+@()&'-]*[\w)])?")
# Names that Windows keeps for devices.
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One thing in the palace: its text, where it is kept, which robot put it there, and when.

    `id` is the id of the mention and `node_id` the id of the node. `kind` is "identity", "filed",
    "note", "artifact" or "procedure". Only filed things have a room and a drawer, only notes have
    `expires_at` and `promoted_at`, only artifacts have a `uri`. `facts` holds what else is known:
    the name, steps and triggers of a procedure, what an artifact is about. `at` is when it was
    said, `filed_at` when it got its place. `owner` is the user whose it is, "" for what everyone in
    the tenant shares; of a note, the name under which its session's notes are kept.
    """

    id: str
    node_id: str
    kind: PlaceKind
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
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawer:
    """A drawer of a room: how many things it holds, and when the newest was filed."""

    name: str
    places: int
    filed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A room and its drawers, sorted by name."""

    name: str
    drawers: tuple[Drawer, ...]

    @property
    def places(self) -> int:
        """The number of things that all its drawers hold."""
        return sum(drawer.places for drawer in self.drawers)

    @property
    def filed_at(self) -> datetime:
        """When the newest thing in it was filed."""
        return max(drawer.filed_at for drawer in self.drawers)


def check_place_name(name: object, *, what: str) -> str:
    """The name of a room or a drawer. It must be a valid file name on every system, since a palace
    can be exported.
    """
    normalized = normal_name(name, what=what)
    if (
        len(normalized) > MAX_NAME_LENGTH
        or not _NAME.fullmatch(normalized)
        or _RESERVED.fullmatch(normalized)
    ):
        raise InvalidInput(
            f"expected {what} to have at most {MAX_NAME_LENGTH} letters, digits, spaces or "
            "-_.+@()&', beginning with a letter "
            f"or a digit and ending with one, _ or ), got {normalized!r:.120}; it is a file's "
            "name when the palace is exported"
        )
    return normalized


def note_lifetime(ttl: timedelta | float) -> timedelta:
    """Return the lifetime of a note, from a timedelta or seconds: more than nothing and at most 366
    days.
    """
    if isinstance(ttl, bool) or not isinstance(ttl, timedelta | int | float):
        raise InvalidInput(f"expected ttl to be a timedelta or seconds, got {ttl!r}")
    try:
        span = ttl if isinstance(ttl, timedelta) else timedelta(seconds=ttl)
    except (OverflowError, ValueError):
        raise InvalidInput(f"expected ttl to be seconds, got {ttl!r}") from None
    if not timedelta(0) < span <= timedelta(days=366):
        raise InvalidInput(
            f"expected ttl of more than nothing and at most 366 days, got {ttl!r}; "
            "to keep it, file it"
        )
    return span


def note_owner_prefix(user: str) -> str:
    """The beginning of every owner of a user's notes; what follows is the session."""
    return f"{NOTE_OWNER_PREFIX}{hashlib.sha256(user.encode()).hexdigest()[:32]}:"


def note_owner(user: str, session: str) -> str:
    """The owner of a session's notes: a different one for each user and session, so that nobody
    else sees them.
    """
    prefix = note_owner_prefix(user)
    if len(prefix + session) <= NAME_LENGTH:
        return prefix + session
    return prefix + hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()


def refuse_note_owner(user: str | None) -> None:
    """Raises `InvalidInput` for a user with a name that is reserved for owners of notes."""
    if isinstance(user, str) and user.startswith(NOTE_OWNER_PREFIX):
        raise InvalidInput(
            f"expected a user's own name, got {user!r:.120}, which is kept for the notes of "
            "sessions",
            advice="notes",
        )
