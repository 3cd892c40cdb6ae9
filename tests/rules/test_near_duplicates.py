"""Near-duplicates: the same words in the same order, but for case, punctuation and a few words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.recall.near_duplicates import SIMILARITY, copies, words_of

TALE = "Ann told me in the kitchen that she will bring her old tent and the big stove to the lake"
WORDS = st.lists(
    st.sampled_from(["ann", "bo", "lake", "tent", "the", "a"]), min_size=1, max_size=30
)


def repeats(*texts: str) -> list[int | None]:
    return copies(texts, voices=[None] * len(texts))


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("The boiler was serviced on Monday by Ann.", "the boiler was serviced on monday, by ann!"),
        (TALE, TALE + " tomorrow"),
        (TALE, TALE.replace("stove", "pan")),
        ("東京都に住んでいます。", "東京都に住んでいます"),
        ("Ja, genau", "JA GENAU"),
        ("?!", "?!"),
    ],
)
def test_what_is_said_again_is_a_copy(text: str, again: str) -> None:
    assert repeats(text, "Something else altogether.", again) == [None, None, 0]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I like cats.", "I don't like cats."),
        ("The gate code is 4711.", "The gate code is 4712."),
        (TALE + " at 5", TALE + " at 6"),
        ("It is 5 outside.", "It is -5 outside."),
        ("I like C++.", "I like C#."),
        ("The dog bit the man.", "The man bit the dog."),
        ("?!", "?"),
        (TALE, "Ann told me in the kitchen."),
    ],
)
def test_what_says_something_else_is_none(text: str, other: str) -> None:
    assert repeats(text, other) == [None, None]


def test_two_peoples_like_words_are_two_memories() -> None:
    assert copies(["I go swimming.", "I go swimming!"], voices=["Ann", "Bo"]) == [None, None]
    assert copies(["I go swimming.", "I go swimming!"], voices=["Ann", "Ann"]) == [None, 0]


def test_a_copy_of_a_copy_is_held_against_what_was_said_first() -> None:
    assert repeats("Yes, the lake.", "yes the lake", "YES THE LAKE!") == [None, 0, 0]


@given(st.lists(WORDS, max_size=12))
def test_no_near_duplicate_is_missed_and_none_is_made_up(texts: list[list[str]]) -> None:
    said = [" ".join(words) for words in texts]
    expected: list[int | None] = []
    for at, words in enumerate(texts):
        mine = words_of(" ".join(words)).pairs
        earlier = [
            (place, words_of(" ".join(texts[place])).pairs)
            for place in range(at)
            if expected[place] is None
        ]
        alike = (
            place
            for place, others in earlier
            if len(mine & others) >= SIMILARITY * len(mine | others)
        )
        expected.append(next(alike, None))
    assert repeats(*said) == expected
