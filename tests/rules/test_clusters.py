"""Clusters of a map: what lies together is together, the same each time, and named by its own words."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from htm_core.serve.clusters import clusters, names

PLACES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60)


def test_heaps_that_lie_apart_are_clusters_the_largest_first() -> None:
    chance = random.Random(1)
    heaps = {(0.1, 0.1): 30, (0.9, 0.1): 20, (0.5, 0.9): 10}
    points = [
        (x + chance.uniform(-0.05, 0.05), y + chance.uniform(-0.05, 0.05))
        for (x, y), n in heaps.items()
        for _ in range(n)
    ]
    assert clusters(points, 3) == [0] * 30 + [1] * 20 + [2] * 10


@given(points=PLACES, count=st.integers(1, 9))
def test_clusters_are_numbered_by_size_without_gaps_and_the_same_each_time(
    points: list[tuple[float, float]], count: int
) -> None:
    found = clusters(points, count)
    assert found == clusters(points, count)
    assert len(found) == len(points)
    sizes = Counter(found)
    assert sorted(sizes) == list(range(len(sizes)))
    assert len(sizes) <= count
    assert [sizes[each] for each in sorted(sizes)] == sorted(sizes.values(), reverse=True)


def test_equal_points_are_one_cluster() -> None:
    assert clusters([(0.5, 0.5)] * 4, 3) == [0, 0, 0, 0]
    assert clusters([], 3) == []


def test_a_cluster_is_named_by_words_that_the_others_lack() -> None:
    texts = [
        "the boat is blue",
        "the boat leaks",
        "the boat sails",
        "the tea is green",
        "the tea is hot",
    ]
    boat, tea = names(texts, [0, 0, 0, 1, 1])
    assert boat[0] == "boat"
    assert tea[0] == "tea"
    assert "the" not in boat + tea  # it is everywhere
    assert names([], []) == []
    assert names(["alone here", "the same", "the same"], [1, 0, 0])[1] == ("alone", "here")
