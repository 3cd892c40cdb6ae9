"""Hits in the order that the reranker gives them: it decides who stands where, and the search what a place is worth."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..base.errors import ModelError
from ..base.types import Hit, Recall
from ..text.speakers import own_name

if TYPE_CHECKING:
    from ..models.rerankers import CheckedReranker

_log = logging.getLogger("htm.recall")


def reranked(reranker: CheckedReranker | None, recall: Recall, *, question: str, seconds: float) -> Recall:
    """A recall with its hits in the order of the reranker; as it was, with the reason, where that fails or is too slow.

    A hit gets the score and the relevance of the place to which it moves: the numbers of models differ in scale, and what counts by
    score or relevance elsewhere (`min_score`, what a prompt shows whole) goes on to mean the same. Hits that the reranker leaves
    out stand behind those that it names.
    """
    if reranker is None:
        return recall
    hits = recall.hits

    def order() -> Sequence[Hit]:
        """The hits as the reranker puts them."""
        texts, scores = [_shown(hit) for hit in hits], [hit.score for hit in hits]
        return _in_order(hits, reranker.order(question, texts, scores, seconds=seconds))

    return in_order_of(recall, order, model="reranker")


def in_order_of(recall: Recall, order: Callable[[], Sequence[Hit]], *, model: str) -> Recall:
    """A recall with the hits that `order` gives; as it was, with the reason, where that raises `ModelError`."""
    if not recall.hits:
        return recall
    began = time.perf_counter()
    hits, fallback = recall.hits, recall.fallback
    try:
        hits = tuple(order())
    except ModelError as error:
        _log.warning("recall without the %s: %s", model, type(error).__name__)
        why = f"Hits are in the order of the search: {error}"
        fallback = f"{fallback} {why}" if fallback else why
    timings = replace(recall.timings, reranker=(time.perf_counter() - began) * 1e3)
    return replace(recall, hits=hits, fallback=fallback, timings=timings)


def _shown(hit: Hit) -> str:
    """Return the text that the reranker reads: who said it, where that is known, and the passage that fits best."""
    name = own_name(hit.mention.name) if hit.mention else None
    return f"{name}: {hit.passage}" if name else hit.passage


def _in_order(hits: Sequence[Hit], order: Sequence[int]) -> tuple[Hit, ...]:
    scores = [hit.score for hit in hits]
    relevances = sorted((hit.relevance for hit in hits), reverse=True)
    moved = []
    for place, old in enumerate(order):
        hit, score = hits[old], scores[place]
        signals = {**hit.signals, "reranker": score - hit.score}
        moved.append(replace(hit, score=score, relevance=relevances[place], signals=signals))
    return tuple(moved)
