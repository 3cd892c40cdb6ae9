"""A map of vectors: alike ones are near, the same vectors give the same places, and no input breaks it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from htm_core.serve.clusters import project


def test_two_clusters_lie_apart() -> None:
    random = np.random.default_rng(1)
    left = random.normal(0, 0.05, (40, 16)) + np.eye(16)[0]
    right = random.normal(0, 0.05, (40, 16)) + np.eye(16)[1]
    places, shown = project(np.vstack([left, right]))
    assert abs(places[:40, 0].mean() - places[40:, 0].mean()) > 0.7
    assert places[:40, 0].std() < 0.1
    assert 0.8 < shown <= 1


@given(
    arrays(np.float64, st.tuples(st.integers(0, 12), st.integers(1, 6)), elements=st.floats(-1, 1))
)
def test_places_are_inside_and_the_same_each_time(vectors: np.ndarray) -> None:
    places, shown = project(vectors)
    assert places.shape == (len(vectors), 2)
    assert np.all((places >= 0) & (places <= 1))
    assert 0 <= shown <= 1 + 1e-9
    assert np.array_equal(places, project(vectors)[0])
