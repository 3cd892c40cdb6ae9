"""Finding a time in the middle of a question, without taking a verb or a name for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...types import Window
from .calendar import Calendar
from .counted import STEPS
from .cursor import Cursor
from .phrases import AFTER, BEFORE, PREPOSITIONS, SINCE, UNTIL, phrase
from .relative import DAYS
from .words import MONTH_NAMES, NUMBERS, ORDINALS, PARTS, QUARTERS, SEASONS, UNITS, WEEKDAYS, Token, tokens

# No timeframe has more words, and no question more letters: what is longer is a document that happens to name times.
LONGEST = 16
READ = 5_000
_ENDS = {"", *"?!.,;:)"}
_BEINGS = frozenset({"is", "was", "isn", "wasn", "be"})
_OPENERS = frozenset(
    {
        *(option.split()[0] for option in (*PREPOSITIONS, *SINCE, *AFTER, *UNTIL, *BEFORE)),
        *DAYS, *STEPS, *MONTH_NAMES, *NUMBERS, *ORDINALS, *PARTS, *QUARTERS, *SEASONS, *UNITS, *WEEKDAYS,
        "between", "the", "a", "an", "few", "several", "couple", "half", "early", "late", "mid", "middle", "beginning",
        "start", "end", "earlier", "later", "these", "tonight", "recently", "lately",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A time in a question: what the question is without it, when, and the words that said so."""

    rest: str
    windows: tuple[Window, ...]
    expression: str


def found_in(question: str, calendar: Calendar) -> Found | None:
    """Find the first time in a question; one that cannot be meant, such as 30 February, is left where it is."""
    words = tokens(question[:READ])
    if len(question) > READ:
        words = words[:-1]  # the last one may be half a word
    try:
        for place in range(len(words)):
            if _may_open(words, place) and (found := _at(question, words, place, calendar)):
                return found
    except (ValueError, OverflowError):
        return None
    return None


def _may_open(words: Sequence[Token], place: int) -> bool:
    word = words[place]
    if word.text == "this" and place and words[place - 1].text in _BEINGS:
        return False  # "is this Monday?" asks what this is
    return word.text in _OPENERS if word.kind == "word" else word.kind != "sign"


def _at(question: str, words: Sequence[Token], place: int, calendar: Calendar) -> Found | None:
    reach = words[place : place + LONGEST]
    cursor = Cursor(reach, calendar=calendar)
    found = phrase(cursor)
    if found is None or not found.plain:
        return None
    start, stop = reach[0].start, cursor.last().stop
    rest = _without(question[:start].rstrip(), question[stop:].lstrip())
    return Found(
        rest=rest if _says_something(rest) else question, windows=found.windows, expression=question[start:stop]
    )


def _without(before: str, after: str) -> str:
    """Join what stood around an expression, with the space and the comma that are still needed."""
    if not before:
        return after.lstrip(",;: ")
    if after[:1] in _ENDS:
        return before.rstrip(",;: ") + after
    return f"{before} {after}"


def _says_something(text: str) -> bool:
    return any(letter.isalnum() for letter in text)
