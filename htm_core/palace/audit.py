"""The audit of a palace: decisions about promotions, and consultations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from .grounding.grounding import Verdict

Outcome = Literal["promoted", "duplicate", "conflict", "undone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A text that a promotion repeats or contradicts: its ids, its words, and why.

    `id` is the id of the mention and `node_id` the id of the node.
    """

    id: str
    node_id: str
    content: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about a promotion. `outcome` is "promoted", "duplicate", "conflict" or "undone".

    `note_id` is None for a fact that was submitted without a note. `placed_id` is the id of what
    was filed; None when nothing was. `undoes` is the id of the decision that this one takes back.
    """

    id: str
    outcome: Outcome
    note_id: str | None
    placed_id: str | None
    room: str
    drawer: str
    reason: str
    summary: str
    against: tuple[Against, ...]
    undoes: str | None
    robot: str
    session: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Consultation:
    """One question to an enforcer: whether it asks for something remembered and by which rule, each
    layer's answer, the verdict.

    `layers` are plain mappings with `layer`, `state`, `why` and `evidence` (ids, scores and
    sources, no words).
    """

    id: str
    prompt: str
    recall: bool
    rule: str
    verdict: Verdict
    layers: tuple[Mapping[str, Any], ...]
    robot: str
    session: str | None
    at: datetime


def decision_of(row: Mapping[str, Any]) -> Decision:
    """A decision, from its row."""
    return Decision(
        id=str(row["id"]),
        outcome=row["outcome"],
        note_id=None if row["note_id"] is None else str(row["note_id"]),
        placed_id=None if row["mention_id"] is None else str(row["mention_id"]),
        room=row["room"],
        drawer=row["drawer"],
        reason=row["reason"],
        summary=row["summary"],
        against=tuple(Against(**each) for each in row["against"]),
        undoes=None if row["undoes"] is None else str(row["undoes"]),
        robot=row["robot"],
        session=row["session"] or None,
        at=row["at"],
    )


def consultation_of(row: Mapping[str, Any]) -> Consultation:
    """A consultation, from its row."""
    return Consultation(
        id=str(row["id"]),
        prompt=row["prompt"],
        recall=row["recall"],
        rule=row["rule"],
        verdict=row["verdict"],
        layers=tuple(row["layers"]),
        robot=row["robot"],
        session=row["session"] or None,
        at=row["at"],
    )
