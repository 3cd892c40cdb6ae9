"""A text that only asks is recognised by its marks, and still counts when a prompt is about what somebody asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.text.questions import about_questions, only_asks


@pytest.mark.parametrize(
    "text",
    [
        "Is the port 9090?",
        "What does it mean to you? Is it a gift?",
        "\u4f60\u597d\u5417\uff1f",
        '"Who is there?"',
        "Really?!?",
    ],
)
def test_a_text_whose_sentences_all_end_with_a_question_mark_only_asks(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "The port is 9090.",
        "It runs on port 9090. Is that right?",
        "Who repairs it? Tell me.",
        "",
        "?" * 3_000 + "x",
    ],
)
def test_a_text_that_also_says_something_does_not(text: str) -> None:
    assert not only_asks(text)


@given(st.text(max_size=300))
def test_no_text_without_a_question_mark_only_asks(text: str) -> None:
    assert not only_asks(text.translate(dict.fromkeys(map(ord, "?\uff1f\u061f\u037e"))))


def test_a_prompt_about_questions_is_recognised() -> None:
    assert about_questions("What did I ask about the visa?")
    assert not about_questions("How long does the visa take?")
