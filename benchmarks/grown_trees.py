"""Trees grown by boosting, in the form in which the rules read them (htm_core/rules/trees.py). It needs lightgbm."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from htm_core.rules.trees import Trees

Floats = NDArray[np.float64]
DIGITS = 5  # of a leaf, behind the point
# What any growth has: the same trees in every run.
ALWAYS = {
    "bagging_fraction": 0.7, "bagging_freq": 1, "seed": 1, "num_threads": 1, "verbose": -1, "deterministic": True,
    "force_row_wise": True,
}  # fmt: skip


def grow(
    growth: Mapping[str, Any],
    rounds: int,
    rows: Floats,
    right: NDArray[np.bool_],
    weight: Floats,
    *,
    group: list[int] | None = None,
) -> list[list[list[float]]]:
    """Trees over these rows, each as `Trees.read` takes it.

    Args:
        growth: What lightgbm is told, beside `ALWAYS`.
        rounds: How many trees.
        rows: What each example is like.
        right: Whether it is what is looked for.
        weight: How much it counts.
        group: How many rows each list has, where lists are put in order.
    """
    try:
        lightgbm = importlib.import_module("lightgbm")
    except ImportError:
        raise SystemExit("expected lightgbm, which grows the trees; pip install lightgbm") from None
    data = lightgbm.Dataset(rows, right.astype(int), group=group, weight=weight)
    booster = lightgbm.train({**ALWAYS, **growth}, data, rounds)
    trees = [_tree(each["tree_structure"]) for each in booster.dump_model()["tree_info"]]
    said = booster.predict(rows, raw_score=True)
    assert np.abs(Trees.read(trees).score(rows) - said).max() < rounds * 10**-DIGITS, "the trees say something else"
    return trees


def _tree(root: Mapping[str, Any]) -> list[list[float]]:
    """A tree as its nodes, each with its feature, threshold, left and right, and last its leaves."""
    nodes: list[list[float]] = []
    leaves: list[float] = []

    def add(each: Mapping[str, Any]) -> int:
        if "leaf_value" in each:
            leaves.append(round(float(each["leaf_value"]), DIGITS))
            return -len(leaves)
        place = len(nodes)
        nodes.append([each["split_feature"], float(each["threshold"]), 0, 0])
        nodes[place][2:] = add(each["left_child"]), add(each["right_child"])
        return place

    add(root)
    return [*nodes, leaves]
