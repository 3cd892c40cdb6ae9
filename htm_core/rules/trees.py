"""Regression trees side by side, evaluated in numpy: what boosting grew, without the package that grew it.

A tree has at most eight nodes. So all of its comparisons fit into one byte, and a table says to which leaf they lead: no tree is
walked, and two hundred trees look at eighty rows in a third of a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# A bit of a byte for each.
NODES = 8


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees side by side: each node compares one feature with its threshold, and each tree says the value of one leaf.

    A row of features goes to the left where it is at most the threshold. `values` has what each tree says for each outcome of
    its comparisons, of which the first is the lowest bit.
    """

    features: npt.NDArray[np.int64]  # nodes x trees, as the next
    thresholds: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]  # trees x outcomes

    @classmethod
    def read(cls, given: Sequence[Sequence[Sequence[float]]]) -> Trees:
        """From lists, one for each tree: its nodes as feature, threshold, left, right, and last its leaves.

        Left and right are numbers of nodes, and from -1 down those of leaves: -1 is the first leaf. Raises `ValueError` for
        more than eight nodes.
        """
        nodes = max(1, *(len(tree) - 1 for tree in given))
        if nodes > NODES:
            raise ValueError(
                f"expected trees of at most {NODES} nodes, got one of {nodes}; grow them with fewer leaves"
            )
        table = np.zeros((len(given), nodes, 4))
        table[:, :, 2:] = -1
        leaves = np.zeros((len(given), nodes + 1))
        for place, tree in enumerate(given):
            table[place, : len(tree) - 1] = np.reshape(tree[:-1], (-1, 4))
            leaves[place, : len(tree[-1])] = tree[-1]
        trees, outcomes = np.arange(len(given))[:, None], np.arange(1 << nodes)
        at = np.zeros((len(given), len(outcomes)), np.int64)
        for _ in range(nodes):
            node = np.maximum(at, 0)
            goes_left = outcomes >> node & 1 > 0
            onward = np.where(goes_left, table[trees, node, 2], table[trees, node, 3]).astype(np.int64)
            at = np.where(at < 0, at, onward)
        return cls(table[:, :, 0].T.astype(np.int64), table[:, :, 1].T.copy(), leaves[trees, -at - 1])

    def score(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The sum over all trees, for each row of features."""
        goes_left = rows.T.take(self.features, axis=0) <= self.thresholds[:, :, None]
        outcomes = np.zeros(goes_left.shape[1:], np.uint8)
        for bits in goes_left[::-1].view(np.uint8):  # by hand: numpy's packbits takes thirty times as long for this
            outcomes += outcomes
            outcomes += bits
        begins = np.arange(len(self.values))[:, None] * self.values.shape[1]
        total: npt.NDArray[np.float64] = self.values.take(begins + outcomes).sum(axis=0)
        return total
