"""Two arms, one score in [0, 1] that compares between queries: BM25, normalisation and fusion, on plain floats.

The forms and constants are those that measured best (docs/why/signals.md). Each arm is normalised against what is
possible, not against the other hits of the same query: so a threshold means the same for every question, and an arm
that found only noise cannot lift it to the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import log
from typing import TypeVar

from ..errors import InvalidInput

K1 = 0.9
B = 0.4
SAME_MEANING = 0.8
VECTOR_WEIGHT = 0.6
RANK_CONSTANT = 60

T = TypeVar("T")


def normal_cosine(cosine: float) -> float:
    """Score a cosine similarity: clip(cosine / 0.8, 0, 1).

    The ceiling is that of the form that was measured. NaN, the cosine of a vector without direction, scores 0.
    """
    return min(cosine / SAME_MEANING, 1.0) if cosine > 0 else 0.0


def normal_bm25(score: float, best: float) -> float:
    """Score a BM25 sum by its share of the best that its query can reach (see `best_possible`)."""
    return min(score / best, 1.0) if score > 0 and best > 0 else 0.0


def convex(vector: float | None, text: float | None, *, weight: float = VECTOR_WEIGHT) -> float:
    """Fuse two normal scores: weight × vector + (1 - weight) × text.

    None says that an arm did not run at all (its mode was not asked for, its model is down): then the other stands
    alone. An arm that ran and did not find the passage gives 0.
    """
    if vector is None or text is None:
        return (vector or 0.0) + (text or 0.0)
    return min(weight * vector + (1.0 - weight) * text, 1.0)


def reciprocal_rank(ranks: Sequence[int | None], *, k: float = RANK_CONSTANT) -> float:
    """Fuse ranks, counted from 1, one per arm that ran: the sum of 1 / (k + rank), as a share of first in every arm.

    None says that an arm did not find the passage. Reciprocal rank fusion of Cormack, Clarke and Büttcher (2009); it
    needs no scores, and cannot tell a good hit from the best of a bad lot.
    """
    return sum((k + 1) / (k + rank) for rank in ranks if rank is not None) / max(len(ranks), 1)


def idf(documents: int, df: float) -> float:
    """Weigh a term by its rarity: ln(1 + (N - df + 0.5) / (df + 0.5)), never negative (the form of Lucene).

    `df` is how many of the `documents` have the term; an estimate beyond them counts as all. A term that none has
    weighs most.
    """
    held = min(max(df, 0.0), documents)
    return log(1.0 + (documents - held + 0.5) / (held + 0.5))


def term_weight(tf: float, length: float, average: float, *, k1: float = K1, b: float = B) -> float:
    """Weigh a term within a passage: tf (k1 + 1) / (tf + k1 (1 - b + b length / average)), below k1 + 1.

    `length` and `average` are in terms; without an average every passage counts as average.
    """
    if tf <= 0:
        return 0.0
    relative = length / average if average > 0 else 1.0
    return tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * relative))


def best_possible(idfs: Iterable[float], *, k1: float = K1) -> float:
    """Sum what a passage could reach at most for a query's terms, those that nobody ever used included."""
    return (k1 + 1.0) * sum(idfs)


def mmr(
    candidates: Sequence[tuple[T, float]], similarity: Callable[[T, T], float], *, limit: int, trade: float = 0.5
) -> list[T]:
    """Order candidates by relevance and novelty: each next has the highest trade × relevance - (1 - trade) × likeness.

    Candidates are (thing, relevance); likeness is the highest similarity to what was taken before. The most relevant
    comes first, equals in the given order. `trade` 1 is relevance alone, 0 novelty alone. Maximal marginal relevance
    of Carbonell and Goldstein (1998); O(limit × candidates) similarities.
    """
    if not 0.0 <= trade <= 1.0:
        raise InvalidInput(f"trade: expected a number from 0 (novelty alone) to 1 (relevance alone), got {trade!r}.")
    left = dict(enumerate(candidates))
    likeness = dict.fromkeys(left, float("-inf"))
    taken: list[T] = []
    while left and len(taken) < limit:
        place = max(left, key=lambda at: _marginal(left[at][1], likeness[at], trade))
        thing, _ = left.pop(place)
        taken.append(thing)
        for at, (other, _) in left.items():
            likeness[at] = max(likeness[at], similarity(thing, other))
    return taken


def _marginal(relevance: float, likeness: float, trade: float) -> float:
    if likeness == float("-inf"):  # nothing was taken yet
        return relevance
    return trade * relevance - (1.0 - trade) * likeness
