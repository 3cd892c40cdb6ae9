"""Recall in one round trip, and the look-ups that prepare it and complete its hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..rules.ranking import Weights
from ..settings import Signals
from ..types import AppliedTimeframe, Hit, Match, Mention, Mode, Window
from .connection import HalfVector
from .database import Connection
from .queries import load
from .records import last_expiry, mention_of, multirange, node_of


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
            "owners": None if self.owners is None else list(self.owners),
            "robots": None if self.robots is None else list(self.robots),
            "session": self.session,
            "windows": multirange(self.windows),
            "tags": None if self.tags is None else list(self.tags),
            "equal": None if self.equal is None else Jsonb(self.equal),
            "metadata": None if self.metadata is None else Jsonb(self.metadata),
            "as_of": self.as_of,
            "valid_at": self.valid_at,
            "sources": None if self.sources is None else list(self.sources),
            "min_trust": self.min_trust,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """One recall on its way from the verb to the SQL: checked when it is made, then completed step by step.

    `query` is what the caller asked, `text` the same without the time that timeframe="auto" took out of it. `moments` are
    the times that the text names, `speakers` the speakers, `phrases` what it quotes. `timeframe` are the times that it is
    limited to; `at_any_time` is the same query without them, for when they hold no answer. `words` is what the lexical arm
    searches for, `embedding` what the vector arm compares with; an arm without its part does not run. Each arm brings `pool`
    candidates, and the vector's score counts for `vector_share` beside the words'. `forms` are the words that may be names.
    `ranking` is what the ranker weighs by; without it nothing is added to the score.
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
    timeframe: AppliedTimeframe | None = None
    at_any_time: RecallQuery | None = None
    speakers: Sequence[str] = ()
    forms: Sequence[str] = ()
    ranking: Weights | None = None
    words: str | None = None
    phrases: Sequence[str] = ()
    embedding: Sequence[float] | None = None
    model: str

    @property
    def of_everybody(self) -> bool:
        """Whether it asks for the memories of all users of the tenant."""
        return self.filters.owners is None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, and which of the query's forms are names of speakers; None where no hit could say so.

    `features` has for each hit of a query with `explain` what the ranker weighed, and the traits of its passage after it; None
    without a ranker.
    """

    hits: list[Hit]
    known_speakers: list[str] | None
    features: list[list[float] | None] = field(default_factory=list)


def recall(connection: Connection, query: RecallQuery) -> SearchResult:
    """The best nodes for a query, best first, with what each signal added to their scores.

    Raises `DimensionMismatch` when the embedding is of another model than the tenant's vectors.
    """
    weights = query.signal_weights
    parameters = {
        "words": query.words,
        "embedding": None if query.embedding is None else HalfVector(list(query.embedding)),
        "model": query.model,
        "pool": query.pool,
        "limit": query.limit,
        "vector_share": query.vector_share,
        "min_score": query.min_score,
        "speakers": list(query.speakers),
        "moments": multirange(query.moments),
        "context_weight": weights.context,
        "session_weight": weights.session,
        "speaker_weight": weights.speaker,
        "time_weight": weights.time,
        "prior_weight": weights.prior,
        "corroboration_weight": weights.corroboration,
        "tags_weight": weights.tags,
        "phrases": list(query.phrases) or None,
        "forms": list(query.forms) or None,
        "ranking": query.ranking and query.ranking.features,
        "trait_weights": query.ranking and query.ranking.traits,
        "explained": query.explain,
    }
    rows = connection.execute(load("search")["recall"], parameters | query.filters.parameters()).fetchall()
    known = rows[0]["known_speakers"] if rows else None
    return SearchResult([_hit(row) for row in rows], known, [row["features"] for row in rows])


def _hit(row: Mapping[str, Any]) -> Hit:
    mentions = [mention_of(mention | {"node_id": row["id"]}, content=row["content"]) for mention in row["mentions"]]
    return Hit(
        node=node_of({**row, "expires_at": last_expiry(mentions)}),
        score=row["score"],
        vector_rank=row["vector_rank"],
        text_rank=row["text_rank"],
        passage=row["passage"] or row["content"],
        match=Match(
            cosine=row["cosine"],
            word_coverage=row["word_coverage"] or 0.0,
            matched_words=row["matched_words"] or 0,
            query_words=row["query_words"] or 0,
            passage_length=row["passage_length"] or 0,
        ),
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
            "ranker": row["ranker_part"],
            "diversity": 0.0,
            "echo": 0.0,
        },
    )


def speakers(connection: Connection, forms: Sequence[str], *, filters: Filters) -> list[str]:
    """Which of these forms of a name belong to a speaker, as the whole name or its first part; the longest first."""
    row = connection.execute(load("search")["speakers"], {"forms": list(forms)} | filters.parameters()).fetchone()
    assert row is not None  # a select without from has one row
    return list(row["names"])


def preceding(connection: Connection, ids: Sequence[UUID]) -> dict[str, Mention]:
    """The message right before each of these mentions in its session, by the mention's id; none for the first message."""
    rows = connection.execute(load("search")["preceding"], {"ids": list(ids)})
    return {str(row["follower"]): mention_of(row) for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What somebody else said right after a question, and how its nearest passage compares with the query."""

    question: str
    mention: Mention
    owner: str
    passage: str | None
    match: Match


def following(connection: Connection, ids: Sequence[UUID], *, query: RecallQuery) -> list[Answered]:
    """What was said right after each of these mentions by somebody else; nothing where nobody else spoke."""
    embedding = None if query.embedding is None else HalfVector(list(query.embedding))
    parameters = {"ids": list(ids), "embedding": embedding, "model": query.model}
    return [
        Answered(
            question=str(row["question"]),
            mention=mention_of(row),
            owner=row["owner"],
            passage=row["passage"],
            match=Match(cosine=row["cosine"], passage_length=row["length"] or 0),
        )
        for row in connection.execute(load("search")["following"], parameters)
    ]


def count_words(connection: Connection) -> int:
    """Renew a tenant's word statistics, and say how many passages it has."""
    row = connection.execute(load("search")["count_words"]).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["total"])
