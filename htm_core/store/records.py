"""The records that statements write, and how rows that are read become values."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg.types.multirange import TimestamptzMultirange
from psycopg.types.range import TimestamptzRange

from ..rules.text.traits import Trait
from ..types import DEFAULT_IMPORTANCE, Mention, Node, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageDraft:
    """One passage of a content: its position, its text as the lexical index gets it, and what it is like."""

    id: UUID
    starts: int
    stops: int
    words: str
    traits: Trait


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
    pieces: tuple[PassageDraft, ...]
    vectors: tuple[Sequence[float] | None, ...]  # one per passage, None where it is not known yet
    logged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenEntry:
    """The result of writing one entry. `said_again`: its node was known, and this is another mention of it."""

    mention: UUID
    node: UUID | None
    is_new: bool
    said_again: bool


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
        **_said(row),
    )


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    """How often a node was said and when last, as its row counts it, or by the mentions that come with it."""
    if "times_said" in row:
        return {"times_said": row["times_said"], "last_said": row["last_said"]}
    mentions = row.get("mentions") or ()
    if not mentions:
        return {}
    return {"times_said": len(mentions), "last_said": datetime.fromisoformat(mentions[0]["at"])}


def new_node(entry: Entry, metadata: dict[str, Any]) -> Node | None:
    """The node of an entry that has just made it, as it would be read; None where that takes the database to say.

    That is so for a key, and for the order of several tags. `metadata` is the entry's as the database has it, which may write a
    number in another way.
    """
    if entry.node is None or entry.key is not None or len(entry.tags) > 1:
        return None
    at = entry.at.astimezone(UTC)
    return Node(
        id=str(entry.node),
        content=entry.content,
        importance=DEFAULT_IMPORTANCE if entry.importance is None else entry.importance,
        tags=entry.tags,
        metadata=metadata,
        tokens=entry.tokens,
        created_at=at,
        accessed_at=at,
        last_said=at,
    )


def mention_of(row: Mapping[str, Any], *, content: str | None = None) -> Mention:
    """A mention, from a row or from its JSON inside a hit."""
    payload, at = row["payload"], row["at"]
    return Mention(
        id=str(row["id"]),
        node_id=str(row["node_id"]) if row.get("node_id") is not None else None,
        robot=row["robot"],
        session=row["session"] or None,
        role=row["role"],
        name=row["name"],
        seq=row["seq"],
        at=datetime.fromisoformat(at) if isinstance(at, str) else at,
        content=row["content"] if content is None else content,
        metadata=row["metadata"],
        payload=base64.b64decode(payload) if isinstance(payload, str) else payload,
    )


def multirange(windows: Sequence[Window]) -> TimestamptzMultirange | None:
    """Windows as PostgreSQL's multirange; none is no filter."""
    if not windows:
        return None
    return TimestamptzMultirange([TimestamptzRange(window.start, window.stop, "[)") for window in windows])
