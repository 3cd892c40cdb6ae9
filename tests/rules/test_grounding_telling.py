"""What tells nothing is no evidence: a question that was asked before, and a word that nothing is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.rules.grounding.telling import tells

QUESTION = "Which port does the staging gateway listen on?"


@pytest.mark.parametrize(
    "text",
    [
        "Which port is the staging gateway on?",
        "hey, quick one, what port is the staging gateway on? grafana cant reach it",
        "I don't have any port of the staging gateway.",
        "You haven't told me the port of the gateway yet.",
        "I\u2019m sorry, you have not mentioned a port. Shall I look?",
    ],
)
def test_a_question_and_a_word_of_ignorance_tell_nothing(text: str) -> None:
    assert not tells(QUESTION, text)


@pytest.mark.parametrize(
    "text",
    [
        "The staging gateway listens on 8171.",
        "Which port? The gateway listens on 8171.",
        "ok found it, staging gateway listens 8117. Can you note that?",
        "I don't have a car.",
        "I don't know how to swim.",
        "8171 it is. How are you?",
    ],
)
def test_what_is_told_beside_a_question_counts(text: str) -> None:
    assert tells(QUESTION, text)


@given(
    st.text(max_size=80),
    st.text(max_size=80).filter(lambda text: "?" not in text and "ou" not in text and "I" not in text),
)
def test_a_text_without_a_question_tells_something(question: str, text: str) -> None:
    assert tells(question, text)
