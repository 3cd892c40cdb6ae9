"""Edges that say what a newer saying does to an older one, and their audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ..base.types import Mention, Supersession, SupersessionChange
from ..db.connection import Reader
from ..db.database import Connection
from ..db.queries import load
from ..db.records import mention_of


@dataclass(frozen=True, slots=True)
class ComparedNode:
    """A live node with its latest mention; `cosine` is that of its nearest passage to the node that
    is compared.
    """

    id: UUID
    content: str
    role: str | None
    name: str | None
    at: datetime
    mention_id: UUID
    trust: int
    cosine: float | None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class NewEdge:
    """Relation that was judged to hold between two nodes."""

    id: UUID
    newer: UUID
    older: UUID
    relation: str
    confidence: float
    reason: str
    holds_from: datetime


def subject(connection: Connection, node: UUID) -> ComparedNode | None:
    """A live node to be compared; None when it is hidden, gone, or what a file says."""
    return next(iter(queue_subjects(connection, [node])()), None)


def queue_subjects(connection: Connection, ids: Sequence[UUID]) -> Callable[[], list[ComparedNode]]:
    """Those of these nodes that are to be compared, read with what is sent next."""
    queued = connection.queue(load("change/supersession")["subjects"], {"nodes": list(ids)})
    return lambda: [ComparedNode(**row) for row in queued.rows]


def queue_candidates(
    connection: Connection, node: UUID, *, words: str | None, limit: int, owner: str
) -> Callable[[], list[ComparedNode]]:
    """The live nodes of the same owner that are nearest to a node, by its vector and by words, read
    with what is sent next.
    """
    values = {"node": node, "words": words, "limit": limit}
    queued = connection.queue(load("change/supersession")["candidates"], values)
    return lambda: [ComparedNode(**row, owner=owner) for row in queued.rows]


@dataclass(frozen=True, slots=True)
class UndecidedEdge:
    """An edge that the rules made and are not sure of, with the words of both."""

    id: UUID
    relation: str
    newer_id: UUID
    older_id: UUID
    newer: str
    older: str


def insert(
    connection: Connection,
    edges: Sequence[NewEdge],
    *,
    owner: str,
    judge: str,
    state: str = "standing",
) -> set[UUID]:
    """Add edges that are not there yet, each with its audit row; returns the ids of those."""
    if not edges:
        return set()
    values = {
        "ids": [edge.id for edge in edges],
        "newer": [edge.newer for edge in edges],
        "older": [edge.older for edge in edges],
        "relations": [edge.relation for edge in edges],
        "confidences": [edge.confidence for edge in edges],
        "reasons": [edge.reason for edge in edges],
        "holds_from": [edge.holds_from for edge in edges],
        "owner": owner,
        "judge": judge,
        "state": state,
    }
    return {
        row["supersession"]
        for row in connection.execute(load("change/supersession")["insert"], values)
    }


def is_compared(connection: Connection, node: UUID) -> bool:
    """True if no job that embeds or compares a node is pending."""
    row = connection.execute(load("change/supersession")["is_compared"], {"node": node}).fetchone()
    return row is not None and bool(row["compared"])


def make_judge_due(connection: Connection, ids: Sequence[UUID]) -> None:
    """Let the judge's jobs of nodes be done now, since the rules have compared them."""
    connection.queue(load("change/supersession")["make_judge_due"], {"nodes": list(ids)})


def undecided(connection: Connection, node: UUID, *, threshold: float) -> list[UndecidedEdge]:
    """The edges of a node that the rules made and are not sure of."""
    rows = connection.execute(
        load("change/supersession")["undecided"], {"node": node, "threshold": threshold}
    )
    return [UndecidedEdge(**row) for row in rows]


def decide(connection: Connection, id: UUID, *, relation: str, reason: str, judge: str) -> None:
    """Confirm or undo an edge as a judge says, unless somebody has changed it meanwhile."""
    values = {
        "id": id,
        "state": {"supersedes": "confirmed", "contradicts": "standing", "none": "undone"}[relation],
        "relation": None if relation == "none" else relation,
        "action": "undone" if relation == "none" else "confirmed",
        "reason": reason,
        "judge": judge,
    }
    connection.execute(load("change/supersession")["decide"], values)


def around(
    read: Reader,
    ids: Sequence[UUID],
    *,
    owners: Sequence[str] | None,
    threshold: float,
    moment: datetime | None = None,
) -> list[Supersession]:
    """The edges that hold among nodes and what is joined to them, the latest first; at a `moment`,
    or by now.
    """
    values: dict[str, Any] = {"ids": list(ids), "threshold": threshold}
    (row,) = read(load("change/supersession")["touching"], values)
    if not row["there"]:
        return []
    values["owners"] = None if owners is None else list(owners)
    rows = read(load("change/supersession")["around"], values | {"moment": moment})
    known: dict[tuple[str, UUID], Mention] = {}
    return [
        _supersession(row, **{end: _said(row, end, known) for end in ("newer", "older")})
        for row in rows
    ]


def _said(row: Mapping[str, Any], end: str, known: dict[tuple[str, UUID], Mention]) -> Mention:
    """The mention at an end of an edge: an earlier row has it where this one does not."""
    key = (end, row[f"{end}_id"])
    if row[end] is not None:
        known[key] = _mention(row[end])
    return known[key]


def _mention(whole: Mapping[str, Any]) -> Mention:
    return mention_of({**whole, "payload": None})


def list_edges(
    connection: Connection,
    *,
    owners: Sequence[str],
    node: UUID | None = None,
    relation: str | None = None,
    state: str | None = None,
    id: UUID | None = None,
    min_confidence: float = 0.0,
    limit: int,
) -> list[Supersession]:
    """Edges of these owners, the latest first."""
    values = {"owners": list(owners), "node": node, "relation": relation, "state": state, "id": id}
    rows = connection.execute(
        load("change/supersession")["list"],
        values | {"min_confidence": min_confidence, "limit": limit},
    )
    return [
        _supersession(row, newer=_mention(row["newer"]), older=_mention(row["older"]))
        for row in rows
    ]


def change(
    connection: Connection, id: UUID, *, owner: str, state: str, by: str, reason: str, at: datetime
) -> bool:
    """Give an edge another state, and write it into the audit; False when it has that state
    already, or is not there.
    """
    values = {"id": id, "owner": owner, "state": state, "by": by, "reason": reason, "at": at}
    return connection.execute(load("change/supersession")["change"], values).fetchone() is not None


def audit(connection: Connection, id: UUID, *, owners: Sequence[str]) -> list[SupersessionChange]:
    """Return the changes of an edge, oldest first."""
    rows = connection.execute(
        load("change/supersession")["audit"], {"id": id, "owners": list(owners)}
    )
    return [SupersessionChange(**row) for row in rows]


def _supersession(row: Mapping[str, Any], *, newer: Mention, older: Mention) -> Supersession:
    return Supersession(
        id=str(row["id"]),
        relation=row["relation"],
        newer=newer,
        older=older,
        confidence=row["confidence"],
        reason=row["reason"],
        judge=row["judge"],
        state=row["state"],
        holds_from=row["holds_from"],
        at=row["at"],
    )
