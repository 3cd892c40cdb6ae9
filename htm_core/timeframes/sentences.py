"""Finding a time in the middle of a question, without taking a verb or a name for one.

The grammar costs hundreds of calls at each place where it is tried, and most questions name no
time. So two checks come
first: `may_name_a_time` looks for a word that every time needs, and `openings` keeps the places
    from which the grammar can
reach such a word. Neither changes what is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..base.types import Window
from .calendar import Calendar
from .counted import STEPS
from .cursor import Cursor
from .dates import FEASTS
from .lengths import ABOUT
from .numeric import SEPARATORS
from .phrases import AFTER, BEFORE, COMPARISONS, FILLERS, PREPOSITIONS, SINCE, TO, UNTIL, phrase
from .relative import DAYS
from .words import (
    DECADE_IN_DIGITS,
    DECADES,
    FORTNIGHTS,
    HALVES,
    MANY,
    MONTH_NAMES,
    NUMBERS,
    ORDINALS,
    PARTS,
    PARTS_IN_PLURAL,
    QUARTERS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    WEEKDAYS_IN_PLURAL,
    Token,
    tokens,
)

# No timeframe has more words, and no question more letters: what is longer is a document that
# happens to name times.
LONGEST = 16
READ = 5_000
PLACES = 100  # at which a time is looked for; the grammar takes milliseconds at each
_ENDS = {"", *"?!.,;:)"}
_FORMS_OF_BE = frozenset({"is", "was", "isn", "wasn", "be"})
# Verbs whose "about" belongs to them, and not to a time after it.
TALK = frozenset(
    {
        "talk", "talked", "talking", "speak", "spoke", "speaking", "chat", "chatted", "hear",
        "heard", "think", "thought", "ask", "asked", "learn", "learned", "worry", "worried",
        "complain", "complained", "argue", "argued", "dream", "dreamt", "read", "write", "wrote",
        "know", "knew",
    }
)  # fmt: skip
_HOW = frozenset({"how", "many"})
_WORD = re.compile(r"\w+")
ANY_DIGIT = re.compile("[0-9]")
# Digits without a word of a unit or a month beside them are a year or a date, "5:30", "3rd", "80s",
# "24h", "P1Y" or "5 a.m."
DIGITS_OF_A_TIME = re.compile(
    r"[0-9]{4}|[0-9]\s*:|[^\W0-9][0-9]|[0-9][^\W0-9]|[ap]\.m\b", re.IGNORECASE
)

# Every time has a word of these, or digits.
ANCHORS = frozenset(
    {
        *DAYS, *MONTH_NAMES, *PARTS, *QUARTERS, *HALVES, *SEASONS, *UNITS, *WEEKDAYS,
        *WEEKDAYS_IN_PLURAL, *PARTS_IN_PLURAL, *DECADES, *FORTNIGHTS, "tonight", "recently",
        "lately", "late", "recent", "now", "nowadays", "present", "moment", "moments", "ago",
        "back", "christmas", "xmas", "boxing", "valentine", "valentines", "easter", "halloween",
        "thanksgiving", "am", "pm", "noon", "midday", "midnight", "ytd", "mtd", "qtd", "weekdays",
        "workdays",
    }
)  # fmt: skip
# Every other word or sign that the grammar takes, besides numbers.
CONNECTORS = frozenset(
    {
        *" ".join((*PREPOSITIONS, *FILLERS, *SINCE, *AFTER, *UNTIL, *BEFORE, *TO, *COMPARISONS, *ABOUT)).split(),
        *STEPS, *NUMBERS, *ORDINALS, *MANY, "a", "an", "few", "several", "couple", "half", "old",
        "quarters", "two", "5", "the", "this", "these", "same", "other", "so", "far", "to", "date",
        "early", "mid", "middle", "beginning", "starting", "commencing", "just", "leading",
        "running", "up", "start", "end", "first", "second", "latter", "1st", "2nd", "final",
        "earlier", "later", "before", "after", "prior", "than", "right", "gone", "not", "too",
        "long", "while", "time", "some", "ages", "between", "and", "or", "but", "under", "onwards",
        "onward", "of", "in", "on", "at", "working", "calendar", "iso", "wk", "cw", "new", "eve",
        "years", "o", "clock", "oclock", "past", ",", "-", "\u2013", "/", "..", ".", ":", "'",
        "\u2019", "~",
    }
)  # fmt: skip
# What stands before or after a unit that belongs to a time: "5 days", "last week", "second
# quarter", "day before", and, before "the" and a unit, "early in the week".
_BEFORE_UNIT = frozenset(
    {
        *NUMBERS, *ORDINALS, *STEPS, *MANY, "a", "an", "few", "several", "couple", "of", "all",
        "whole", "entire", "through", "half", "quarter", "other", "recent", "final", "new", "long",
        "some", "same", ".", "'", "to",
    }
)  # fmt: skip
_AFTER_UNIT = frozenset(
    {
        "of", "before", "after", "prior", "leading", "running", "ago", "to", "beginning",
        "starting", "commencing", "just", "and",
    }
)  # fmt: skip
_BEFORE_THE_UNIT = frozenset({"early", "late", "mid", "-", "in", "of"})
# The words that a time in a sentence may begin with.
_OPENERS = frozenset(
    {
        *(option.split()[0] for option in (*PREPOSITIONS, *FILLERS, *SINCE, *AFTER, *UNTIL, *BEFORE, *COMPARISONS, *ABOUT)),
        *MANY, *HALVES, *WEEKDAYS_IN_PLURAL, *FORTNIGHTS, *DECADES,
        *(name.split()[0] for name in FEASTS), *DAYS, *STEPS, *MONTH_NAMES, *NUMBERS, *ORDINALS,
        *PARTS, *QUARTERS, *SEASONS, *UNITS, *WEEKDAYS, "between", "the", "a", "an", "few",
        "several", "couple", "half", "early", "late", "mid", "middle", "beginning", "start", "end",
        "earlier", "later", "these", "tonight", "recently", "lately", "recent", "just", "right",
        "moments", "not", "some", "long", "ages", "so", "nowadays", "ytd", "mtd", "qtd", "working",
        "weekdays", "workdays", "calendar", "iso", "week", "noon", "midday", "midnight", "final",
        "latter", "three",
    }
)  # fmt: skip

# Words of amounts that the grammar does not read, and signs that belong to the number after them.
_AMOUNTS = frozenset(
    {
        "thousand",
        "thousands",
        "million",
        "millions",
        "billion",
        "billions",
        "trillion",
        "point",
        "minus",
        "zero",
    }
)
_SIGNED = frozenset("-+\u2212\u2013$\u20ac\u00a3#^*\u066b\u066c")
_SHORT_WORDS = frozenset({"i", "a"})
_APOSTROPHES = frozenset({"'", "\u2019"})


@dataclass(frozen=True, slots=True)
class FoundTime:
    """A time in a question: what the question is without it, when, and the words that said so.

    It is made of the words from `first` up to but not including `end`, counted from 0.
    """

    rest: str
    windows: tuple[Window, ...]
    expression: str
    first: int
    end: int


def may_name_a_time(question: str, *, digits: re.Pattern[str] = DIGITS_OF_A_TIME) -> bool:
    """True if a question has a word or digits without which no time is written; most questions have
    none.
    """
    text = question[:READ]
    return (
        not ANCHORS.isdisjoint(map(str.lower, _WORD.findall(text)))
        or digits.search(text) is not None
    )


def places_of_times(question: str) -> tuple[Sequence[Token], Sequence[int]]:
    """The words of a question that are looked at, and the first places where a time may begin: none
    in most questions.
    """
    if not may_name_a_time(question):
        return (), ()
    words = read_words(question)
    return words, openings(words)


def read_words(question: str) -> list[Token]:
    """The words of a question that are looked at."""
    words = tokens(question[:READ])
    return words[:-1] if len(question) > READ else words  # the last one may be half a word


def openings(words: Sequence[Token]) -> list[int]:
    """The first places where a time may begin: an opening word, and from there only words of the
    grammar up to an anchor.
    """
    places = []
    reaches_anchor = False
    for place in range(len(words) - 1, -1, -1):
        word = words[place]
        if word.kind == "number":
            # A year or a time of the clock; any other number needs a unit or a month beside it.
            reaches_anchor |= len(word.text) == 4 or [
                next.text for next in words[place + 1 : place + 2]
            ] == [":"]
        elif word.text in UNITS:
            reaches_anchor |= _is_counted(words, place)
        elif (
            word.kind in ("iso", "duration", "ordinal")
            or word.text in ANCHORS
            or DECADE_IN_DIGITS.fullmatch(word.text)
        ):
            reaches_anchor = True
        else:
            reaches_anchor = reaches_anchor and word.text in CONNECTORS
        if reaches_anchor and may_open(words, place):
            places.append(place)
    return places[: -PLACES - 1 : -1]


def _is_counted(words: Sequence[Token], place: int) -> bool:
    """True if a unit of time may belong to a time: "last year" may, "what year" may not."""
    before, after = words[:place][-1:], words[place + 1 : place + 2]
    if words[place].text.startswith("weekend") or (
        after and (after[0].text in _AFTER_UNIT or after[0].kind == "number")
    ):
        return True
    if not before:
        return False
    if before[0].text == "the":
        return place > 1 and words[place - 2].text in _BEFORE_THE_UNIT
    return before[0].kind in ("number", "ordinal") or before[0].text in _BEFORE_UNIT


def may_open(words: Sequence[Token], place: int) -> bool:
    """True if a time in a sentence may begin with this word, whatever follows it."""
    word = words[place]
    if word.text == "this" and place and words[place - 1].text in _FORMS_OF_BE:
        return False  # "is this Monday?" asks what this is
    if place and words[place - 1].text in _HOW:
        return False  # "how long ago did we meet?", "how many days ago was it?"
    if place and word.text == "about" and words[place - 1].text in TALK:
        return False  # "what did we talk about two weeks ago?"
    if place > 1 and word.kind == "number" and _continues_number(words[place - 2 : place + 1]):
        return False  # the second half of 03/04/2026
    return word.text in _OPENERS if word.kind == "word" else word.kind != "sign"


def _continues_number(words: Sequence[Token]) -> bool:
    before, sign, number = words
    joined = before.stop == sign.start and sign.stop == number.start
    return joined and before.kind == "number" and sign.text in SEPARATORS


def _continues_amount(words: Sequence[Token], place: int) -> bool:
    """True if a time begins in the middle of an amount: at "5 weeks ago" in "1,5 weeks ago", at
    "days ago" in "1e9 days ago".

    What it would say is not what was asked, so it is no time.
    """
    first, before = words[place], words[:place]
    is_unit = (
        first.text in UNITS or first.text in WEEKDAYS_IN_PLURAL or first.text in PARTS_IN_PLURAL
    )
    if not before or not (is_unit or first.kind == "number" or _is_amount(first)):
        return False
    if before[-1].kind == "sign":
        joined = before[-1].stop == first.start
        if joined and before[-1].text in _SIGNED:
            return True
        return (
            (joined or before[-1].text in (",", ".")) and len(before) > 1 and _is_amount(before[-2])
        )
    if before[-1].text == "and" and len(before) > 1:
        return _is_amount(before[-2])
    if not is_unit:
        return _is_amount(before[-1])
    text = before[-1].text
    is_letter = (
        len(text) == 1
        and text not in _SHORT_WORDS
        and (len(before) < 2 or before[-2].text not in _APOSTROPHES)
    )
    return _is_amount(before[-1]) or is_letter or any(letter.isnumeric() for letter in text)


def _is_amount(word: Token) -> bool:
    """True if a word is a number, a part of one, or begins with a digit of any script."""
    if word.kind == "number":
        return True
    return word.kind == "word" and (
        word.text in NUMBERS
        or word.text in MANY
        or word.text in _AMOUNTS
        or word.text[0].isnumeric()
    )


def times_at(
    question: str, words: Sequence[Token], places: Iterable[int], calendar: Calendar
) -> Iterator[FoundTime]:
    """Parse at the given places of a question, in order; yields the times that its sentence means
    as such.
    """
    end = 0
    try:
        for place in places:
            if place < end:
                continue
            reach = words[place : place + LONGEST]
            cursor = Cursor(reach, calendar=calendar, in_sentence=True)
            parsed = phrase(cursor)
            if parsed is not None and parsed.plain and not _continues_amount(words, place):
                end = place + cursor.place
                start, stop = reach[0].start, cursor.last().stop
                yield FoundTime(
                    without(question, start, stop), parsed.windows, question[start:stop], place, end
                )
    except (ValueError, OverflowError):
        return


def without(question: str, start: int, stop: int) -> str:
    """A question without a part of it, with the space and the comma that are still needed; all of
    it if nothing remains.
    """
    before, after = question[:start].rstrip(), question[stop:].lstrip()
    if not before:
        rest = after.lstrip(",;: ")
    elif after[:1] in _ENDS:
        rest = before.rstrip(",;: ") + after
    else:
        rest = f"{before} {after}"
    return rest if any(letter.isalnum() for letter in rest) else question
