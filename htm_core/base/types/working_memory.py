"""Items of working memory, what it lets go, and the text for a prompt that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .options import DEFAULT_IMPORTANCE, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A node as working memory holds it. Times are UTC epoch seconds, so that a policy can
    calculate with them.

    `name`, `role`, `session`, `said_at`, `seq` and `source` are those of its latest mention: who
    said it, where, when, its place among what was said then, and where it came from. They, `tags`
    and `keys` are as they were when the item was read or written. From `expires_at` on it is no
    longer held.
    """

    id: str
    content: str
    tokens: int
    importance: float = DEFAULT_IMPORTANCE
    access_count: int = 0
    added_at: float
    accessed_at: float
    name: str | None = None
    role: str | None = None
    session: str | None = None
    said_at: float | None = None
    seq: int = field(default=0, compare=False)
    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    expires_at: float | None = field(default=None, compare=False)
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """The receipt of an item that left working memory. Its node stays in long-term memory."""

    item: Item
    policy: str
    score: float
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A text for a model's prompt, of exactly `tokens` tokens, made of `items` in their order in
    the text.
    """

    text: str
    items: tuple[Item, ...]
    tokens: int
