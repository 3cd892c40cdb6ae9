"""Maximal marginal relevance: relevant, and unlike each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from htm_core.prompt.mmr import cosines, mmr

NEAR = [[1.0, 0.0], [0.99, 0.1], [0.6, 0.8], [0.0, 1.0]]
QUERY = [1.0, 0.0]
vectors = st.lists(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3), max_size=12)


def test_relevance_alone_orders_by_relevance_and_diversity_alone_takes_the_most_unlike_one_next() -> (
    None
):
    relevance = cosines(QUERY, NEAR)
    assert mmr(NEAR, relevance=relevance, limit=4, weight=1.0) == [0, 1, 2, 3]
    assert mmr(NEAR, relevance=relevance, limit=2, weight=0.0) == [0, 3]


def test_a_near_duplicate_makes_way_for_another_relevant_one() -> None:
    assert mmr(NEAR[:3], relevance=cosines(QUERY, NEAR[:3]), limit=2, weight=0.4) == [0, 2]


def test_the_most_relevant_comes_first_wherever_it_is() -> None:
    assert mmr(NEAR[::-1], relevance=cosines(QUERY, NEAR[::-1]), limit=1, weight=0.0) == [3]


def test_no_candidates_and_no_limit_give_nothing() -> None:
    assert mmr([], relevance=[], limit=3, weight=0.5) == cosines(QUERY, []) == []
    assert mmr(NEAR, relevance=cosines(QUERY, NEAR), limit=0, weight=0.5) == []


@given(vectors, st.integers(0, 15), st.floats(0, 1))
def test_each_candidate_is_chosen_once_at_most(
    candidates: list[list[float]], limit: int, weight: float
) -> None:
    order = mmr(
        candidates, relevance=cosines([1.0, 0.5, 0.0], candidates), limit=limit, weight=weight
    )
    assert len(order) == len(set(order)) == min(limit, len(candidates))
