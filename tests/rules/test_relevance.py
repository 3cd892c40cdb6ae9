"""Relevance where no reader has read: by the cosine and the words, or by the words alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.types import Match
from htm_core.reading.relevance import CERTAIN, relevance

SHARES = st.floats(0, 1)


@given(cosine=st.floats(-1, 1) | st.none(), coverage=SHARES, more=SHARES)
def test_it_is_a_probability_and_more_words_of_the_question_make_it_higher(
    cosine: float | None, coverage: float, more: float
) -> None:
    low, high = sorted((coverage, more))
    few, many = (relevance(Match(cosine=cosine, word_coverage=each)) for each in (low, high))
    assert 0 < few <= many < 1


def test_what_is_near_is_taken_for_an_answer_and_what_is_far_is_not() -> None:
    assert relevance(Match(cosine=0.6, word_coverage=0.2)) >= CERTAIN
    assert relevance(Match(cosine=0.2, word_coverage=0.1)) < 0.06
    assert relevance(Match(word_coverage=0.45)) >= CERTAIN, "while it has no vector, by its words"
    assert relevance(Match(word_coverage=0.05)) < 0.06
