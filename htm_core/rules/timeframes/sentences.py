"""Finding a time in the middle of a question, without taking a verb or a name for one.

The grammar costs hundreds of calls at each place where it is tried, and most questions name no time. So two checks come
first: `may_name_a_time` looks for a word that every time needs, and `openings` keeps the places from which the grammar can
reach such a word. Neither changes what is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...types import Window
from .calendar import Calendar
from .counted import STEPS
from .cursor import Cursor
from .phrases import AFTER, BEFORE, PREPOSITIONS, SINCE, TO, UNTIL, phrase
from .relative import DAYS
from .words import MONTH_NAMES, NUMBERS, ORDINALS, PARTS, QUARTERS, SEASONS, UNITS, WEEKDAYS, Token, tokens

# No timeframe has more words, and no question more letters: what is longer is a document that happens to name times.
LONGEST = 16
READ = 5_000
_ENDS = {"", *"?!.,;:)"}
_FORMS_OF_BE = frozenset({"is", "was", "isn", "wasn", "be"})
_WORD = re.compile(r"\w+")
_DIGIT = re.compile("[0-9]")

# Every time has a word of these, or digits.
ANCHORS = frozenset(
    {
        *DAYS, *MONTH_NAMES, *PARTS, *QUARTERS, *SEASONS, *UNITS, *WEEKDAYS,
        "tonight", "recently", "lately", "recent", "now", "present", "moment",
    }
)  # fmt: skip
# Every other word or sign that the grammar takes, besides numbers.
CONNECTORS = frozenset(
    {
        *" ".join((*PREPOSITIONS, *SINCE, *AFTER, *UNTIL, *BEFORE, *TO)).split(), *STEPS, *NUMBERS, *ORDINALS,
        "a", "an", "few", "several", "couple", "half", "ago", "the", "this", "these", "early", "late", "mid", "middle",
        "beginning", "start", "end", "earlier", "later", "before", "after", "right", "between", "and", "or", "but",
        "onwards", "onward", "of", "in", "on", ",", "-", "/", "..",
    }
)  # fmt: skip
# What stands before or after a unit that belongs to a time: "5 days", "last week", "second quarter", "day before", and,
# before "the" and a unit, "early in the week".
_BEFORE_UNIT = frozenset({*NUMBERS, *ORDINALS, *STEPS, "a", "an", "few", "several", "couple", "of"})
_AFTER_UNIT = frozenset({"of", "before", "after"})
_BEFORE_THE_UNIT = frozenset({"early", "late", "mid", "-", "in", "of"})
# The words that a time in a sentence may begin with.
_OPENERS = frozenset(
    {
        *(option.split()[0] for option in (*PREPOSITIONS, *SINCE, *AFTER, *UNTIL, *BEFORE)),
        *DAYS, *STEPS, *MONTH_NAMES, *NUMBERS, *ORDINALS, *PARTS, *QUARTERS, *SEASONS, *UNITS, *WEEKDAYS,
        "between", "the", "a", "an", "few", "several", "couple", "half", "early", "late", "mid", "middle", "beginning",
        "start", "end", "earlier", "later", "these", "tonight", "recently", "lately",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoundTime:
    """A time in a question: what the question is without it, when, and the words that said so."""

    rest: str
    windows: tuple[Window, ...]
    expression: str


def may_name_a_time(question: str) -> bool:
    """Whether a question has a word or a digit without which no time is written; most questions have none."""
    text = question[:READ]
    return not ANCHORS.isdisjoint(map(str.lower, _WORD.findall(text))) or _DIGIT.search(text) is not None


def find_time(question: str, calendar: Calendar) -> FoundTime | None:
    """Find the first time in a question; one that cannot be meant, such as 30 February, is left where it is."""
    if not may_name_a_time(question):
        return None
    words = tokens(question[:READ])
    if len(question) > READ:
        words = words[:-1]  # the last one may be half a word
    return first_at(question, words, openings(words), calendar)


def openings(words: Sequence[Token]) -> list[int]:
    """The places where a time may begin: an opening word, and from there only words of the grammar up to an anchor."""
    places = []
    reaches_anchor = False
    for place in range(len(words) - 1, -1, -1):
        word = words[place]
        if word.kind == "number":
            reaches_anchor |= len(word.text) == 4  # a year; any other number needs a unit or a month beside it
        elif word.text in UNITS:
            reaches_anchor |= _is_counted(words, place)
        elif word.kind in ("iso", "duration", "ordinal") or word.text in ANCHORS:
            reaches_anchor = True
        else:
            reaches_anchor = reaches_anchor and word.text in CONNECTORS
        if reaches_anchor and may_open(words, place):
            places.append(place)
    return places[::-1]


def _is_counted(words: Sequence[Token], place: int) -> bool:
    """Whether a unit of time may belong to a time: "last year" may, "what year" may not."""
    before, after = words[:place][-1:], words[place + 1 : place + 2]
    if words[place].text.startswith("weekend") or (after and after[0].text in _AFTER_UNIT):
        return True
    if not before:
        return False
    if before[0].text == "the":
        return place > 1 and words[place - 2].text in _BEFORE_THE_UNIT
    return before[0].kind == "number" or before[0].text in _BEFORE_UNIT


def may_open(words: Sequence[Token], place: int) -> bool:
    """Whether a time in a sentence may begin with this word, whatever follows it."""
    word = words[place]
    if word.text == "this" and place and words[place - 1].text in _FORMS_OF_BE:
        return False  # "is this Monday?" asks what this is
    return word.text in _OPENERS if word.kind == "word" else word.kind != "sign"


def first_at(question: str, words: Sequence[Token], places: Iterable[int], calendar: Calendar) -> FoundTime | None:
    """Parse at the given places of a question, in order, and answer the first time that its sentence means as one."""
    try:
        for place in places:
            reach = words[place : place + LONGEST]
            cursor = Cursor(reach, calendar=calendar)
            found = phrase(cursor)
            if found is not None and found.plain:
                start, stop = reach[0].start, cursor.last().stop
                rest = _without(question[:start].rstrip(), question[stop:].lstrip())
                rest = rest if any(letter.isalnum() for letter in rest) else question
                return FoundTime(rest=rest, windows=found.windows, expression=question[start:stop])
    except (ValueError, OverflowError):
        return None
    return None


def _without(before: str, after: str) -> str:
    """Join what stood around an expression, with the space and the comma that are still needed."""
    if not before:
        return after.lstrip(",;: ")
    if after[:1] in _ENDS:
        return before.rstrip(",;: ") + after
    return f"{before} {after}"
