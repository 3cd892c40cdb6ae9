"""A vector store's searches on its collection: by query, by vector, and diverse."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from htm_core import Collection, CollectionHit, InvalidInput, Mode, ModelError
from htm_core.prompt.mmr import cosines, mmr
from htm_core.prompt.option_names import check_known

from .options import check_choice

_log = logging.getLogger("htm.langchain")

OPTIONS = ("filter", "mode", "score_threshold")
# Older names of options, each with the present one.
OLDER = {"strategy": "mode"}
Options = Mapping[str, Any]


def find(items: Collection, query: str, k: int, options: Options) -> list[CollectionHit]:
    """The hits of a query, best first; a blank query lists what satisfies the filter, in the order
    of first adding.

    Where the model fails, a hybrid search goes on by words alone, as recall does, and the log says
    so.
    """
    check_options(options, OPTIONS)
    if not _words(query):
        return (
            []
            if options.get("score_threshold")
            else items.query(limit=k, where=options.get("filter"))
        )
    mode = check_mode(options["mode"])
    try:
        return items.query(query, limit=k, mode=mode, **_conditions(options))
    except ModelError as error:
        if mode != "hybrid":
            raise
        _log.warning(
            "the query could not be embedded (%s); documents are found by their words alone", error
        )
        return items.query(query, limit=k, mode="text", **_conditions(options))


def find_by_vector(
    items: Collection, vector: Sequence[float], k: int, options: Options
) -> list[CollectionHit]:
    """The hits of a query's vector, best first."""
    check_options(options, OPTIONS)
    return items.query(vector=numbers_of(vector), limit=k, mode="vector", **_conditions(options))


def find_diverse(
    items: Collection, query: str, k: int, *, fetch_k: int, lambda_mult: float, options: Options
) -> list[CollectionHit]:
    """Of the best `fetch_k` hits of a query, `k` that are relevant and unlike each other
    (`htm_core.prompt.mmr`).
    """
    check_options(options, OPTIONS)
    _check_fetch_k(fetch_k)
    if not _words(query):
        return find(items, query, k, options)
    assert items.embedder is not None  # a memory's collection always has one
    vector = items.embedder.query(query)
    candidates = items.query(
        query,
        vector=vector,
        model=items.embedder.name,
        mode=check_mode(options["mode"]),
        limit=max(k, fetch_k),
        with_vectors=True,
        **_conditions(options),
    )
    return _diverse(candidates, vector, k, lambda_mult=lambda_mult)


def find_diverse_by_vector(
    items: Collection,
    vector: Sequence[float],
    k: int,
    *,
    fetch_k: int,
    lambda_mult: float,
    options: Options,
) -> list[CollectionHit]:
    """`find_diverse`, for a query's vector."""
    check_options(options, OPTIONS)
    _check_fetch_k(fetch_k)
    numbers = numbers_of(vector)
    candidates = items.query(
        vector=numbers,
        mode="vector",
        limit=max(k, fetch_k),
        with_vectors=True,
        **_conditions(options),
    )
    return _diverse(candidates, numbers, k, lambda_mult=lambda_mult)


def check_options(options: Options, known: Sequence[str]) -> None:
    """Refuse an option that does not exist, by its name: it would have no effect, and nobody would
    notice.
    """
    check_known(options, known, what="options")
    where = options.get("filter")
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput(
            f'expected filter to be a mapping such as {{"year": {{"$gte": 2025}}}}, got '
            f"{type(where).__name__}; a "
            "database cannot run a function"
        )


def check_mode(value: object) -> Mode:
    """One of the ways to search."""
    mode: Mode = check_choice(value, get_args(Mode), what="mode")
    return mode


def _diverse(
    candidates: Sequence[CollectionHit], vector: Sequence[float], k: int, *, lambda_mult: float
) -> list[CollectionHit]:
    """`k` of the candidates by maximal marginal relevance; those without a vector last, since
    nothing can be compared.
    """
    if (
        isinstance(lambda_mult, bool)
        or not isinstance(lambda_mult, int | float)
        or not 0 <= lambda_mult <= 1
    ):
        raise InvalidInput(
            f"expected lambda_mult from 0 (all diversity) to 1 (all relevance), got {lambda_mult!r}"
        )
    with_vector = [hit for hit in candidates if hit.vector is not None]
    vectors = [hit.vector or () for hit in with_vector]
    order = mmr(vectors, relevance=cosines(vector, vectors), limit=k, weight=lambda_mult)
    return [*(with_vector[at] for at in order), *(hit for hit in candidates if hit.vector is None)][
        :k
    ]


def _check_fetch_k(fetch_k: object) -> None:
    if isinstance(fetch_k, bool) or not isinstance(fetch_k, int) or fetch_k < 0:
        raise InvalidInput(f"expected fetch_k to be a whole number from 0, got {fetch_k!r:.80}")


def _conditions(options: Options) -> dict[str, Any]:
    threshold = options.get("score_threshold")
    return {"where": options.get("filter"), "min_score": 0.0 if threshold is None else threshold}


def _words(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput(
            f"expected a query that is a text, got {type(query).__name__}; pass its words"
        )
    return query.strip()


def numbers_of(vector: Any) -> list[float]:
    """A vector as a list; it may be an array."""
    return list(vector.tolist() if hasattr(vector, "tolist") else vector)
