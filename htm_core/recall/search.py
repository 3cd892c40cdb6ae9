"""Statements of recall: the candidates of a query, the fields of its hits, and the look-ups that
complete them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.settings import Signals
from ..base.types import AppliedTimeframe, Mention, Mode, Node, Window
from ..base.types.memories import times_said
from ..base.types.quick import quickly_made
from ..db.connection import Connection, HalfVector, Reader
from ..db.queries import load
from ..db.records import last_expiry, mention_of, multirange
from .asked import AskedParts
from .spelling import RIGHT, Doubtful


def texts(values: Iterable[str] | None) -> str | None:
    """Texts as PostgreSQL writes a list of them, for a parameter of which the statement says that
    it is text[], or uuid[].

    psycopg looks at each element of a list, and takes ten times as long.
    """
    if values is None:
        return None
    return (
        "{"
        + ",".join(['"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in values])
        + "}"
    )


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The conditions on a node, and on one and the same of its mentions; None is no condition."""

    owners: Sequence[str] | None
    robots: Sequence[str] | None = None
    session: str | None = None
    windows: Sequence[Window] = ()
    tags: Sequence[str] | None = None
    equal: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    sources: Sequence[str] | None = None
    min_trust: int | None = None

    def parameters(self) -> dict[str, Any]:
        """The parameters of the SQL row `conditions`."""
        return {
            "owners": texts(self.owners),
            "robots": texts(self.robots),
            "session": self.session,
            "windows": multirange(self.windows),
            "tags": texts(self.tags),
            "equal": None if self.equal is None else Jsonb(self.equal),
            "metadata": None if self.metadata is None else Jsonb(self.metadata),
            "as_of": self.as_of,
            "valid_at": self.valid_at,
            "sources": texts(self.sources),
            "min_trust": self.min_trust,
        }


@quickly_made
@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """One recall on its way from the verb to the SQL: checked when it is made, then completed step
    by step.

    `query` is what the caller asked, `text` the same without the time that timeframe="auto" took
    out of it. `moments` are the times that the text names, `speakers` the speakers, `phrases` what
    it quotes. `timeframe` are the times that it is limited to; `at_any_time` is the same query
    without them, for when they hold no answer. `words` is what the lexical arm searches for,
    `embedding` what the vector arm compares with; an arm without its part does not run. Each arm
    brings `pool` candidates, and the vector's score counts for `vector_share` beside the words'.
    `forms` are the words that may be names, each as it is written. So much of what the ranker says
    is added to the score as `ranker` says. `doubtful` are words that memories may spell otherwise,
    `added` those that are searched for beside the text. `asked` is what a long query asks, where
    `text` is the first of its parts; None where the text is all of it. `then` are the times that it
    asks about, where they are over; `asks_a_time_alone` says that it names nothing else, and that
    they count from now, as "yesterday" does. `corrections` has its words that were replaced,
    `degraded` says why it has no embedding. Without plugs, expander and reranker are left out.
    `reader` says that the embedded reader reads the first hits.
    """

    query: str
    text: str
    filters: Filters
    mode: Mode = "hybrid"
    limit: int = 10
    budget: int | None = None
    min_score: float = 0.0
    hold: bool = False
    explain: bool = False
    pool: int = 30
    vector_share: float = 0.4
    signal_weights: Signals = field(default_factory=Signals)
    moments: Sequence[Window] = ()
    then: Sequence[Window] = ()
    asks_a_time_alone: bool = False
    timeframe: AppliedTimeframe | None = None
    at_any_time: RecallQuery | None = None
    speakers: Sequence[str] = ()
    forms: Mapping[str, str] = field(default_factory=dict)
    ranker: float = 0.0
    words: str | None = None
    phrases: Sequence[str] = ()
    doubtful: Doubtful = RIGHT
    added: Sequence[str] = ()
    embedding: Sequence[float] | None = None
    model: str
    asked: AskedParts | None = None
    corrections: Mapping[str, str] = field(default_factory=dict)
    degraded: str | None = None
    with_plugs: bool = True
    reader: bool = False

    @property
    def question(self) -> str:
        """Words of the query that ask: all of it, or the parts of a long one that do."""
        return self.query if self.asked is None else self.asked.words

    @property
    def of_everybody(self) -> bool:
        """True if it asks for the memories of all users of the tenant."""
        return self.filters.owners is None

    @property
    def asks_for_neighbours_alone(self) -> bool:
        """True if nothing counts but how near a memory is to the embedding."""
        weights = self.signal_weights
        others = (weights.session, weights.speaker, weights.time, weights.prior)
        return self.words is None and self.embedding is not None and not any(others)

    @property
    def vector(self) -> HalfVector | None:
        """The embedding as the database takes it."""
        return None if self.embedding is None else HalfVector(list(self.embedding))


