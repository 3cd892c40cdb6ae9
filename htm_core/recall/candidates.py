"""Candidates of a query, as the database finds them: one row of lists, read into arrays that
recall/scoring.py takes.

Only this module and the scores need numpy, so it is imported by the first recall and not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..db.connection import Reader
from ..db.queries import load
from .scoring import Array, Candidates
from .search import RecallQuery, SeenBeside, texts
from .spelling import Similar

Integers: TypeAlias = npt.NDArray[np.intp]

SPARSE_HEADER = 3  # numbers before the entries of a sparse vector in binary form


@dataclass(frozen=True, slots=True)
class FoundCandidates:
    """Candidates of a query, and those of its forms that are names of speakers; None where it has
    none.

    `similar_words` has its doubtful words that no memory has, each with what memories have instead
    and how often.
    """

    candidates: Candidates
    known_speakers: list[str] | None
    similar_words: Mapping[str, Similar]
    beside: SeenBeside


def find(read: Reader, query: RecallQuery) -> FoundCandidates:
    """Everything that the two searches find for a query, and what stands beside it, with what it is
    scored by.

    Raises `DimensionMismatch` when the embedding is of another model than the tenant's vectors.
    """
    weights = query.signal_weights
    parameters = {
        "words": query.words,
        "embedding": query.vector,
        "model": query.model,
        "pool": query.pool,
        "limit": query.limit,
        "vector_share": query.vector_share,
        "phrases": texts(query.phrases or None),
        "forms": texts(query.forms or None),
        "with_context": weights.context > 0,
        "with_use": weights.prior > 0,
        "doubtful": texts(query.doubtful.words if query.words is not None else ()),
        "joined": texts(query.doubtful.joined if query.words is not None else ()),
    }
    (row,) = read(load("recall/search")["candidates"], parameters | query.filters.parameters())
    beside = SeenBeside(row["superseding"], row["merged"])
    return FoundCandidates(
        _candidates(row), row["known_speakers"], row["similar_words"] or {}, beside
    )


def _candidates(row: Mapping[str, Any]) -> Candidates:
    sessions = row["sessions"] or []
    numbers: dict[tuple[str, str], int] = {}
    conversations = [
        numbers.setdefault(place, len(numbers))
        for place in zip(row["owners"] or [], sessions, strict=True)
    ]
    return Candidates(
        vector_weight=row["vector_weight"],
        query_words=row["query_words"] or 0,
        nodes=row["nodes"] or [],
        passages=row["passages"] or [],
        vector_ranks=_numbers(row["vector_ranks"]),
        text_ranks=_numbers(row["text_ranks"]),
        cosines=_numbers(row["cosines"]),
        vector_scores=_numbers(row["vector_scores"]),
        text_scores=_numbers(row["text_scores"]),
        node_lengths=_numbers(row["node_lengths"]),
        term_weights=_term_weights(row),
        passes=None if row["passes"] is None else np.array(row["passes"], dtype=np.bool_),
        uses=None if row["uses"] is None else _numbers(row["uses"]),
        node_of=np.array(row["mention_nodes"] or [], dtype=np.int64) - 1,
        conversations=np.array(conversations, dtype=np.int64),
        has_session=np.array([session != "" for session in sessions], dtype=np.bool_),
        seqs=np.array(row["seqs"] or [], dtype=np.int64),
        roles=np.array(row["roles"] or [], dtype=np.object_),
        names=row["names"] or [],
        times=_numbers(row["times"]),
        in_conversation=np.array(row["in_conversation"] or [], dtype=np.bool_),
    )


def _numbers(values: Sequence[float | None] | None) -> Array:
    return np.array(values or [], dtype=np.float64)  # null is NaN


def _term_weights(row: Mapping[str, Any]) -> Array:
    """Return each query term's share of the best score, in the best passage of each node."""
    shape = (len(row["nodes"] or []), 1 + len(row["terms"]))
    weights = np.zeros(shape)
    if row["weights"] and row["terms"] and row["best_score"]:
        term, term_dimension, term_weight = _entries(row["terms"])
        order = np.argsort(term_dimension, kind="stable")
        ordered = term_dimension[order]
        place, dimension, weight = _entries(row["weights"])
        nearest = np.minimum(np.searchsorted(ordered, dimension), len(order) - 1)
        same = np.flatnonzero(ordered[nearest] == dimension)
        of_term = order[nearest[same]]
        shares = weight[same] * term_weight[of_term] / row["best_score"]
        cells = place[same] * shape[1] + 1 + term[of_term]
        weights += np.bincount(cells, weights=shares, minlength=weights.size).reshape(shape)
    if row["phrase_shares"] is not None:
        weights[:, 0] = np.array(row["phrase_shares"]) / 2
    return weights


def _entries(sparse: Sequence[bytes]) -> tuple[Integers, Integers, Array]:
    """The entries of sparse vectors in pgvector's binary form: the place of the vector, the
    dimension and the value of each.

    The form is three 32-bit numbers, of which the second counts the entries, then all dimensions,
    then all values as float4.
    """
    words = np.frombuffer(b"".join(sparse), dtype=">i4")
    sizes = np.array([len(each) // 4 for each in sparse], dtype=np.intp)
    counts = (sizes - SPARSE_HEADER) // 2
    place = np.repeat(np.arange(len(sparse)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = (np.cumsum(sizes) - sizes + SPARSE_HEADER)[place] + within
    return (
        place,
        words[at].astype(np.intp),
        words.view(">f4")[at + counts[place]].astype(np.float64),
    )
