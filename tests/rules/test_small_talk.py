"""What is small talk, and what says something."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.small_talk import counted, messages
from htm_core.rules.text.small_talk import is_small_talk


def test_what_is_taken_for_small_talk_is_small_talk() -> None:
    """Of at least 300 labelled messages, of which half were written before the rule."""
    rows = messages()
    hits, false, missed = counted(rows)
    assert len(rows) >= 300
    assert hits / (hits + false) >= 0.99
    assert hits / (hits + missed) >= 0.9


@pytest.mark.parametrize(
    "text", ["yes, the blue one", "no", "yes", "42", "Lisbon", "tomorrow at 5", "Ann", "Friday", "done", "", " \n"]
)
def test_short_answers_say_something(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["ok", "thanks!", "haha", "good morning", "sounds good", "\U0001f44d", "brb", "Thanks, Ann! See you later."]
)
def test_acknowledgements_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


small = st.sampled_from([text for text, is_small in messages("first") if is_small])
says = st.sampled_from(
    ["my cat is called Rex", "the code is 4821", "I moved to Oslo", "at 5", "Lisbon", "42", "yes", "no"]
)


@given(small, small, st.sampled_from([" ", ". ", "! ", ", ", "\n"]))
def test_small_talk_after_small_talk_is_small_talk(one: str, other: str, between: str) -> None:
    assert is_small_talk(one.rstrip(".,;") + between + other)


@given(small, says, st.booleans())
def test_small_talk_with_a_fact_says_something(greeting: str, fact: str, is_first: bool) -> None:
    # A name at the end may be whom one speaks to, and "oh no" is no answer.
    if is_first or (fact != "Lisbon" and not (fact == "no" and greeting.lower().endswith("oh"))):
        assert not is_small_talk(f"{fact}. {greeting}" if is_first else f"{greeting}. {fact}")


@given(small)
def test_letter_case_and_what_stands_around_do_not_matter(text: str) -> None:
    assert is_small_talk(text.upper()) or any(word[:1].isupper() for word in text.split()[1:]), "but for names"
    assert is_small_talk(f"  {text} \U0001f642\n")


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert is_small_talk(text) in (True, False)


@pytest.mark.parametrize("text", ["ok " * 100_000, "a" * 1_000_000, "[" * 100_000, "thanks a lot for all " * 10_000])
def test_a_long_text_is_none_and_takes_no_time(text: str) -> None:
    begun = time.process_time()
    assert not is_small_talk(text)
    assert time.process_time() - begun < 0.5
