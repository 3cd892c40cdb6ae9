"""Memories: a draft becomes a node, and each saying of it a mention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .options import DEFAULT_IMPORTANCE, Metadata, Source, TimeframeLike, Window
from .quick import quickly_made

# How far each source is trusted; docs/change.md says why in this order.
TRUST: Mapping[Source | None, int] = {
    "user": 4,
    None: 4,  # the program itself, which nobody else wrote
    "assistant": 3,
    "import": 2,
    "file": 2,
    "tool": 1,
    "web": 0,
}
ROLES_WITH_A_SOURCE: tuple[Source, ...] = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Something to remember.

    The fields are the arguments of `Memory.remember`. `vector` is the content's embedding by the
    memory's own embedder, if you have it already. `attached` are files that came with it, as with a
    message in a log: recall finds what they say, cut as `Memory.load` cuts a file, and the log does
    not show it.
    """

    content: str
    id: str | None = None
    key: str | None = None
    importance: float | None = None
    tags: Sequence[str] = ()
    metadata: Metadata | None = None
    session: str | None = None
    role: str | None = None
    name: str | None = None
    at: datetime | None = None
    payload: bytes | None = None
    valid: TimeframeLike = None
    ttl: timedelta | float | None = None
    expires_at: datetime | None = None
    source: Source | None = None
    trust: int | None = None
    vector: Sequence[float] | None = None
    attached: Sequence[Attachment] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """The text of a file that came with a message. `media_type` tells Markdown where `name` does
    not, and of a PDF `pages` is where each page begins, in characters.
    """

    text: str
    name: str | None = None
    media_type: str | None = None
    pages: tuple[int, ...] = ()
    source: Source = "file"


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One text of one owner, however often it was said.

    `created_at`, `accessed_at` and `access_count` are of the node; who said it, when and where are
    its mentions. `version` is that of its key, if it has one. `is_new` is true only in what
    `remember` answers, when the text was not known before. From `expires_at` on it is hidden: that
    is when the last of its mentions expires, None where one of them never does. `times_said` counts
    its mentions and those of what was merged into it, `last_said` is the time of the latest; of a
    hit's node, those that satisfy the filters, at most the newest twenty.
    """

    id: str
    content: str
    keys: tuple[str, ...] = ()
    version: int | None = None
    importance: float = DEFAULT_IMPORTANCE
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    tokens: int = 0
    created_at: datetime
    accessed_at: datetime
    access_count: int = 0
    is_new: bool = False
    expires_at: datetime | None = None
    times_said: int = 1
    last_said: datetime | None = None


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One saying of a node: who said it, when, and in which session. A message with nothing to
    search in it has no node.

    `seq` counts the messages of a session from 1, without gaps. `payload` is the exact bytes that
    were given. `source` says where it came from: "user", "assistant", "tool", "file", "web",
    "import", or None for the program itself. `trust` is from 0 (a page of the web) to 4 (the user,
    or the program itself). `valid` is when it holds, None where nothing was said about that, and
    `valid_words` the words that said so. From `expires_at` on it is hidden. `copy_of` is the id of
    the mention that this one copies, as in a forked conversation or a transcript that was imported
    again: both are one saying.
    """

    id: str
    node_id: str | None
    robot: str
    session: str | None
    role: str | None
    name: str | None
    seq: int
    at: datetime
    content: str
    metadata: Metadata = field(default_factory=dict)
    payload: bytes | None = None
    source: Source | None = None
    trust: int = 4
    valid: Window | None = None
    valid_words: str | None = None
    expires_at: datetime | None = None
    copy_of: str | None = None


def times_said(mentions: Iterable[Mention]) -> int:
    """Count how often something was said: a mention and its copies are one saying."""
    return len({mention.copy_of or mention.id for mention in mentions})


def source_of(source: Source | None, role: str | None) -> Source | None:
    """Where something came from: the source that was given, else its role; None is the program
    itself.
    """
    if source is not None:
        return source
    return next((each for each in ROLES_WITH_A_SOURCE if each == role), None)


def trust_of(trust: int | None, source: Source | None) -> int:
    """The trust level that was given, else that of the source."""
    return TRUST[source] if trust is None else trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The answer of `revise` when the key has another version than expected; nothing was written.

    `current` is the key's present value; None when it has none, or when its value was forgotten.
    """

    key: str
    expected: int
    current: Node | None
