"""Measures of a ranking: the share of the evidence that was found, its confidence interval, and how well scores separate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from htm_core.prompt.evaluation import CUTS as CUTS
from htm_core.prompt.evaluation import Ranking
from htm_core.prompt.evaluation import measured as measured

RESAMPLES = 1_000


def merged(ranking: Ranking, owner: Mapping[str, str]) -> list[list[str]]:
    """Give the ranking of larger units by their best hit, for example of sessions where the hits are turns."""
    return [[unit] for unit in dict.fromkeys(owner[unit] for units in ranking for unit in units)]


def interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float, float]:
    """Give the mean and its 95 % interval, by bootstrap over the questions."""
    array = np.asarray(values)
    draws = np.random.default_rng(seed).integers(len(array), size=(RESAMPLES, len(array)))
    low, high = np.percentile(array[draws].mean(axis=1), [2.5, 97.5])
    return float(array.mean()), float(low), float(high)


def auc(high: Sequence[float], low: Sequence[float]) -> float | None:
    """The chance that one of the first is above one of the second; None without both."""
    if not high or not low:
        return None
    below = np.sort(np.array(low))
    left, right = np.searchsorted(below, high, "left"), np.searchsorted(below, high, "right")
    return float((left + right).mean() / 2 / len(below))
