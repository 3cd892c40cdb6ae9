"""A text that only asks is recognised, and it still counts when a prompt is about what somebody asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.grounding.questions import about_questions, only_asks, says_unknown


@pytest.mark.parametrize(
    "text",
    [
        "Is the port 9090?",
        "Caroline: Wow! What got you into running?",
        "Ann: That's awesome, Bob! How did you do it?",
        "What does it mean to you? Is it a gift?",
    ],
)
def test_a_question_with_a_mere_remark_says_nothing(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "The port is 9090.",
        "It runs on port 9090. Is that right?",
        "It is broken. Who repairs it?",  # a note, in which nobody talks to anybody
        "Ann: That was in Ghent. Did you know?",
        "Ann: I run to clear my mind. What about you?",
        "Anna moved to Ghent! Nice, isn't it?",
        "Q: How do I restart it? A: Run the script.",
        "Ann: Great!",
        "",
    ],
)
def test_a_text_that_says_something_beside_its_question_is_kept(text: str) -> None:
    assert not only_asks(text)


def test_a_prompt_about_what_was_asked_may_be_answered_by_a_question() -> None:
    assert about_questions("What did Ann ask about the port?")
    assert about_questions("Which questions are unresolved?")
    assert not about_questions("Which port does billing listen on?")


@given(st.text(max_size=200))
def test_a_text_without_a_question_mark_never_only_asks(text: str) -> None:
    assert not only_asks(text.replace("?", "."))


@pytest.mark.parametrize(
    "text",
    [
        "I don't know, sorry.",
        "Sorry, but I can\u2019t find that.",
        "You haven't told me yet where you live.",
        "I'm not sure, you never mentioned it.",
        "Let me check.",
    ],
)
def test_a_reply_that_knows_nothing_is_told_from_an_answer(text: str) -> None:
    assert says_unknown(text)


@pytest.mark.parametrize(
    "text",
    [
        "You live in Ghent.",
        "The port is 9090, I don't know why.",
        "I don't know who built it, but the mill stands in Arden behind the church, at the end of a lane that is called Weir Street, "
        "number four, and the key hangs beside the door.",
        "",
    ],
)
def test_what_tells_something_is_an_answer(text: str) -> None:
    assert not says_unknown(text)
