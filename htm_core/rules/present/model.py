"""Which of several hits answers a question about the present: regression trees over what each is like among the others.

Two kinds, of which the mean counts. The first order all hits (LambdaMART: Burges, 2010); what they say of one counts by the softmax
over all. The second look at one statement beside the first hit, and say how likely it is the answer while that one is not.
`python -m benchmarks.present --fit` grows both and writes `trees.json`; docs/why/supersession.md has what they are worth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from ...types import Hit
from .features import FEATURES, features
from .pairs import PAIR_FEATURES, Floats, pairs

# A hit is put first if it is so much likelier than the first one: docs/why/supersession.md.
CONFIDENT = 0.3


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees side by side: for each of its nodes the feature, the threshold, and where it goes on, below 0 to a leaf.

    A row of features goes to the left where it is at most the threshold. Node n leads to leaf -n - 1.
    """

    features: npt.NDArray[np.int64]  # trees x nodes, as the next three
    thresholds: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    leaves: npt.NDArray[np.float64]  # trees x leaves

    @classmethod
    def read(cls, given: Sequence[Sequence[Sequence[float]]]) -> Trees:
        """From lists, one for each tree: its nodes as feature, threshold, left, right, and last its leaves."""
        nodes = max(1, *(len(tree) - 1 for tree in given))
        leaves = max(len(tree[-1]) for tree in given)
        table = np.zeros((len(given), nodes, 4))
        table[:, :, 2:] = -1
        values = np.zeros((len(given), leaves))
        for place, tree in enumerate(given):
            table[place, : len(tree) - 1] = np.reshape(tree[:-1], (-1, 4))
            values[place, : len(tree[-1])] = tree[-1]
        whole = table[:, :, (0, 2, 3)].astype(np.int64)
        return cls(whole[:, :, 0], table[:, :, 1], whole[:, :, 1], whole[:, :, 2], values)

    def score(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The sum over all trees, for each row."""
        trees, width = np.arange(len(self.features)), rows.shape[1]
        nodes = trees * self.features.shape[1]  # where the nodes of each tree begin, when they stand in one row
        flat, begins = rows.ravel(), (np.arange(len(rows)) * width)[:, None]
        wanted, thresholds, left, right = (
            each.ravel() for each in (self.features, self.thresholds, self.left, self.right)
        )
        at = np.zeros((len(rows), len(trees)), np.int64)
        for _ in range(self.features.shape[1]):
            inside = nodes + np.maximum(at, 0)
            goes_left = flat.take(begins + wanted.take(inside)) <= thresholds.take(inside)
            at = np.where(at < 0, at, np.where(goes_left, left.take(inside), right.take(inside)))
            if at.max() < 0:
                break
        total: npt.NDArray[np.float64] = self.leaves[trees, -at - 1].sum(axis=1)
        return total


@dataclass(frozen=True, slots=True)
class AnswerTrees:
    """Both kinds of trees."""

    order: Trees
    beside: Trees

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> AnswerTrees:
        """From what `trees.json` holds; raises `ValueError` where that is for other features."""
        if tuple(given["features"]) != FEATURES or tuple(given["pair_features"]) != PAIR_FEATURES:
            raise ValueError(
                "expected trees.json for the features of this version; run python -m benchmarks.present --fit"
            )
        return cls(Trees.read(given["trees"]), Trees.read(given["pair_trees"]))

    def likelier(self, rows: Floats) -> Floats:
        """How much likelier than the first each hit is the answer, from their features: from -1 to 1, and 0 for the first."""
        scores = self.order.score(rows)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        places, beside = pairs(rows)
        answers = np.zeros(len(rows))
        if len(places):
            answers[places] = 1 / (1 + np.exp(-self.beside.score(beside)))
        found: Floats = (shares - shares[0] + answers) / 2
        return found


@cache
def installed() -> AnswerTrees:
    """The trees of this version."""
    return AnswerTrees.read(json.loads(files(__package__).joinpath("trees.json").read_text("utf-8")))


def likelier(question: str, hits: Sequence[Hit]) -> list[float]:
    """How much likelier than the first hit each one is the answer to a question about the present: see `AnswerTrees.likelier`."""
    found: list[float] = installed().likelier(np.array(features(question, hits))).tolist()
    return found


def present_answer(likelier: Sequence[float], *, share: float = 1.0) -> int:
    """The place of the hit that answers a question about the present; 0, the first, where no other one is clearly likelier.

    Args:
        likelier: How much likelier than the first each hit is, the first included.
        share: How much the trees count, from 0 to 1: with less than 1 they have to be surer.
    """
    place = max(range(len(likelier)), key=lambda at: likelier[at])
    return place if share * likelier[place] >= CONFIDENT else 0
