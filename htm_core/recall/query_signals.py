"""Speakers and times that a question names besides its subject."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime, tzinfo
from itertools import pairwise

from ..base.types import Window
from ..timeframes import WeekStart, extract, may_name_a_time

_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_POSSESSIVE = r"['\u2019]s"
_SHORT_IS = re.compile(r"\b(what|who|where|when|how)['\u2019]s\b", re.IGNORECASE)
LONGEST = 64  # only so many words of a question are searched for names
LONGEST_NAME = 3  # words
MOST_TIMES = 4
# The words for the speaker and what is theirs, by language; in any other language a name is removed without a substitute.
FIRST_PERSON = {"english": ("I", "my")}


def name_forms(question: str) -> dict[str, str]:
    """Every form under which a speaker named in the question could be known, with the words of the question for it.

    A name has one to three words. A question in lower case may name a known "Ann" as "ann", any other a known "ann" as "Ann".
    """
    words = list(_WORD.finditer(question))[:LONGEST]
    neighbours = [question[left.end() : right.start()] == " " for left, right in pairwise(words)]
    small = question == question.lower()
    forms: dict[str, str] = {}
    for count in range(1, LONGEST_NAME + 1):
        for place in range(len(words) - count + 1):
            if not all(neighbours[place : place + count - 1]):
                continue
            written = question[words[place].start() : words[place + count - 1].end()]
            if len(written) > 1 and (count == 1 or small or written[0].isupper()):
                for form in {written, written.title() if small else written.lower()}:
                    forms.setdefault(form, written)
    return forms


def named(forms: Mapping[str, str], speakers: Collection[str]) -> dict[str, str]:
    """The forms that are a speaker's name, with the words of the question for each; a name inside a longer one is dropped."""
    matching = {name: forms[name] for name in speakers if name in forms}
    return {
        name: written
        for name, written in matching.items()
        if not any(
            written != longer and re.search(rf"\b{re.escape(written)}\b", longer) for longer in matching.values()
        )
    }


def in_first_person(question: str, written: Collection[str], *, language: str) -> str:
    """The question as the named speakers would ask it: "What is my cat called?" for "Ann's cat".

    In a message its speaker is "I". A name in the question would find messages about the speaker, not those by them. "What's" is
    written in full, as models know it better.
    """
    i, mine = FIRST_PERSON.get(language, ("", ""))
    question = rest = _SHORT_IS.sub(r"\1 is", question) if language == "english" else question
    for name in sorted(written, key=len, reverse=True):
        rest = re.sub(rf"\b{re.escape(name)}{_POSSESSIVE}(?!\w)", mine, rest)
        rest = re.sub(rf"\b{re.escape(name)}\b", i, rest)
    rest = " ".join(rest.split())
    return rest if _WORD.search(rest) else question


def times_in(question: str, *, now: datetime, week_start: WeekStart, timezone: tzinfo | None) -> tuple[Window, ...]:
    """The windows of the times that a question names, at most the first four of them."""
    if not may_name_a_time(question):
        return ()
    windows: list[Window] = []
    for _ in range(MOST_TIMES):
        rest, more, _expression = extract(question, now=now, week_start=week_start, timezone=timezone)
        windows += more
        if not more or rest == question:
            break
        question = rest
    return tuple(windows)
