"""Maximal marginal relevance: results that are relevant to a query and unlike each other."""

from __future__ import annotations

from collections.abc import Sequence


def cosines(vector: Sequence[float], vectors: Sequence[Sequence[float]]) -> list[float]:
    """The cosine of the angle between a vector and each of the others; 0 for a vector
    of length 0.
    """
    import numpy as np  # heavy, and few need it

    if not vectors:
        return []
    others, one = np.array(vectors, dtype=float), np.array(vector, dtype=float)
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(one)
    return [float(each) for each in (others @ one) / np.maximum(lengths, 1e-12)]


def mmr(
    vectors: Sequence[Sequence[float]], *, relevance: Sequence[float], limit: int, weight: float
) -> list[int]:
    """Choose up to `limit` candidates one after the other, and return their places in the order of
    choice.

    Args:
        vectors: The candidates' vectors, all of one dimension.
        relevance: How relevant each candidate is to the query: the cosine of its vector to the
            query's.
        limit: How many to choose at most.
        weight: From 0 (all diversity) to 1 (all relevance).

    The first one is the most relevant. Each further one has the highest
    `weight * relevance - (1 - weight) * likeness`, where likeness is the highest cosine to a
    candidate that was chosen before (Carbonell and Goldstein, "The use of MMR", SIGIR 1998). Among
    equals the first one wins. The cost grows with candidates x limit x dimension.
    """
    import numpy as np  # heavy, and few need it

    if not vectors or limit < 1:
        return []
    units = np.array(vectors, dtype=float)
    units /= np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-12)
    worth = np.array(relevance, dtype=float)
    chosen = [int(np.argmax(worth))]
    likeness = units @ units[chosen[0]]
    while len(chosen) < min(limit, len(units)):
        gain = weight * worth - (1 - weight) * likeness
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        likeness = np.maximum(likeness, units @ units[chosen[-1]])
    return chosen
