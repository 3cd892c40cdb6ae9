"""A query as the database takes it: its words, the speakers that it names, its embedding, and what they weigh by."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..base.errors import ModelError
from ..engine.engine import Engine
from ..text.passages import lexical_query
from . import query_signals
from .fresh_vectors import make_fresh_vectors
from .phrases import quoted_phrases
from .search import RecallQuery

_log = logging.getLogger("htm.recall")

# How much the vector's score counts beside the words'; measured in docs/why/reader.md.
VECTOR_SHARE = 0.4
# And of that, for a question that the embedder cannot read, to order what no word finds.
LEAST_READABLE = 0.1


def complete(engine: Engine, query: RecallQuery, *, speakers: Mapping[str, str] | None = None) -> RecallQuery:
    """A query with all that its text says. When the embedder fails it has no embedding, and `degraded` says why.

    `speakers` are those of its names that speak, as they are written; None where that is to be guessed from what earlier recalls
    have seen. They decide what is embedded, and the search itself tells them. What this process has just written gets its vector
    now. Raises `ModelError` for mode="vector" without an embedding.
    """
    forms = name_forms(query)
    if speakers is None:
        seen = engine.database.known_speakers
        speakers = query_signals.named(forms, seen.guess(engine.tenant, query.filters.owners, forms))
    query = replace(
        query,
        forms=tuple(forms),
        speakers=tuple(speakers),
        words=None if query.mode == "vector" else lexical_query(" ".join((query.text, *query.added))),
        phrases=quoted_phrases(query.text),
    )
    embedding, degraded = _embed(engine, query, written=tuple(speakers.values()))
    if embedding is not None:
        make_fresh_vectors(engine, query)
    if query.mode == "vector" and embedding is None:
        raise ModelError(f"expected a vector for mode='vector', but {degraded}; use mode='hybrid', or fix the embedder")
    return replace(
        query,
        embedding=embedding,
        degraded=degraded,
        vector_share=VECTOR_SHARE * max(LEAST_READABLE, engine.embedder.readable(query.text)),
        ranker=_ranker(query, embedding),
    )


def without_embedding(query: RecallQuery, why: str) -> RecallQuery:
    """The query for a search by words alone."""
    return replace(query, embedding=None, ranker=0.0, degraded=_words_alone(why))


def name_forms(query: RecallQuery) -> dict[str, str]:
    """The words of a query that may name a speaker, each as it is written."""
    return query_signals.name_forms(query.text) if query.signal_weights.speaker else {}


def _words_alone(why: str) -> str:
    return f"Only words were searched: {why}"


def _embed(engine: Engine, query: RecallQuery, *, written: Sequence[str]) -> tuple[Sequence[float] | None, str | None]:
    """The query's embedding, or None and why there is none; the mode "text" needs none."""
    if query.mode == "text":
        return None, None
    text = query_signals.in_first_person(query.text, written, language=engine.settings.language)
    try:
        embedding = engine.embedder.query(text)
        if query.mode != "vector" and not any(embedding):
            return None, _words_alone(f"the embedder {query.model} answered the question with zeros")
        return embedding, None
    except ModelError as error:
        _log.warning("recall by words alone: %s", type(error).__name__)
        return None, f"Only words were searched, since the embedder {query.model} failed: {error}"


def _ranker(query: RecallQuery, embedding: Sequence[float] | None) -> float:
    """The weight of the ranker; 0 where it has learned nothing: it compares meaning and words, and the sum of their parts."""
    return 0.0 if embedding is None or query.words is None else query.signal_weights.ranker
