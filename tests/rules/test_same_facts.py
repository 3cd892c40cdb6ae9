"""The rule of merging: what is other dress, what is another fact, and that the order of the two does not matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.near_duplicates import DIFFERENT, made_pairs
from htm_core.change.same_facts import LONGEST, is_same, same_facts

SAME = (
    ("My sister Clara works at a bakery.", "my sister Clara works at a bakery!!"),
    ("I don't like olives.", "By the way, I do not like olives"),
    ("I have two cats at home.", "I have 2 cats at home, you know."),
    ("Tomorrow I fly to Rome.", "I fly to Rome tomorrow."),
    ("I love bread and butter.", "I love butter and bread."),
    ("The deadline is May 3.", "The deadline is the 3rd of May."),
    ("The train leaves at 5 pm.", "The train leaves at 5pm."),
    ("My favourite colour is grey.", "My favorite color is gray."),
    ("I paid 1,200 euros for it.", "I paid 1200 euros for it. Thanks!"),
    ("I\u2019m allergic to nuts.", "I'm allergic to nuts"),
)
OTHER = (
    ("I like Polish food.", "I like polish food."),
    ("We won the match 3-2.", "We won the match 2-3."),
    ("Bob told Ann about it.", "Ann told Bob about it."),
    ("I can't stand the cold.", "I can stand the cold."),
    ("I must call my bank.", "I might call my bank."),
    ("I live in Bergen now.", "They live in Bergen now."),
    ("Is Ann coming to Rome?", "Ann is coming to Rome."),
    ("She got the job today :)", "She got the job today :("),
    ("I just moved to Oslo.", "I moved to Oslo."),
    ("It is -5 degrees here.", "It is 5 degrees here."),
    ("I use C++ at work.", "I use C at work."),
    ("Dinner is at 8:30 for us.", "Dinner is at 8:03 for us."),
    ('He said "I quit the job".', "He said I quit the job."),
    ("Version 1.10 is out now.", "Version 1.1 is out now."),
    ("I only like green tea.", "I like only green tea."),
    ("Maybe I will visit Ann.", "I will visit Ann."),
    ("The answer is x = -y.", "The answer is x = y."),
    ("Ann and Bob scored 3 and 5.", "Bob and Ann scored 3 and 5."),
    ("I recovered the old sofa.", "I re-covered the old sofa."),
    ("Yesterday I said I would come.", "I said I would come yesterday."),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_dress_is_the_same(one: str, other: str) -> None:
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_counts_keeps_two_apart(one: str, other: str) -> None:
    assert not is_same(one, other)
    assert not is_same(other, one)


def test_no_pair_of_the_benchmark_that_differs_is_merged_and_nearly_all_others_are() -> None:
    pairs = list(made_pairs(600))
    assert {pair.kind for pair in pairs if not pair.same} == {kind for kind, _ in DIFFERENT}
    assert [pair for pair in pairs if not pair.same and is_same(pair.a, pair.b)] == []
    missed = [pair for pair in pairs if pair.same and not is_same(pair.a, pair.b)]
    assert len(missed) < 0.05 * len(pairs)


@pytest.mark.parametrize(
    "text",
    [
        "ok",
        "Thanks!",
        "Yes, the blue one",
        "",
        "\x00",
        "...",
        "x" * (LONGEST + 1),
        "```\ncode here now\n```",
    ],
)
def test_what_says_too_little_or_too_much_is_merged_with_nothing(text: str) -> None:
    found = same_facts(text)
    assert found is None or found.needs_session


def test_a_text_that_names_a_day_from_its_own_needs_the_same_day() -> None:
    found = same_facts("I fly to Rome tomorrow.")
    assert found is not None
    assert found.needs_day
    found = same_facts("My sister Clara lives in Rome.")
    assert found is not None
    assert (found.needs_day, found.needs_session) == (False, False)


def test_a_text_that_points_at_something_needs_the_same_session() -> None:
    found = same_facts("He liked it very much.")
    assert found is not None
    assert found.needs_session


@given(st.text(max_size=300))
def test_any_text_is_read_and_is_the_same_as_itself(text: str) -> None:
    found = same_facts(text)
    assert found is None or is_same(text, text)


@given(
    st.lists(
        st.sampled_from(
            [
                "I",
                "you",
                "not",
                "never",
                "must",
                "may",
                "tea",
                "coffee",
                "Ann",
                "Bob",
                "2",
                "3",
                "in",
                "Oslo",
                "like",
                "likes",
                "and",
                "or",
            ]
        ),
        min_size=3,
        max_size=9,
    )
)
def test_a_dropped_or_added_word_keeps_two_apart(said: list[str]) -> None:
    text = " ".join(said)
    assert not is_same(text, text + " never")
    assert not is_same(text, "Bob " + text)


@given(st.integers(0, 99_999), st.integers(0, 99_999))
def test_two_numbers_are_two_facts(one: int, other: int) -> None:
    assert is_same(f"I have {one} books at home", f"I have {other} books at home.") is (
        one == other
    )
