"""One turn of somebody's transcript, made into a draft to remember: who, when, what, and an id that stays."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from ...errors import InvalidInput
from ...types import Draft

ROLES: Mapping[str, str] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL's text holds neither NUL nor half a surrogate pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one place of a transcript says, before it has an id; `where` names that place for messages."""

    where: str
    session: str
    content: str
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skip:
    """Something in a transcript that is not remembered, and why."""

    reason: str


def drafts(entries: Iterable[Turn | Skip], *, format: str, skip: Callable[[str], object] | None) -> Iterator[Draft]:
    """Turn what was read into drafts, one by one, telling `skip` the reason for each entry left out.

    A turn without an id of its own gets one from what it says and its position in its session, so that reading a file
    twice, or a file that has grown since, gives the same ids, and two equal "ok" stay two turns.
    """
    positions: Counter[str] = Counter()
    seen: dict[tuple[str, str], bytes] = {}
    for entry in entries:
        kept = kept_or_skipped(entry, seen)
        if isinstance(kept, Turn):
            yield draft(kept, format=format, position=positions[kept.session])
            positions[kept.session] += 1
        elif skip is not None:
            skip(kept.reason)


def kept_or_skipped(entry: Turn | Skip, seen: dict[tuple[str, str], bytes]) -> Turn | Skip:
    """Leave out turns that say nothing, and those that were there already."""
    if isinstance(entry, Skip):
        return entry
    if not entry.content.strip():
        return Skip("no text in it")
    return Skip("the same id and words again") if said_before(entry, seen) else entry


def said_before(turn: Turn, seen: dict[tuple[str, str], bytes]) -> bool:
    """Whether this turn's own id was there already, with the same words; other words under it cannot be meant."""
    if turn.id is None:
        return False
    digest = sha256(turn.content.encode("utf-8", "surrogatepass")).digest()
    known = seen.get((turn.session, turn.id))
    if known is None:
        seen[turn.session, turn.id] = digest
        return False
    if known != digest:
        raise InvalidInput(
            f"{turn.where}: expected an id to be used once in a session; {turn.id!r} came before with other words. "
            "Give each turn an id of its own, or leave the ids out."
        )
    return True


def draft(turn: Turn, *, format: str, position: int) -> Draft:
    """Make the draft of one turn; what PostgreSQL cannot hold as text becomes U+FFFD, the exact bytes go in `payload`.

    The payload is the original in UTF-8, lone surrogates encoded as they stand ("surrogatepass").
    """
    content = storable(turn.content)
    exact = None if content == turn.content else turn.content.encode("utf-8", "surrogatepass")
    return Draft(
        content=content,
        id=storable(turn.id) if turn.id is not None else fingerprint(turn, format=format, position=position),
        session=storable(turn.session),
        role=turn.role,
        name=None if turn.name is None else storable(turn.name),
        at=turn.at,
        metadata=storable_metadata(turn) or None,
        payload=exact,
    )


def fingerprint(turn: Turn, *, format: str, position: int) -> str:
    """Derive a turn's id from all that tells it apart: 32 hexadecimal digits of SHA-256."""
    at = None if turn.at is None else turn.at.isoformat()
    parts = [format, turn.session, position, turn.role, turn.name, turn.content, at]
    return sha256(json.dumps(parts).encode("ascii")).hexdigest()[:32]


def storable(text: str) -> str:
    """Replace NUL and lone surrogates by U+FFFD, the replacement character."""
    return UNSTORABLE.sub("\ufffd", text)


def storable_metadata(turn: Turn) -> dict[str, Any]:
    """Make a turn's metadata storable; what is nested beyond all measure is refused."""
    try:
        return {storable(name): storable_json(value) for name, value in turn.metadata.items()}
    except RecursionError:
        raise InvalidInput(
            f"{turn.where}: expected metadata nested a few levels deep; hundreds came. Leave that field out."
        ) from None


def storable_json(value: Any) -> Any:
    """Replace NUL and lone surrogates in every text of a JSON value, names included."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_json(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable_json(item) for name, item in value.items()}
    return value


def role_of(word: object) -> str | None:
    """Translate a source's word for who speaks into ours; None when there is none for it."""
    return ROLES.get(word.strip().lower()) if isinstance(word, str) else None


def part(value: Mapping[str, Any], field: str, *, where: str) -> Mapping[str, Any]:
    """Take a field that is an object; missing and null are empty."""
    found = value.get(field)
    if found is not None and not isinstance(found, dict):
        raise InvalidInput(f"{where}: expected {field!r} to be an object; {came(found)} came. Mend it or leave it out.")
    return found or {}


def moment(value: object, *, where: str) -> datetime | None:
    """Read an ISO 8601 time that has an offset; none is none, and a naive one is refused."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise InvalidInput(
            f"{where}: expected `at` in ISO 8601 with an offset, such as 2026-03-01T09:30:00+01:00; "
            f"{came(value)} came. Write it so, or leave the field out."
        )
    if at.utcoffset() is None:
        raise InvalidInput(
            f"{where}: expected `at` with an offset; {came(value)} came, which could be any zone's. "
            "Add Z if it is UTC, else the offset where it was said, such as +01:00."
        )
    return at


def epoch(value: object, *, where: str) -> datetime | None:
    """Read a time given as seconds since 1970, as an aware UTC datetime; none is none."""
    if value is None:
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(
            f"{where}: expected a time in seconds since 1970, such as 1767548520.5; {came(value)} came. "
            "Mend that number, or make it null."
        ) from None


def came(value: object) -> str:
    """Show what came, short enough for one line of a message."""
    shown = "nothing" if value is None else ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
