"""The ranker's trees: what its linear weights cannot say, such as that a name counts where nothing else is near.

They look at what the weights look at, and at what these came to: the score, its distance to the best one and its place. What they
say is added to the score. All else equal they never put a better score below a worse one. `python -m benchmarks.train_ranker
--fit-trees` grows them and writes `ranking_trees.json`; docs/why/ranker.md has what they are worth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from .ranking import FEATURES, OF_A_KIND, TRAITS
from .trees import Trees

# What the linear weights look at, and what it is for a question of a kind: 0 for others.
COLUMNS = ("score", *FEATURES, *TRAITS, "interaction", *OF_A_KIND)
TREE_FEATURES = (*COLUMNS, "ranked", "below_first", "place")
_CROSSED = np.array([COLUMNS.index(name.partition(":")[2]) for name in OF_A_KIND])

Floats = npt.NDArray[np.float64]


def read(given: Mapping[str, Any]) -> Trees:
    """From what `ranking_trees.json` holds; raises `ValueError` where that is for other features."""
    if tuple(given["features"]) != TREE_FEATURES:
        raise ValueError(
            "expected ranking_trees.json for the features of this version; run python -m benchmarks.train_ranker --fit-trees"
        )
    return Trees.read(given["trees"])


@cache
def installed() -> Trees:
    """The trees of this version."""
    return read(json.loads(files(__package__).joinpath("ranking_trees.json").read_text("utf-8")))


def crossed(columns: Floats, of_a_kind: tuple[float, ...]) -> Floats:
    """What counts for questions of a kind, by `OF_A_KIND`, of candidates by the other `COLUMNS`."""
    found: Floats = columns[:, _CROSSED] * of_a_kind
    return found


def tree_rows(columns: Floats, ranked: Floats) -> Floats:
    """What the trees look at, by `TREE_FEATURES`: candidates by `COLUMNS`, and among the others by what they score so far."""
    count = len(ranked)
    rows = np.empty((count, len(TREE_FEATURES)))
    rows[:, :-3] = columns
    rows[:, -3] = ranked
    rows[:, -2] = ranked - ranked.max()
    rows[np.argsort(-ranked, kind="stable"), -1] = np.arange(count)
    return rows
