"""Trees: what many say side by side is what each says alone."""

from __future__ import annotations

import random

import numpy as np
import pytest

from htm_core.rules.trees import NODES, Trees


def test_trees_side_by_side_say_what_each_says_when_it_is_walked_alone() -> None:
    chance = random.Random(3)

    def grown(depth: int, nodes: list[list[float]], leaves: list[float]) -> int:
        if not depth or (nodes and chance.random() < 0.3):
            leaves.append(chance.uniform(-1, 1))
            return -len(leaves)
        place = len(nodes)
        nodes.append([float(chance.randrange(5)), chance.random(), 0, 0])
        nodes[place][2:] = grown(depth - 1, nodes, leaves), grown(depth - 1, nodes, leaves)
        return place

    def walked(tree: list[list[float]], row: list[float]) -> float:
        at = 0
        while at >= 0 and len(tree) > 1:
            feature, threshold, left, right = tree[at]
            at = int(left if row[int(feature)] <= threshold else right)
        return tree[-1][-at - 1] if len(tree) > 1 else tree[-1][0]

    trees = [[[0.25]]]  # a tree without a node is one leaf
    for depth in (1, 2, 3, 3, 3):
        nodes, leaves = list[list[float]](), list[float]()
        grown(depth, nodes, leaves)
        trees.append([*nodes, leaves])
    rows = [[chance.random() for _ in range(5)] for _ in range(40)]
    wanted = [sum(walked(tree, row) for tree in trees) for row in rows]
    assert Trees.read(trees).score(np.array(rows)).tolist() == pytest.approx(wanted)


def test_a_tree_of_eight_nodes_is_read_and_one_of_nine_is_refused_with_what_to_do() -> None:
    def chain(nodes: int) -> list[list[float]]:
        last = nodes - 1
        return [
            *(
                [float(0), float(place), -place - 1, place + 1 if place < last else -nodes - 1]
                for place in range(nodes)
            ),
            [float(leaf) for leaf in range(nodes + 1)],
        ]

    rows = np.array([[place - 0.5] for place in range(NODES + 1)])
    assert Trees.read([chain(NODES)]).score(rows).tolist() == list(range(NODES + 1))
    with pytest.raises(ValueError, match="at most 8 nodes, got one of 9; grow them with fewer leaves"):
        Trees.read([chain(NODES + 1)])


def test_a_value_that_is_the_threshold_goes_to_the_left() -> None:
    trees = Trees.read([[[0, 0.5, -1, -2], [1.0, 2.0]]])
    assert trees.score(np.array([[0.5], [0.50001]])).tolist() == [1.0, 2.0]
