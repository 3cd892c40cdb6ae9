"""Measures of a ranking: the share of the evidence that was found, and its confidence interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

import numpy as np

CUTS = (1, 5, 10, 20, 50)
RESAMPLES = 1_000
Ranking = Sequence[Sequence[str]]  # the units of each hit, best hit first


def measured(gold: frozenset[str], ranking: Ranking, *, weights: Mapping[str, int] | None = None) -> dict[str, float]:
    """Give any@k, all@k, fraction@k, MRR and NDCG@10 of one question.

    A hit without new evidence still counts as a place. The ideal ranking of NDCG has all of the gold, found or not.
    """
    grades = weights or dict.fromkeys(gold, 1)
    seen: set[str] = set()
    found: dict[int, int] = {}
    reciprocal = gain = 0.0
    for place, units in enumerate(ranking[: max(CUTS)], 1):
        new = gold.intersection(units) - seen
        seen |= new
        found[place] = len(seen)
        reciprocal = reciprocal or (1 / place if new else 0.0)
        gain += max((grades[unit] for unit in new), default=0) / log2(place + 1) if place <= 10 else 0.0
    best = sorted(grades.values(), reverse=True)[:10]
    ideal = sum(grade / log2(place + 1) for place, grade in enumerate(best, 1))
    values = {"mrr": reciprocal, "ndcg@10": gain / ideal}
    for cut in CUTS:
        count = found.get(min(cut, len(found)), 0)
        values |= {
            f"any@{cut}": float(count > 0),
            f"all@{cut}": float(count == len(gold)),
            f"fraction@{cut}": count / len(gold),
        }
    return values


def merged(ranking: Ranking, owner: Mapping[str, str]) -> list[list[str]]:
    """Give the ranking of larger units by their best hit, for example of sessions where the hits are turns."""
    return [[unit] for unit in dict.fromkeys(owner[unit] for units in ranking for unit in units)]


def interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float, float]:
    """Give the mean and its 95 % interval, by bootstrap over the questions."""
    given = np.asarray(values)
    draws = np.random.default_rng(seed).integers(len(given), size=(RESAMPLES, len(given)))
    low, high = np.percentile(given[draws].mean(axis=1), [2.5, 97.5])
    return float(given.mean()), float(low), float(high)
