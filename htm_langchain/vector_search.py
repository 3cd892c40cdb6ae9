"""What a vector store is asked, put to its collection: best first, or diverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.vectorstores.utils import maximal_marginal_relevance

from htm_core import Collection, CollectionHit, InvalidInput, Mode

OPTIONS = ("filter", "strategy", "score_threshold")
STRATEGIES = ("hybrid", "vector", "text")
Options = Mapping[str, Any]


def find(items: Collection, query: str, k: int, options: Options) -> list[CollectionHit]:
    """The hits of a query, best first; a blank one lists what satisfies the filter, in the order of first adding."""
    check_options(options, OPTIONS)
    if not _text(query):
        return [] if options.get("score_threshold") else items.query(limit=k, where=options.get("filter"))
    return items.query(query, limit=k, mode=strategy_of(options["strategy"]), **_within(options))


def find_near(items: Collection, vector: Sequence[float], k: int, options: Options) -> list[CollectionHit]:
    """The hits of a vector that somebody made of a query, best first."""
    check_options(options, OPTIONS)
    return items.query(vector=_numbers(vector), limit=k, mode="vector", **_within(options))


def find_diverse(
    items: Collection, query: str, k: int, *, fetch_k: int, lambda_mult: float, options: Options
) -> list[CollectionHit]:
    """Of the best `fetch_k` hits of a query `k` that are relevant and unlike each other (see `diverse`)."""
    check_options(options, OPTIONS)
    _check_fetched(fetch_k)
    if not _text(query):
        return find(items, query, k, options)
    assert items.embedder is not None  # a memory's collection always has one
    vector = items.embedder.query(query)
    candidates = items.query(
        query, vector=vector, model=items.embedder.name, mode=strategy_of(options["strategy"]),
        limit=max(k, fetch_k), with_vectors=True, **_within(options),
    )  # fmt: skip
    return diverse(candidates, vector, k, lambda_mult=lambda_mult)


def find_diverse_near(
    items: Collection, vector: Sequence[float], k: int, *, fetch_k: int, lambda_mult: float, options: Options
) -> list[CollectionHit]:
    """`find_diverse`, for a vector that somebody made of a query."""
    check_options(options, OPTIONS)
    _check_fetched(fetch_k)
    near = _numbers(vector)
    candidates = items.query(vector=near, mode="vector", limit=max(k, fetch_k), with_vectors=True, **_within(options))
    return diverse(candidates, near, k, lambda_mult=lambda_mult)


def diverse(
    candidates: Sequence[CollectionHit], vector: Sequence[float], k: int, *, lambda_mult: float
) -> list[CollectionHit]:
    """Maximal marginal relevance (Carbonell and Goldstein, 1998) by cosine, from 0 (all diversity) to 1 (all relevance).

    What has no vector stands last, as it came: how unlike the others it is nobody knows.
    """
    import numpy as np  # LangChain's own function takes an array, and nothing else here needs it

    if isinstance(lambda_mult, bool) or not isinstance(lambda_mult, int | float) or not 0 <= lambda_mult <= 1:
        raise InvalidInput(f"expected lambda_mult from 0 (all diversity) to 1 (all relevance), got {lambda_mult!r}")
    seen = [hit for hit in candidates if hit.vector is not None]
    order = maximal_marginal_relevance(
        np.array(vector, dtype=float), [list(hit.vector or ()) for hit in seen], lambda_mult=lambda_mult, k=k
    )
    return [*(seen[at] for at in order), *(hit for hit in candidates if hit.vector is None)][:k]


def check_options(options: Options, known: Sequence[str]) -> None:
    """Refuse an option that there is not, by its name: it would change nothing, and nobody would notice."""
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InvalidInput(f"expected options of {', '.join(known)}; got {', '.join(unknown)}")
    where = options.get("filter")
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput(
            f'expected filter to be a mapping such as {{"year": {{"$gte": 2025}}}}, got {type(where).__name__}; functions '
            "cannot be asked of a database"
        )


def strategy_of(value: object) -> Mode:
    """One of the strategies."""
    if value not in STRATEGIES:
        raise InvalidInput(f"expected strategy to be one of {', '.join(STRATEGIES)}, got {value!r:.80}")
    return cast(Mode, value)


def _check_fetched(fetch_k: object) -> None:
    if isinstance(fetch_k, bool) or not isinstance(fetch_k, int) or fetch_k < 0:
        raise InvalidInput(f"expected fetch_k to be a whole number from 0, got {fetch_k!r:.80}")


def _within(options: Options) -> dict[str, Any]:
    threshold = options.get("score_threshold")
    return {"where": options.get("filter"), "min_score": 0.0 if threshold is None else threshold}


def _text(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidInput(f"expected a query that is a text, got {type(query).__name__}; pass its words")
    return query.strip()


def _numbers(vector: Any) -> list[float]:
    return list(vector.tolist() if hasattr(vector, "tolist") else vector)
