"""Quotes: replies of tools and assistants that show a memory, which are hidden, brought back and erased with it.

A recall tool shows each memory with its id, so what it quotes is known. What repeats a whole text is known by its words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from . import nodes
from .database import Connection
from .queries import load
from .records import Entry

# A text of fewer words stands in other texts by chance.
WORDS = 4
_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?!\][.;])"
)  # as functions/quotes.sql has it


def forget(connection: Connection, gone: Sequence[UUID], *, owner: str, by: str, at: datetime) -> list[UUID]:
    """Hide what quotes nodes that are not live any more; returns the nodes of these quotes that are not live any more either."""
    found = _quotes(connection, gone, owner=owner)
    if not found:
        return []
    rows = connection.execute(load("forgetting")["forget_quotes"], {"ids": found, "by": by, "at": at})
    return _refresh(connection, [row["node_id"] for row in rows])


def restore(connection: Connection, back: Sequence[UUID], *, owner: str, times: Sequence[datetime]) -> None:
    """Bring back what was hidden with nodes because it quotes them, and quotes nothing else that is forgotten."""
    found = _quotes(connection, back, owner=owner, times=times)
    if found:
        rows = connection.execute(load("forgetting")["restore_quotes"], {"ids": found})
        _refresh(connection, [row["node_id"] for row in rows])


def times_forgotten(connection: Connection, group: Sequence[UUID]) -> list[datetime]:
    """When the mentions of nodes were forgotten."""
    rows = connection.execute(load("forgetting")["quoted_texts"], {"nodes": list(group)})
    return [time for row in rows for time in row["times"] or ()]


def erase(connection: Connection, ids: Sequence[UUID], *, owner: str) -> set[UUID]:
    """Empty what quotes nodes that are erased; returns the nodes that the quotes had."""
    rows = connection.execute(load("forgetting")["empty_quotes"], {"ids": list(ids), "owner": owner})
    return {row["node_id"] for row in rows if row["node_id"] is not None} - set(ids)


def forget_late(connection: Connection, entries: Sequence[Entry]) -> list[UUID]:
    """Hide those of just written entries that quote what was forgotten before; returns the nodes that are not live any more."""
    pairs = [(entry.mention, UUID(id)) for entry in entries if entry.role == "tool" for id in ids_in(entry)]
    if not pairs:
        return []
    values = {"mentions": [mention for mention, _ in pairs], "quoted": [quoted for _, quoted in pairs]}
    rows = connection.execute(load("forgetting")["forget_late_quotes"], values)
    return _refresh(connection, [row["node_id"] for row in rows])


def ids_in(entry: Entry) -> set[str]:
    """The ids that stand in an entry's text or in its payload."""
    return set(_ID.findall(entry.content)) | set(_ID.findall((entry.payload or b"").decode("ascii", "ignore")))


def _quotes(
    connection: Connection, quoted: Sequence[UUID], *, owner: str, times: Sequence[datetime] | None = None
) -> list[UUID]:
    if not quoted:
        return []
    rows = connection.execute(load("forgetting")["quoted_texts"], {"nodes": list(quoted)})
    texts = [row["content"] for row in rows if row["is_told"] and len(row["content"].split()) >= WORDS]
    values = {
        "owner": owner,
        "nodes": list(quoted),
        "times": None if times is None else list(times),
        "texts": texts,
        "escaped": [json.dumps(text)[1:-1].encode("ascii") for text in texts],
    }
    return [row["id"] for row in connection.execute(load("forgetting")["quotes"], values)]


def _refresh(connection: Connection, touched: Sequence[UUID | None]) -> list[UUID]:
    quoting = sorted({node for node in touched if node is not None})
    if not quoting:
        return []
    nodes.refresh(connection, quoting, described=quoting)
    return sorted(set(quoting) - nodes.live(connection, quoting))
