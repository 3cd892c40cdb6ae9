"""One search: the candidates from the database, scored here, and the fields of the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..base.types import Hit, Match
from ..db.connection import Reader
from ..reading.relevance import relevance
from . import candidates, search
from .scoring import ScoringQuery, best_candidates, nearness
from .search import HitFields, RecallQuery, SeenBeside
from .spelling import Similar

# The parts that a score can have. Diversity and echo come after the search.
NO_PARTS = dict.fromkeys((
    "vector", "words", "context", "session", "speaker", "time", "prior", "ranker", "diversity", "echo",
), 0.0)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, and which of the query's forms are names of speakers; None where it has none.

    `similar_words` has the query's doubtful words that no memory has, each with what memories have instead and how often.
    `without_direction` are the ids of nodes whose vector an embedder made of zeros: only words find them.
    """

    hits: list[Hit]
    known_speakers: Sequence[str] | None
    similar_words: Mapping[str, Similar] = field(default_factory=dict)
    without_direction: frozenset[str] = frozenset()
    beside: SeenBeside | None = None


def ranked_search(read: Reader, query: RecallQuery) -> SearchResult:
    """The best nodes for a query, best first, with what each signal added to their scores.

    Nearest neighbours alone take one message to the server, anything else two. Raises `DimensionMismatch` when the embedding is of
    another model than the tenant's vectors.
    """
    if query.asks_for_neighbours_alone:
        return _neighbours(read, query)
    result = candidates.find(read, query)
    asked = ScoringQuery(
        by_meaning=query.embedding is not None,
        by_words=query.words is not None,
        signals=query.signal_weights,
        speaker=query.speakers[0] if len(query.speakers) == 1 else None,
        moments=query.moments,
        ranker=query.ranker,
        min_score=query.min_score,
        words_alone=query.mode == "text",
    )
    nodes = result.candidates
    scored = best_candidates(nodes, asked, limit=query.limit)
    fields = search.hit_fields(
        read, query, [nodes.nodes[each.place] for each in scored], [nodes.passages[each.place] for each in scored]
    )
    hits = []
    for row in fields:
        score = scored[row.place]
        cosine = float(nodes.cosines[score.place])
        match = Match(
            cosine=None if math.isnan(cosine) else cosine,
            word_coverage=max(0.0, float(nodes.text_scores[score.place])),
            matched_words=score.matched,
            query_words=nodes.query_words,
            passage_length=row.passage_length,
        )
        ranks = _rank(nodes.vector_ranks[score.place]), _rank(nodes.text_ranks[score.place])
        hits.append(_hit(query, row, score=score.score, parts=score.parts, match=match, ranks=ranks))
    # What waits for its vector has a score in its place; see `recall_candidates`.
    undirected = np.isnan(nodes.cosines) & (nodes.vector_scores == 0) & (nodes.text_scores > 0)
    without = frozenset(str(nodes.nodes[place]) for place in undirected.nonzero()[0])
    return SearchResult(hits, result.known_speakers, result.similar_words, without, result.beside)


def _rank(rank: float) -> int | None:
    return None if math.isnan(rank) else int(rank)


def _neighbours(read: Reader, query: RecallQuery) -> SearchResult:
    """Nearest neighbours, which score by their nearness alone."""
    hits = []
    neighbours, beside = search.nearest(read, query)
    for neighbour in neighbours:
        score = nearness(neighbour.cosine)
        match = Match(cosine=neighbour.cosine, passage_length=neighbour.fields.passage_length)
        ranks = (neighbour.rank, None)
        hits.append(_hit(query, neighbour.fields, score=score, parts={"vector": score}, match=match, ranks=ranks))
    return SearchResult(hits, None, beside=beside)


def _hit(
    query: RecallQuery,
    fields: HitFields,
    *,
    score: float,
    parts: Mapping[str, float],
    match: Match,
    ranks: tuple[int | None, int | None],
) -> Hit:
    return Hit(
        node=fields.node,
        score=score,
        relevance=relevance(match),
        vector_rank=ranks[0],
        text_rank=ranks[1],
        passage=fields.passage,
        match=match,
        mentions=fields.mentions,
        signals={**NO_PARTS, **parts} if query.explain else {},
    )
