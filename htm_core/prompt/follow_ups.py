"""Queries for a question that leans on earlier ones, and the merging of their hits
into one list.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TypeVar

from ..base.types import Recall
from ..collections.fusion import reciprocal_rank
from ..recall.asked import asked_words
from .leaning_questions import SaidBefore as SaidBefore  # the adapters have them from here
from .leaning_questions import asks_further as asks_further
from .leaning_questions import queries_of as queries_of

T = TypeVar("T")

# so many messages of one person, one right after the other, are asked as one at most
SENT_AT_ONCE = 3
RANK_CONSTANT = 10  # added to a place before its inverse counts: docs/why/questions.md


def in_full(question: str, earlier: Sequence[SaidBefore]) -> str:
    """Return a question with what it leans on, to look for the part of a memory that answers it."""
    return asked_words(queries_of(question, earlier)[-1])


def joined(question: str, recalls: Sequence[Recall], *, limit: int) -> Recall:
    """One recall of what the queries for a question have found, of at most so many hits."""
    if len(recalls) == 1:
        return replace(recalls[0], query=question)
    hits = fused(recalls, id_of=lambda hit: hit.id, worth=lambda hit: (hit.relevance, hit.score))
    return replace(
        recalls[0],
        query=question,
        hits=tuple(hits[:limit]),
        degraded=next((each.degraded for each in recalls if each.degraded), None),
        fallback=next((each.fallback for each in recalls if each.fallback), None),
    )


def fused(
    hit_lists: Sequence[Sequence[T]],
    *,
    id_of: Callable[[T], Hashable],
    worth: Callable[[T], tuple[float, float]],
) -> list[T]:
    """Merge the hits of several queries, each once in the form that is worth most, first those that
    stand high for most queries.

    Args:
        hit_lists: The hits of each query, best first. Of equal places the first query's comes
            first.
        id_of: What tells one from another.
        worth: How relevant it is to the query that found it, and its score there. This decides
            between forms of one, not between
            places: a hit that answers its own query well says little where that query was about
                something else.
    """
    best: dict[Hashable, T] = {}
    places: dict[Hashable, list[int | None]] = {}
    for number, hits in enumerate(hit_lists):
        for place, hit in enumerate(hits, 1):
            key = id_of(hit)
            ranks = places.setdefault(key, [None] * len(hit_lists))
            ranks[number] = ranks[number] or place
            if key not in best or worth(hit) > worth(best[key]):
                best[key] = hit
    order = sorted(places, key=lambda key: -reciprocal_rank(places[key], k=RANK_CONSTANT))
    return [best[key] for key in order]
