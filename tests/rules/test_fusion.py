"""Fusion of lists by their ranks: the score stays in [0, 1] and rises with each rank."""

from __future__ import annotations

from math import isclose

from hypothesis import assume, given
from hypothesis import strategies as st

from htm_core.collections.fusion import reciprocal_rank

RANKS = st.lists(st.none() | st.integers(1, 10_000), min_size=1, max_size=4)


@given(RANKS, st.integers(0, 3), st.integers(1, 10_000))
def test_a_better_rank_never_scores_less(ranks: list[int | None], arm: int, better: int) -> None:
    arm %= len(ranks)
    before = ranks[arm]
    assume(before is None or better <= before)
    improved = [*ranks[:arm], better, *ranks[arm + 1 :]]
    assert 0 <= reciprocal_rank(ranks, k=10) <= reciprocal_rank(improved, k=10) <= 1


def test_first_in_every_arm_is_one_and_found_by_none_is_zero() -> None:
    assert reciprocal_rank([1, 1], k=10) == reciprocal_rank([1], k=10) == 1.0
    assert reciprocal_rank([1, None], k=10) == 0.5
    assert reciprocal_rank([None, None], k=10) == reciprocal_rank([], k=10) == 0.0
    assert isclose(reciprocal_rank([2, 11], k=9), (10 / 11 + 10 / 20) / 2)
