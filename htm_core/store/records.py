"""What is written when something is remembered: a draft with its ids, its tokens and its passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageDraft:
    """One passage of a content: where it lies, and the text that words are found by."""

    id: UUID
    starts: int
    stops: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One saying, ready to be written; `node` is None when there is nothing to search in it."""

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
    vectors: tuple[Sequence[float] | None, ...]  # one per piece, as far as they are known
    logged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenEntry:
    """What became of one entry."""

    mention: UUID
    node: UUID | None
    is_new: bool
