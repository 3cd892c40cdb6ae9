"""More questions for one: what the expander writes is searched for as well, and each memory is found by what fits it best."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..base.errors import ModelError
from ..base.types import Hit, Recall, Timings

if TYPE_CHECKING:
    from ..models.expanders import CheckedExpander

_log = logging.getLogger("htm.recall")

# What a hit of another question is worth beside one of the question itself.
OTHERS_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Expansion:
    """Further questions to search for, how many milliseconds they took, and why the expander was left out, if it was."""

    questions: Sequence[str] = ()
    milliseconds: float = 0.0
    fallback: str | None = None


def expand(expander: CheckedExpander | None, question: str, *, seconds: float) -> Expansion:
    """Ask an expander, if there is one; without its answer the question is searched for as it is."""
    if expander is None:
        return Expansion()
    began = time.perf_counter()
    questions: Sequence[str] = ()
    fallback = None
    try:
        questions = expander.questions(question, seconds=seconds)
    except ModelError as error:
        _log.warning("recall without the expander: %s", type(error).__name__)
        fallback = f"Only the question itself was searched for: {error}"
    return Expansion(questions, (time.perf_counter() - began) * 1e3, fallback)


def best_of(recalls: Sequence[Recall], others: Sequence[Recall] = (), *, limit: int) -> Recall:
    """Merge the recalls of several searches into one: each memory once, from the search in which it is worth most.

    `recalls` are of the question itself, or of its parts, of which the first one's recall is kept in everything else; `others` are
    of other questions for it. Worth is relevance, which compares between questions, and score together; what
    another question found counts a little less, since it may be beside the point. A hit gets the score of its place, as if one
    search had found them all. Measured in docs/why/questions.md.
    """
    everything = [*recalls, *others]
    if len(everything) == 1:
        return everything[0]
    best: dict[str, tuple[float, Hit]] = {}
    for number, recall in enumerate(everything):
        share = 1.0 if number < len(recalls) else OTHERS_SHARE
        for hit in recall:
            worth = share * (hit.relevance + hit.score)
            if hit.node.id not in best or worth > best[hit.node.id][0]:
                best[hit.node.id] = worth, hit
    hits = [hit for _, hit in sorted(best.values(), key=lambda pair: -pair[0])][:limit]
    scores = sorted((hit.score for hit in hits), reverse=True)
    placed = tuple(
        replace(hit, score=score, signals={**hit.signals, "expander": score - hit.score})
        for hit, score in zip(hits, scores, strict=True)
    )
    degraded = next((recall.degraded for recall in everything if recall.degraded), None)
    return replace(recalls[0], hits=placed, degraded=degraded, timings=total([recall.timings for recall in everything]))


def total(timings: Sequence[Timings]) -> Timings:
    """The sum of times."""
    return Timings(
        embedding=sum(each.embedding for each in timings),
        sql=sum(each.sql for each in timings),
        expander=sum(each.expander for each in timings),
        reranker=sum(each.reranker for each in timings),
    )
