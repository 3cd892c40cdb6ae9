"""A vector store's searches on its collection: one function for each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from htm_core import Collection, CollectionHit, InvalidInput
from htm_core.prompt.mmr import mmr
from htm_core.prompt.option_names import check_known

from .filters import where_of

OPTIONS = ("mmr_threshold", "mmr_prefetch_k")
# From how many candidates "mmr" chooses: this multiple of the limit, and at least so many.
MMR_PREFETCH = 4
MMR_MIN_PREFETCH = 20
MMR_THRESHOLD = 0.5

Options = Mapping[str, Any]


def search(
    collection: Collection, query: VectorStoreQuery, options: Options
) -> list[CollectionHit]:
    """The hits of a query, best first; raises `InvalidInput` for a mode or an option that does not
    exist, by its name.
    """
    check_known(options, OPTIONS, what="vector_store_kwargs")
    mode = _MODES.get(query.mode)
    if mode is None:
        raise InvalidInput(
            f"expected a mode of {', '.join(known.value for known in _MODES)}, got "
            f"{query.mode.value!r}, which would fit a "
            "model to every query; use 'hybrid', or rerank with a postprocessor"
        )
    return mode(collection, query, options)


def _by_vector(collection: Collection, query: VectorStoreQuery, _: Options) -> list[CollectionHit]:
    text = _query_text(query) if query.query_embedding is None else None
    return collection.query(
        text,
        vector=query.query_embedding,
        mode="vector",
        limit=query.similarity_top_k,
        **_conditions(query),
    )


def _by_words(collection: Collection, query: VectorStoreQuery, _: Options) -> list[CollectionHit]:
    limit = query.similarity_top_k if query.sparse_top_k is None else query.sparse_top_k
    return collection.query(_query_text(query), mode="text", limit=limit, **_conditions(query))


def _hybrid(collection: Collection, query: VectorStoreQuery, _: Options) -> list[CollectionHit]:
    """By both. `sparse_top_k` is how many candidates come by words. With `hybrid_top_k`, the number
    of hits, `similarity_top_k` is how many candidates come by meaning; without it, it is the number
    of hits."""
    options: dict[str, Any] = {} if query.alpha is None else {"share": query.alpha}
    if query.sparse_top_k is not None:
        options["text_pool"] = query.sparse_top_k
    if query.hybrid_top_k is not None:
        options["vector_pool"] = query.similarity_top_k
    limit = query.similarity_top_k if query.hybrid_top_k is None else query.hybrid_top_k
    return collection.query(
        _query_text(query),
        vector=query.query_embedding,
        mode="hybrid",
        limit=limit,
        **options,
        **_conditions(query),
    )


def _diverse(
    collection: Collection, query: VectorStoreQuery, options: Options
) -> list[CollectionHit]:
    """By vector, relevant and unlike each other (see `htm_core.prompt.mmr`)."""
    limit = query.similarity_top_k
    candidates = collection.query(
        _query_text(query) if query.query_embedding is None else None,
        vector=query.query_embedding,
        mode="vector",
        limit=max(
            limit, options.get("mmr_prefetch_k") or max(MMR_PREFETCH * limit, MMR_MIN_PREFETCH)
        ),
        with_vectors=True,
        **_conditions(query),
    )
    threshold = options.get("mmr_threshold") if query.mmr_threshold is None else query.mmr_threshold
    weight = MMR_THRESHOLD if threshold is None else threshold
    if not 0 <= weight <= 1:
        raise InvalidInput(
            "expected mmr_threshold to be from 0 (all diversity) to 1 (all "
            f"relevance), got {weight!r}"
        )
    vectors = [hit.vector or () for hit in candidates]
    order = mmr(
        vectors, relevance=[hit.cosine or 0.0 for hit in candidates], limit=limit, weight=weight
    )
    return [candidates[at] for at in order]


def _conditions(query: VectorStoreQuery) -> dict[str, Any]:
    """The filters. An index without nodes of its own gives an empty list of ids, which means all
    nodes.
    """
    return {
        "where": where_of(query.filters),
        "ids": query.node_ids or None,
        "references": query.doc_ids or None,
    }


def _query_text(query: VectorStoreQuery) -> str:
    if not query.query_str:
        raise InvalidInput(
            f"expected query_str for mode {query.mode.value!r}, got {query.query_str!r}"
        )
    return query.query_str


_MODES: Mapping[
    VectorStoreQueryMode, Callable[[Collection, VectorStoreQuery, Options], list[CollectionHit]]
] = {
    VectorStoreQueryMode.DEFAULT: _by_vector,
    VectorStoreQueryMode.TEXT_SEARCH: _by_words,
    VectorStoreQueryMode.SPARSE: _by_words,
    VectorStoreQueryMode.HYBRID: _hybrid,
    VectorStoreQueryMode.SEMANTIC_HYBRID: _hybrid,
    VectorStoreQueryMode.MMR: _diverse,
}