# What the database writes begins with its value, so that nothing has to be looked for around it.
_read_json = json.JSONDecoder().raw_decode


@dataclass(slots=True, kw_only=True)  # not frozen, which would take three times as long
class HitFields:
    """Fields of a hit whatever it scores; `place` is that of its node among those that were asked
    for.
    """

    place: int
    node: Node
    passage: str
    passage_length: int
    mentions: tuple[Mention, ...]


@dataclass(slots=True)
class Neighbour:
    """A node whose nearest passage is near to a query's vector."""

    fields: HitFields
    rank: int
    cosine: float


@dataclass(frozen=True, slots=True)
class SeenBeside:
    """Facts that a search sees by the way, so that nobody looks for them: whether the tenant has
    anything superseded, and whether the owners whose memories are searched have anything that is
    merged."""

    superseding: bool
    merged: bool


def hit_fields(
    read: Reader, query: RecallQuery, nodes: Sequence[UUID], passages: Sequence[UUID]
) -> list[HitFields]:
    """All that these nodes show as hits, in their order, each with one of its passages.

    What was forgotten meanwhile is left out.
    """
    if not nodes:
        return []
    parameters = {
        "nodes": texts(map(str, nodes)),
        "passages": texts(map(str, passages)),
    } | query.filters.parameters()
    return [_fields(row) for row in read(load("recall/search")["hits"], parameters)]


def nearest(read: Reader, query: RecallQuery) -> tuple[list[Neighbour], SeenBeside | None]:
    """The nearest neighbours of a query's embedding, nearest first, and what was seen beside them,
    where there are any.

    Raises `DimensionMismatch` when the embedding is of another model than the tenant's vectors.
    """
    parameters = {
        "embedding": query.vector,
        "model": query.model,
        "pool": query.pool,
        "limit": query.limit,
        "min_score": query.min_score,
    }
    rows = read(load("recall/search")["nearest"], parameters | query.filters.parameters())
    neighbours = [Neighbour(_fields(row), row["vector_rank"], row["cosine"]) for row in rows]
    return neighbours, SeenBeside(rows[0]["superseding"], rows[0]["merged"]) if rows else None


def _fields(row: Mapping[str, Any]) -> HitFields:
    id, content = row["id"], row["content"]
    mentions = [
        mention_of(mention, node_id=id, content=content)
        for mention in _read_json(row["mentions"])[0]
    ]
    node = Node(
        id=id,
        content=content,
        keys=tuple(row["keys"]),
        version=row["version"],
        importance=row["importance"],
        tags=tuple(row["tags"]),
        metadata=_read_json(row["metadata"])[0],
        tokens=row["tokens"],
        created_at=row["created_at"],
        accessed_at=row["accessed_at"],
        access_count=row["access_count"],
        expires_at=last_expiry(mentions),
        times_said=times_said(mentions),
        last_said=mentions[0].at,
    )
    return HitFields(
        place=row["place"] - 1,
        node=node,
        passage=row["passage"] or content,
        passage_length=row["passage_length"],
        mentions=tuple(mentions),
    )


def preceding(read: Reader, ids: Sequence[UUID]) -> dict[str, Mention]:
    """The message right before each of these mentions in its session, by the mention's id; none for
    the first message.
    """
    rows = read(load("recall/search")["preceding"], {"ids": list(ids)})
    return {str(row["follower"]): mention_of(row) for row in rows}


def count_words(connection: Connection) -> int:
    """Renew a tenant's word statistics, and say how many passages it has."""
    row = connection.execute(load("recall/search")["count_words"]).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["total"])
