"""Scores stay in [0, 1], rise with what they measure, and say so when an arm was missing."""

from __future__ import annotations

from math import inf, isclose, log, nan

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from htm_core.errors import InvalidInput
from htm_core.rules.fusion import (
    best_possible,
    convex,
    idf,
    mmr,
    normal_bm25,
    normal_cosine,
    reciprocal_rank,
    term_weight,
)

UNIT = st.floats(0, 1)
COSINE = st.floats(-1, 1)
POSITIVE = st.floats(0.01, 1e6)
RANKS = st.lists(st.none() | st.integers(1, 10_000), min_size=1, max_size=4)


@given(COSINE, COSINE)
def test_a_nearer_meaning_never_scores_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= normal_cosine(low) <= normal_cosine(high) <= 1


def test_a_cosine_of_eight_tenths_is_as_good_as_it_gets() -> None:
    assert normal_cosine(0.4) == 0.5
    assert normal_cosine(0.8) == normal_cosine(1.0) == 1.0
    assert normal_cosine(-0.5) == 0.0


@pytest.mark.parametrize("broken", [nan, -inf])
def test_a_vector_without_direction_scores_nothing(broken: float) -> None:
    assert normal_cosine(broken) == normal_bm25(broken, 5.0) == 0.0


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 50), st.integers(1, 500)), min_size=1, max_size=8))
def test_no_passage_reaches_more_than_the_best_possible(terms: list[tuple[int, int, int]]) -> None:
    weights = [idf(1000, df) for df, _, _ in terms]
    score = sum(w * term_weight(tf, length + tf, 40) for w, (_, tf, length) in zip(weights, terms, strict=True))
    best = best_possible(weights)
    assert score <= best
    assert 0 <= normal_bm25(score, best) <= 1


@given(st.floats(0, 1e6), st.floats(0, 1e6), POSITIVE)
def test_more_words_in_common_never_score_less(one: float, other: float, best: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= normal_bm25(low, best) <= normal_bm25(high, best) <= 1


def test_a_query_without_any_word_scores_nothing_by_words() -> None:
    assert normal_bm25(0.0, best_possible([])) == 0.0


@given(UNIT, UNIT, UNIT, UNIT)
def test_the_fused_score_lies_between_its_arms_and_rises_with_each(
    vector: float, text: float, more: float, weight: float
) -> None:
    score = convex(vector, text, weight=weight)
    assert min(vector, text) - 1e-9 <= score <= max(vector, text) + 1e-9
    assert 0 <= score <= 1
    assert convex(max(vector, more), text, weight=weight) >= score
    assert convex(vector, max(text, more), weight=weight) >= score


def test_an_arm_that_did_not_run_leaves_the_score_to_the_other() -> None:
    assert convex(None, 0.7) == 0.7
    assert convex(0.7, None) == 0.7
    assert convex(None, None) == 0.0


def test_an_arm_that_ran_and_found_nothing_counts_as_nothing() -> None:
    assert isclose(convex(1.0, 0.0), 0.6)
    assert isclose(convex(0.0, 1.0), 0.4)


@given(RANKS, st.integers(0, 3), st.integers(1, 10_000))
def test_a_better_rank_never_scores_less(ranks: list[int | None], arm: int, better: int) -> None:
    arm %= len(ranks)
    before = ranks[arm]
    assume(before is None or better <= before)
    improved = [*ranks[:arm], better, *ranks[arm + 1 :]]
    assert 0 <= reciprocal_rank(ranks) <= reciprocal_rank(improved) <= 1


def test_first_in_every_arm_is_one_and_found_by_none_is_zero() -> None:
    assert reciprocal_rank([1, 1]) == reciprocal_rank([1]) == 1.0
    assert reciprocal_rank([1, None]) == 0.5
    assert reciprocal_rank([None, None]) == reciprocal_rank([]) == 0.0
    assert isclose(reciprocal_rank([2, 11], k=9), (10 / 11 + 10 / 20) / 2)


@given(st.integers(1, 10**9), POSITIVE, POSITIVE)
def test_a_rarer_word_weighs_no_less_and_never_below_nothing(documents: int, one: float, other: float) -> None:
    rare, common = sorted((one, other))
    assert idf(documents, 0) >= idf(documents, rare) >= idf(documents, common) >= 0


def test_the_weight_of_rarity_is_the_form_of_lucene() -> None:
    assert isclose(idf(1000, 10), log(1 + 990.5 / 10.5))
    assert idf(10, 500) == idf(10, 10) > 0
    assert idf(0, 0) == log(2)


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 5000), st.integers(1, 5000))
def test_a_word_weighs_more_when_said_more_and_less_in_a_longer_passage(
    tf: int, more: int, length: int, longer: int
) -> None:
    short, long = sorted((length, longer))
    few, many = sorted((tf, more))
    assert 0 <= term_weight(few, short, 40) <= term_weight(many, short, 40) < 1.9
    assert term_weight(few, long, 40) <= term_weight(few, short, 40)


def test_one_use_in_an_average_passage_weighs_one() -> None:
    assert isclose(term_weight(1, 40, 40), 1.0)
    assert isclose(term_weight(1, 7, 0), 1.0)
    assert term_weight(0, 40, 40) == 0.0


POINTS = [(0.0, 0.9), (0.1, 0.85), (1.0, 0.5), (0.05, 0.88)]


def near(one: float, other: float) -> float:
    return 1 - abs(one - other)


def test_relevance_alone_keeps_the_order_of_relevance() -> None:
    assert mmr(POINTS, near, limit=4, trade=1.0) == [0.0, 0.05, 0.1, 1.0]


def test_novelty_alone_is_honoured_after_the_most_relevant() -> None:
    assert mmr(POINTS, near, limit=3, trade=0.0) == [0.0, 1.0, 0.1]


def test_a_trade_off_puts_the_new_before_the_alike() -> None:
    assert mmr(POINTS, near, limit=2, trade=0.5) == [0.0, 1.0]


@given(st.lists(st.tuples(st.integers(0, 50), UNIT), max_size=12), st.integers(0, 15), UNIT)
def test_an_order_takes_each_candidate_once_and_starts_with_the_best(
    candidates: list[tuple[int, float]], limit: int, trade: float
) -> None:
    order = mmr(candidates, near, limit=limit, trade=trade)
    assert len(order) == min(limit, len(candidates))
    left = [thing for thing, _ in candidates]
    for thing in order:
        left.remove(thing)
    if order:
        assert order[0] == max(candidates, key=lambda pair: pair[1])[0]


@pytest.mark.parametrize("trade", [-0.1, 1.1, nan])
def test_a_trade_outside_its_range_is_refused(trade: float) -> None:
    with pytest.raises(InvalidInput, match="trade: expected a number from 0"):
        mmr(POINTS, near, limit=2, trade=trade)
