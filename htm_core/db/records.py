"""The records that statements write, and how rows that are read become values."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.multirange import TimestamptzMultirange
from psycopg.types.range import TimestamptzRange

from ..base.types import Mention, Node, Source, Window
from ..base.types.memories import source_of, trust_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageDraft:
    """One passage of a content: its position, and its text as the lexical index gets it."""

    id: UUID
    starts: int
    stops: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One mention, ready to be written; `node` is None when it has no text to search in."""

    mention: UUID
    node: UUID | None
    content: str
    tokens: int
    importance: float | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    session: str
    external_id: str | None
    key: str | None
    role: str | None
    name: str | None
    at: datetime
    payload: bytes | None
    valid: Window | None
    valid_words: str | None
    expires_at: datetime | None
    source: Source | None  # None: as the role says
    trust: int | None  # None: as the source says
    pieces: tuple[PassageDraft, ...]
    vectors: tuple[Sequence[float] | None, ...]  # one per passage, None where it is not known yet
    logged: bool
    is_dated: bool = False  # whether whoever said it gave the time
    # whether it came with the history of a conversation that was held elsewhere
    is_retold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenEntry:
    """The result of writing one entry. `said_again`: its node was known, and this is another saying
    of it, not a copy of one. `known`: its session knew its id; `changed`: for another text or
    payload.
    """

    mention: UUID
    node: UUID | None
    is_new: bool
    said_again: bool
    known: bool = False
    changed: bool = False


def node_of(row: Mapping[str, Any]) -> Node:
    """A node, from a row that has its columns."""
    return Node(
        id=str(row["id"]),
        content=row["content"],
        keys=tuple(row["keys"]),
        version=row["version"],
        importance=row["importance"],
        tags=tuple(row["tags"]),
        metadata=row["metadata"],
        tokens=row["tokens"],
        created_at=row["created_at"],
        accessed_at=row["accessed_at"],
        access_count=row["access_count"],
        expires_at=row.get("expires_at"),
        times_said=row["times_said"],
        last_said=row["last_said"],
    )


def mention_of(
    row: Mapping[str, Any], *, node_id: str | None = None, content: str | None = None
) -> Mention:
    """A mention, from a row; or from its JSON inside a hit, whose node and content are given."""
    payload, valid, expires_at = row["payload"], row["valid"], row["expires_at"]
    if node_id is None and row.get("node_id") is not None:
        node_id = str(row["node_id"])
    source = source_of(row["source"], row["role"])
    return Mention(
        id=str(row["id"]),
        node_id=node_id,
        robot=row["robot"],
        session=row["session"] or None,
        role=row["role"],
        name=row["name"],
        seq=row["seq"],
        at=_moment(row["at"]),
        content=row["content"] if content is None else content,
        metadata=row["metadata"],
        payload=base64.b64decode(payload) if isinstance(payload, str) else payload,
        source=source,
        trust=trust_of(row["trust"], source),
        valid=None if valid is None else _window(valid),
        valid_words=row["valid_words"],
        expires_at=None if expires_at is None else _moment(expires_at),
        copy_of=None if row.get("copy_of") is None else str(row["copy_of"]),
    )


def last_expiry(mentions: Sequence[Mention]) -> datetime | None:
    """When the last of these mentions expires; None where one of them never does."""
    moments = [mention.expires_at for mention in mentions]
    return (
        None
        if None in moments
        else max((each for each in moments if each is not None), default=None)
    )


def _moment(value: datetime | str) -> datetime:
    """A time, from a column or from JSON."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _window(value: TimestamptzRange | Mapping[str, str | None]) -> Window:
    """When a mention holds, from its column or from JSON."""
    if isinstance(value, Mapping):
        start, stop = value["start"], value["stop"]
        return Window(
            start=None if start is None else _moment(start),
            stop=None if stop is None else _moment(stop),
        )
    return Window(start=value.lower, stop=value.upper)


def timerange(window: Window | None) -> TimestamptzRange | None:
    """A window as PostgreSQL's range; None stays None."""
    return None if window is None else TimestamptzRange(window.start, window.stop, "[)")


def multirange(windows: Sequence[Window]) -> TimestamptzMultirange | None:
    """Windows as PostgreSQL's multirange; none is no filter."""
    if not windows:
        return None
    return TimestamptzMultirange(
        [TimestamptzRange(window.start, window.stop, "[)") for window in windows]
    )
