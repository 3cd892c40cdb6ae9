"""The excerpt of a text: short enough, of its own words, and where the answer probably is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.text.excerpts import CUT, excerpt

TEXTS = st.text(st.sampled_from("ab .?!\n\u2026\u3002dét7"), max_size=200) | st.text(max_size=200)


@given(text=TEXTS, question=TEXTS, longest=st.integers(3, 120))
def test_it_is_never_longer_than_asked_and_has_only_words_of_the_text(
    text: str, question: str, longest: int
) -> None:
    found = excerpt(text, question, longest=longest)
    assert len(found) <= max(longest, len(text) if len(text) <= longest else 0)
    if len(text) <= longest:
        assert found == text
    else:
        assert found.removeprefix(CUT).removesuffix(CUT).strip(CUT) in text


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (
            "Hey Jon! How have you been? Just now a fashion company accepted my internship letter!",
            "What kind of experience did Gina get?",
            "fashion company",
        ),
        (
            "We walked the whole coast and slept in tents. The ferry leaves at half past six. The weather was kind to us.",
            "When does the ferry leave?",
            "half past six",
        ),
        (
            "Which port does the gateway use, do you know? We looked and looked. It listens on 8443 since the move.",
            "Which port does the gateway use?",
            "8443",
        ),
        (
            "Long ago. " * 20 + "The boat lies in Split. " + "It rained. " * 20,
            "Where is the boat?",
            "in Split",
        ),
    ],
)
def test_it_shows_what_answers_rather_than_a_greeting_or_a_question(
    text: str, question: str, answer: str
) -> None:
    assert answer in excerpt(text, question, longest=60)


def test_a_sentence_that_is_too_long_is_cut_and_the_cut_is_marked() -> None:
    assert excerpt("word " * 100, "word", longest=21) == "word word word word" + CUT
