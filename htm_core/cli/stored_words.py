"""Completions of a word that somebody has begun to type: ids, keys, sessions and robots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeAlias
from uuid import UUID

from ..db.database import Connection, Database
from ..db.owner_claims import claim_of
from ..engine import completions, short_ids
from ..writing import mentions
from .short_ids import DIGITS

CompletionKind: TypeAlias = Literal[
    "memories", "mentions", "changes", "jobs", "keys", "sessions", "robots"
]
MOST = 50
SHOWN = 8  # digits of an id
SESSIONS = 1_000  # the latest ones, among which those are looked for that begin so
_DIGITS = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]*")


def beginning(
    database: Database,
    begins: str,
    kinds: Sequence[CompletionKind],
    *,
    tenant: str,
    user: str | None,
) -> list[tuple[str, str]]:
    """Return what a user sees that begins with `begins`, each with a few words about it. It reads,
    and makes nothing.

    Ids need at least one digit of their beginning.
    """
    owners = [user, ""] if user else [""]

    def work(connection: Connection) -> list[tuple[str, str]]:
        """Read it in one transaction."""
        return [pair for kind in kinds for pair in _of_kind(connection, begins, kind, owners)]

    return database.reading(tenant, work, claim=claim_of(owners[0]), now=datetime.now(UTC))


def _of_kind(
    connection: Connection, begins: str, kind: CompletionKind, owners: Sequence[str]
) -> Iterable[tuple[str, str]]:
    if kind == "sessions":
        return _sessions(connection, begins, owners)
    if kind in ("keys", "robots"):
        return completions.beginning(connection, kind, begins, owners=owners, limit=MOST)
    digits = begins.replace("-", "").lower()
    if _DIGITS.fullmatch(begins) is None or len(digits) > DIGITS:
        return []
    first, last = (UUID(digits.ljust(DIGITS, fill)) for fill in "0f")
    rows = short_ids.between(connection, kind, first, last, owners=owners, hidden=False, limit=MOST)
    return [(_as_begun(str(id), begins), about) for id, about in rows]


def _as_begun(id: str, begins: str) -> str:
    """An id as short as tables show it, unless more of it is there already."""
    return id[:SHOWN] if len(begins) <= SHOWN else id


def _sessions(
    connection: Connection, begins: str, owners: Sequence[str]
) -> Iterator[tuple[str, str]]:
    latest = mentions.latest_sessions(connection, owners=owners, limit=SESSIONS)
    names = [name for name, _ in latest if name.startswith(begins)][:MOST]
    titles = mentions.session_titles(connection, names, owners=owners) if names else {}
    for name in names:
        title, opening = titles.get(name, (None, None))
        yield name, title or opening or ""
