"""What a query engine asks, put to a collection: one function for each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from htm_core import Collection, CollectionHit, InvalidInput

from .filters import where_of

OPTIONS = ("mmr_threshold", "mmr_prefetch_k")
# How many candidates diversity chooses from, as a multiple of what is wanted, and at least.
MMR_PREFETCH = 4
MMR_LEAST = 20
MMR_THRESHOLD = 0.5

Options = Mapping[str, Any]


def ask(collection: Collection, query: VectorStoreQuery, options: Options) -> list[CollectionHit]:
    """The hits of a query, best first; raises `InvalidInput` naming a mode or an option that there is not."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise InvalidInput(f"expected vector_store_kwargs of {', '.join(OPTIONS)}, got {', '.join(unknown)}")
    mode = _MODES.get(query.mode)
    if mode is None:
        raise InvalidInput(
            f"expected a mode of {', '.join(known.value for known in _MODES)}, got {query.mode.value!r}, which would fit a "
            "model to every query; use 'hybrid', or rerank with a postprocessor"
        )
    return mode(collection, query, options)


def _vector(collection: Collection, query: VectorStoreQuery, _: Options) -> list[CollectionHit]:
    text = _text(query) if query.query_embedding is None else None
    return collection.query(
        text, vector=query.query_embedding, mode="vector", limit=query.similarity_top_k, **_within(query)
    )


def _words(collection: Collection, query: VectorStoreQuery, _: Options) -> list[CollectionHit]:
    limit = query.similarity_top_k if query.sparse_top_k is None else query.sparse_top_k
    return collection.query(_text(query), mode="text", limit=limit, **_within(query))


def _hybrid(collection: Collection, query: VectorStoreQuery, _: Options) -> list[CollectionHit]:
    """`sparse_top_k` candidates by words; along with `hybrid_top_k`, which says how many come back, `similarity_top_k` by
    meaning."""
    given: dict[str, Any] = {} if query.alpha is None else {"share": query.alpha}
    if query.sparse_top_k is not None:
        given["text_pool"] = query.sparse_top_k
    if query.hybrid_top_k is not None:
        given["vector_pool"] = query.similarity_top_k
    limit = query.similarity_top_k if query.hybrid_top_k is None else query.hybrid_top_k
    return collection.query(
        _text(query), vector=query.query_embedding, mode="hybrid", limit=limit, **given, **_within(query)
    )


def _diverse(collection: Collection, query: VectorStoreQuery, options: Options) -> list[CollectionHit]:
    """Maximal marginal relevance (Carbonell and Goldstein, 1998): relevant, and unlike what was chosen before."""
    wanted = query.similarity_top_k
    candidates = collection.query(
        _text(query) if query.query_embedding is None else None,
        vector=query.query_embedding,
        mode="vector",
        limit=max(wanted, options.get("mmr_prefetch_k") or max(MMR_PREFETCH * wanted, MMR_LEAST)),
        with_vectors=True,
        **_within(query),
    )
    threshold = options.get("mmr_threshold") if query.mmr_threshold is None else query.mmr_threshold
    weight = MMR_THRESHOLD if threshold is None else threshold
    if not 0 <= weight <= 1:
        raise InvalidInput(f"expected mmr_threshold to be from 0 (all diversity) to 1 (all relevance), got {weight!r}")
    return [candidates[at] for at in _marginal(candidates, wanted=wanted, weight=weight)]


def _marginal(candidates: Sequence[CollectionHit], *, wanted: int, weight: float) -> list[int]:
    relevance = np.array([hit.cosine or 0.0 for hit in candidates])
    vectors = np.array([hit.vector for hit in candidates], dtype=float)
    if not candidates:
        return []
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    alike = np.full(len(candidates), -np.inf)  # to the most similar of those chosen
    chosen: list[int] = []
    while len(chosen) < min(wanted, len(candidates)):
        gain = weight * relevance - (1 - weight) * (alike if chosen else 0.0)
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        alike = np.maximum(alike, vectors @ vectors[chosen[-1]])
    return chosen


def _within(query: VectorStoreQuery) -> dict[str, Any]:
    """The filters. An index without nodes of its own gives an empty list of ids, and means all of them."""
    return {"where": where_of(query.filters), "ids": query.node_ids or None, "references": query.doc_ids or None}


def _text(query: VectorStoreQuery) -> str:
    if not query.query_str:
        raise InvalidInput(f"expected query_str for mode {query.mode.value!r}, got {query.query_str!r}")
    return query.query_str


_MODES: Mapping[VectorStoreQueryMode, Callable[[Collection, VectorStoreQuery, Options], list[CollectionHit]]] = {
    VectorStoreQueryMode.DEFAULT: _vector,
    VectorStoreQueryMode.TEXT_SEARCH: _words,
    VectorStoreQueryMode.SPARSE: _words,
    VectorStoreQueryMode.HYBRID: _hybrid,
    VectorStoreQueryMode.SEMANTIC_HYBRID: _hybrid,
    VectorStoreQueryMode.MMR: _diverse,
}
