"""Hits as the reader puts them: a stage of recall. What it says of them is in rules/reading.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..base.types import Hit, Recall, SaidWhen
from ..engine.engine import Engine
from ..reading import logits as reading
from ..reading.present_questions import asks_the_present
from ..reading.readers import embedded_reader
from .moved_hits import moved
from .reranking import in_order_of
from .search import RecallQuery


def read(engine: Engine, query: RecallQuery, recall: Recall) -> Recall:
    """A recall whose first hits are in the order of the reader; as it was, with the reason, where that fails or is too slow.

    A hit gets the score of the place to which it moves, and the relevance that the reader gives it. Where a question asks for what
    holds now, the newest of the messages that state it comes first, and the others say that they were said earlier.
    """
    if not reads(query):
        return recall
    first, rest = recall.hits[: reading.READ], recall.hits[reading.READ :]

    def order() -> Sequence[Hit]:
        """The hits as the reader puts them."""
        logits = _logits(query.question, first, seconds=engine.settings.reranker_timeout)
        return recall.hits if logits is None else [*_in_order(query, first, logits), *rest]

    return in_order_of(recall, order, model="reader")


def reads(query: RecallQuery) -> bool:
    """True if the reader reads the hits of this query: not for the nearest neighbours or the words alone."""
    return query.reader and query.mode == "hybrid"


def _logits(question: str, hits: Sequence[Hit], *, seconds: float) -> Sequence[float] | None:
    """Return the logit that each hit states what is asked; None where the reader cannot read the question."""
    passages = [
        (mention.name or mention.role or "", mention.at, hit.passage)
        if (mention := hit.mention)
        else ("", None, hit.passage)
        for hit in hits
    ]
    logits = embedded_reader().states(question, passages, seconds=seconds)
    return logits and [
        reading.STATES_NOTHING if reading.only_repeats(question, hit.passage) else logit
        for hit, logit in zip(hits, logits, strict=True)
    ]


def _in_order(query: RecallQuery, hits: Sequence[Hit], logits: Sequence[float]) -> Sequence[Hit]:
    scores = [hit.score for hit in hits]
    order = reading.order(logits, scores)
    standing = reading.standing(query.text, hits, logits) if _asks_now(query) else None
    said_when: dict[int, SaidWhen] = {}
    if standing is not None:
        order = [standing.newest, *(place for place in order if place != standing.newest)]
        if standing.earlier:
            said_when = {**dict.fromkeys(standing.earlier, "earlier"), standing.newest: "last"}
    relevance = [reading.relevance(logit, hit.match.cosine) for hit, logit in zip(hits, logits, strict=True)]
    return [
        replace(moved(hits[old], score=score, relevance=relevance[old], by="reader"), said_when=said_when.get(old))
        for old, score in zip(order, scores, strict=True)
    ]


def _asks_now(query: RecallQuery) -> bool:
    """True if a query asks for what holds now, and nothing in its options says that another time is meant."""
    f = query.filters
    return (
        not (query.of_everybody or f.windows or query.moments or query.timeframe)
        and f.as_of is None
        and f.valid_at is None
        and asks_the_present(query.text)
    )
