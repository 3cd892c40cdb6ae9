"""Late interaction: what signs keep of a word, and how near the words of a question come to those of a passage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.word_vectors import BYTES, FORM, NUMBERS, Floats, QuestionWords, is_packed, nearness, packed


def words(count: int, seed: int = 0) -> Floats:
    drawn = np.random.default_rng(seed).standard_normal((count, NUMBERS))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


def asking(vectors: Floats, *weights: float) -> QuestionWords:
    given = np.array(weights or [1.0] * len(vectors), np.float32)
    return QuestionWords(vectors, given / given.sum())


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_a_word_is_nearest_to_its_own_signs(count: int, seed: int) -> None:
    vectors = words(count, seed)
    assert len(packed(vectors)) == 1 + BYTES * count
    alone = [packed(vector[None]) for vector in vectors]
    for place, vector in enumerate(vectors):
        near = nearness(asking(vector[None]), alone)
        assert near[place] > 0.6
        assert near.argmax() == place


@given(st.lists(st.integers(0, 12), min_size=1, max_size=8), st.integers(0, 2**32))
def test_the_nearest_word_of_each_passage_counts_as_if_all_were_compared_one_by_one(
    counts: list[int], seed: int
) -> None:
    question = asking(words(3, seed), 0.5, 0.3, 0.2)
    passages = [words(count, seed + 1 + place) for place, count in enumerate(counts)]
    found = nearness(question, [packed(each) for each in passages])
    for count, vectors, near in zip(counts, passages, found, strict=True):
        if count:
            cosines = question.vectors @ (np.where(vectors > 0, 1, -1) / math.sqrt(NUMBERS)).T
            assert near == pytest.approx(float(question.weights @ cosines.max(axis=1)), abs=1e-5)
        else:
            assert math.isnan(near), "without words there is nothing to compare"


def test_a_word_of_the_question_that_weighs_more_decides() -> None:
    heavy, light = words(2)
    both = np.array([heavy, light])
    passages = [packed(heavy[None]), packed(light[None])]
    first, second = nearness(asking(both, 0.9, 0.1), passages)
    assert first > second
    first, second = nearness(asking(both, 0.1, 0.9), passages)
    assert first < second


@pytest.mark.parametrize(
    "stored", [None, b"", bytes([FORM]), bytes([FORM]) + b"short", bytes([FORM + 1]) + bytes(BYTES)]
)
def test_what_is_missing_cut_short_or_of_another_form_is_as_if_it_were_not_there(stored: bytes | None) -> None:
    """A later version may pack in another way, and write beside this one."""
    assert not is_packed(stored)
    known = packed(words(2))
    found = nearness(asking(words(2)), [stored, known, stored])
    assert np.isnan(found).tolist() == [True, False, True]


@given(st.binary(min_size=1, max_size=6))
def test_any_bytes_that_are_stored_give_numbers_in_range(some: bytes) -> None:
    stored = bytes([FORM]) + some[:1] * BYTES + bytes(BYTES)
    [near] = nearness(asking(words(2)), [stored])
    assert -1.001 <= near <= 1.001


def test_a_question_without_words_is_near_to_nothing() -> None:
    assert np.isnan(nearness(QuestionWords(words(0), np.zeros(0, np.float32)), [packed(words(1))])).all()


def test_a_word_that_a_model_does_not_know_says_nothing_of_a_question() -> None:
    words = pytest.importorskip("htm_core.models.minilm.words")
    states = np.random.default_rng(1).standard_normal((5, 384)).astype(np.float32)
    known = words.question_words([101, 3_000, 9_000, 4_000, 102], states)
    partly = words.question_words([101, 3_000, words.UNKNOWN, 4_000, 102], states)
    assert known.known == 1
    assert partly.weights[1] == 0
    assert 0 < partly.known < 1
