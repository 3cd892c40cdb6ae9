"""A phrase is what a question quotes, with whatever quotation marks, when it is more than one word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.text.questions import LONGEST_PHRASE, MOST_PHRASES, quoted_phrases


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('Who said "blue harbour"?', ("blue harbour",)),
        ("Who said “Blue\n Harbour, at last.”?", ("blue harbour, at last",)),
        ("Wo steht „grüner Hafen“ oder »blauer Hafen«?", ("grüner hafen", "blauer hafen")),
        ("Où est «le port bleu» ?", ("le port bleu",)),
        ("don't say it's Ann's 'blue harbour' poem", ("blue harbour",)),
        ("Who sang \u2018don\u2019t stop me\u2019?", ("don\u2019t stop me",)),
        ("「東京都」はどこ", ("東京都",)),
        ('What does "HTM" mean?', ()),
        ("the dogs' bowls and cats' food", ()),
        ('"a b" and "a b" and "a B"', ("a b",)),
        ("no quotation at all", ()),
    ],
)
def test_what_is_quoted_is_a_phrase(question: str, phrases: tuple[str, ...]) -> None:
    assert quoted_phrases(question) == phrases


@given(st.text(alphabet="ab \"'“”„«»\u2018\u2019「」.é", max_size=80))
def test_any_text_gives_a_few_short_phrases_of_its_own_words(question: str) -> None:
    phrases = quoted_phrases(question)
    assert len(phrases) <= MOST_PHRASES
    assert all(0 < len(phrase) <= LONGEST_PHRASE and phrase == phrase.strip() for phrase in phrases)
    assert all(set(phrase) <= set(question.lower()) for phrase in phrases)
