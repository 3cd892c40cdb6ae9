"""Recognise a text that only asks: it says nothing that an answer could rest on."""

from __future__ import annotations

import re

SENTENCE = re.compile(r"(?<=[.!?])\s+|\s?\[|\n+")
FIRST = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]urs?)\b")
SECOND = re.compile(r"\b(?:you|yours?|yourself|ya)\b", re.I)
_ONESELF = re.compile(f"{FIRST.pattern}|{SECOND.pattern}", re.I)

MAX_LENGTH = 2_000  # characters: a longer text says something
MARKS = ("?", "\uff1f", "\u061f", "\u037e")  # Latin, wide, Arabic, Greek
_CLOSING = "\"'\u201d\u2019)]*_ "
_ABOUT_QUESTIONS = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|questions?|wonder(?:s|ed|ing)?|unclear|unresolved|undecided|"
    r"open (?:points?|issues?)|want(?:s|ed)? to know)\b",
    re.I,
)


def only_asks(text: str) -> bool:
    """True if every sentence of a text ends with a question mark, of whatever script."""
    if len(text) > MAX_LENGTH or not any(mark in text for mark in MARKS):
        return False
    sentences = [sentence for sentence in SENTENCE.split(text) if sentence.strip()]
    return all(sentence.rstrip(_CLOSING).endswith(MARKS) for sentence in sentences)


def about_questions(prompt: str) -> bool:
    """True if a prompt is about what somebody asked, so that a question may be evidence."""
    return _ABOUT_QUESTIONS.search(prompt) is not None


def about_oneself(prompt: str) -> bool:
    """True if a prompt speaks of who asks, or of who is asked: "Who am I?", "When do you report?"."""
    return _ONESELF.search(prompt) is not None
