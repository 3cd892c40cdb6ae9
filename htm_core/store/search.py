"""Recall, in one round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..settings import Signals
from ..types import Hit, Mention, Window
from .connection import HalfVector
from .database import Connection
from .mentions import mention_of, multirange
from .nodes import node_of
from .queries import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What must hold of a node, and of one and the same of its mentions; None is neutral."""

    owners: Sequence[str] | None
    robots: Sequence[str] | None = None
    session: str | None = None
    windows: Sequence[Window] = ()
    tags: Sequence[str] | None = None
    equal: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


def recall(
    connection: Connection,
    *,
    text: str | None,
    vector: Sequence[float] | None,
    model: str,
    filters: Filters,
    pool: int,
    limit: int,
    share: float,
    lowest: float,
    speakers: Sequence[str],
    moments: Sequence[Window],
    signals: Signals,
) -> list[Hit]:
    """The best nodes for a question: `text` is what words are found by, `vector` its embedding; either may be missing.

    `speakers` and `moments` are who and when the question names, as far as `signals` give weight to that. Raises
    `DimensionMismatch` when the vector is of another model than the memories'.
    """
    question = {
        "text": text,
        "vector": None if vector is None else HalfVector(list(vector)),
        "model": model,
        "pool": pool,
        "limit": limit,
        "share": share,
        "lowest": lowest,
        "speakers": list(speakers),
        "moments": multirange(moments),
        "context": signals.context,
        "sessions": signals.session,
        "speaker": signals.speaker,
        "time": signals.time,
        "standing": signals.prior,
        "corroboration": signals.corroboration,
        "labels": signals.tags,
    }
    rows = connection.execute(load("search")["recall"], question | _columns(filters))
    return [_hit(row) for row in rows]


def _columns(filters: Filters) -> dict[str, Any]:
    return {
        "owners": _array(filters.owners),
        "robots": _array(filters.robots),
        "session": filters.session,
        "windows": multirange(filters.windows),
        "tags": _array(filters.tags),
        "equal": None if filters.equal is None else Jsonb(filters.equal),
        "metadata": None if filters.metadata is None else Jsonb(filters.metadata),
    }


def _array(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _hit(row: Mapping[str, Any]) -> Hit:
    mentions = [mention_of(mention | {"node_id": row["id"]}, content=row["content"]) for mention in row["mentions"]]
    return Hit(
        node=node_of(row),
        score=row["score"],
        vector_rank=row["vector_rank"],
        text_rank=row["text_rank"],
        passage=row["passage"] or row["content"],
        mentions=tuple(mentions),
        signals={
            "vector": row["vector_part"],
            "words": row["text_part"],
            "context": row["context_part"],
            "tags": row["tags_part"],
            "session": row["session_part"],
            "speaker": row["speaker_part"],
            "time": row["time_part"],
            "prior": row["prior_part"],
            "diversity": 0.0,
        },
    )


def speakers(connection: Connection, forms: Sequence[str], *, filters: Filters) -> list[str]:
    """Which of these forms of a name are a speaker's, as a whole or as its first part; the longest first."""
    row = connection.execute(load("search")["speakers"], {"forms": list(forms)} | _columns(filters)).fetchone()
    assert row is not None  # a select without from has one row
    return list(row["names"])


def preceding(connection: Connection, ids: Sequence[UUID]) -> dict[str, Mention]:
    """The message right before each of these mentions in its session, by the mention's id, where there is one."""
    rows = connection.execute(load("search")["preceding"], {"ids": list(ids)})
    return {str(row["follower"]): mention_of(row) for row in rows}


def count_words(connection: Connection) -> int:
    """Renew a tenant's word statistics and say how many passages it has."""
    row = connection.execute(load("search")["count_words"]).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["total"])
