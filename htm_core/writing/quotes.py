"""Quotes: what shows a memory elsewhere, which is hidden, brought back and erased with it.

A recall tool shows each memory with its id, so what it quotes is known. What tools and assistants
say, notes of a session and what was promoted from them are known by their words, where they repeat
a whole text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from ..base.folding import lexical_text
from ..db.connection import Queued
from ..db.database import Connection, Row
from ..db.queries import load
from ..db.records import Entry
from . import nodes, places

# A text of fewer words stands in other texts by chance, unless it is longer than so many
# characters.
WORDS, BY_CHANCE = 4, 500
_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?!\][.;])"
)  # as functions/quotes.sql has it


def forget(
    connection: Connection, gone: Sequence[UUID], *, owner: str, by: str, at: datetime
) -> list[UUID]:
    """Hide what quotes nodes that are not live any more; returns the nodes of these quotes that are
    not live any more either.
    """
    ids = [row["id"] for row in _quotes(connection, gone, owner=owner)]
    if not ids:
        return []
    rows = connection.execute(
        load("writing/forgetting")["forget_quotes"], {"ids": ids, "by": by, "at": at}
    )
    return _refresh(connection, [row["node_id"] for row in rows])


def restore(
    connection: Connection, back: Sequence[UUID], *, owner: str, times: Sequence[datetime]
) -> None:
    """Bring back what was hidden with nodes because it quotes them, and quotes nothing else that is
    forgotten.
    """
    ids = [row["id"] for row in _quotes(connection, back, owner=owner, times=times)]
    if ids:
        rows = connection.execute(load("writing/forgetting")["restore_quotes"], {"ids": ids})
        _refresh(connection, [row["node_id"] for row in rows])


def times_forgotten(connection: Connection, group: Sequence[UUID]) -> list[datetime]:
    """When the mentions of nodes were forgotten."""
    return [
        row["time"]
        for row in connection.execute(
            load("writing/forgetting")["times_forgotten"], {"nodes": list(group)}
        )
    ]


def erase(
    connection: Connection, ids: Sequence[UUID], *, owner: str, stated: Collection[UUID]
) -> dict[str, list[UUID]]:
    """Empty what quotes nodes that are erased, of which some were stated by somebody; returns the
    nodes of the quotes by owner.
    """
    rows = _quotes(connection, ids, owner=owner, stated=stated)
    if rows:
        connection.execute(
            load("writing/forgetting")["empty"], {"ids": [row["id"] for row in rows]}
        )
    connection.execute(
        load("writing/forgetting")["empty_audit"],
        {"ids": list(ids), "owners": _owners(connection, owner)},
    )
    quoting: dict[str, list[UUID]] = {}
    for row in rows:
        if row["node_id"] is not None:
            quoting.setdefault(row["owner"], []).append(row["node_id"])
    return quoting


def queue_late(connection: Connection, entries: Sequence[Entry]) -> Queued | None:
    """Have those entries hidden that quote what was forgotten before they are written, for
    `hidden_late`; None where none can.
    """
    pairs = [
        (entry.mention, UUID(id))
        for entry in entries
        if entry.role == "tool"
        for id in ids_in(entry)
    ]
    if not pairs:
        return None
    values = {
        "mentions": [mention for mention, _ in pairs],
        "quoted": [quoted for _, quoted in pairs],
    }
    return connection.queue(load("writing/forgetting")["forget_late_quotes"], values)


def hidden_late(connection: Connection, late: Queued | None) -> list[UUID]:
    """The nodes of hidden quotes that are not live any more."""
    return [] if late is None else _refresh(connection, [row["node_id"] for row in late.rows])


def ids_in(entry: Entry) -> set[str]:
    """The ids that stand in an entry's text or in its payload."""
    return set(_ID.findall(entry.content)) | set(
        _ID.findall((entry.payload or b"").decode("ascii", "ignore"))
    )


def _quotes(
    connection: Connection,
    quoted: Sequence[UUID],
    *,
    owner: str,
    times: Sequence[datetime] | None = None,
    stated: Collection[UUID] | None = None,
) -> list[Row]:
    """Return what quotes nodes, as id, node_id and owner: what is shown; what was hidden at
    `times`; or all of it.

    That is for nodes that are erased, of which the words of those that are `stated` are looked for.
    """
    if not quoted:
        return []
    statements, nodes, is_erased = (
        load("writing/forgetting"),
        {"nodes": list(quoted)},
        stated is not None,
    )
    if stated is None:
        stated = {row["id"] for row in connection.execute(statements["told_nodes"], nodes)}
    known = [
        row["content"]
        for row in connection.execute(statements["texts_of_nodes"], nodes)
        if row["id"] in stated
    ]
    texts = [
        text for text in known if len(text) > BY_CHANCE or len(lexical_text(text).split()) >= WORDS
    ]
    values = {
        "owners": _owners(connection, owner),
        "nodes": list(quoted),
        "times": None if times is None else list(times),
        "erased": is_erased,
        "texts": texts,
        "escaped": [json.dumps(text)[1:-1].encode("ascii") for text in texts],
    }
    return connection.execute(load("writing/forgetting")["quotes"], values).fetchall()


def _owners(connection: Connection, owner: str) -> list[str]:
    """An owner, and those of the notes of their sessions."""
    return [owner, *places.note_owners(connection, owner=owner)]


def _refresh(connection: Connection, touched: Sequence[UUID | None]) -> list[UUID]:
    quoting = sorted({node for node in touched if node is not None})
    if not quoting:
        return []
    nodes.refresh(connection, quoting, described=quoting)
    return sorted(set(quoting) - nodes.live(connection, quoting))
