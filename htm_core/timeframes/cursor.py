"""The building blocks of the time grammar: a cursor in the words, a choice between rules, and a
time that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import TypeVar

from ..base.types import Window
from .calendar import Calendar, Cycle, Days, Unit
from .words import ORDINALS, UNITS, Kind, Token

T = TypeVar("T")
NEVER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTime:
    """A time that was read.

    `instant` is the exact moment, if the window is only the time around it. `cycle` is set if the
    words do not say which repetition is meant ("Monday"), so that a range can choose another one.
    `after` are the words of which one must come before it to make it a time inside a sentence
    ("may" is a time in "in May"); None if it needs no such word.
    """

    window: Window
    instant: datetime | None = None
    cycle: Cycle | None = None
    after: frozenset[str] | None = None

    @property
    def start(self) -> datetime | None:
        """When it begins, as exactly as known."""
        return self.instant or self.window.start

    @property
    def stop(self) -> datetime | None:
        """When it is over, as exactly as known."""
        return self.instant or self.window.stop

    def plain(self, word: str) -> bool:
        """True if it is clearly a time when it follows a word inside a sentence."""
        return self.after is None or word in self.after


class Cursor:
    """A place in the words of a timeframe. Methods that take words move it forward, or do nothing
    if the words do not fit.
    """

    __slots__ = ("_tokens", "calendar", "in_sentence", "place", "times")

    def __init__(
        self, tokens: Sequence[Token], *, calendar: Calendar, in_sentence: bool = False
    ) -> None:
        self._tokens = tokens
        self.calendar = calendar
        self.place = 0
        # In a sentence, what would be refused in a timeframe is left as it is, and a moment of a
        # day is its whole day.
        self.in_sentence = in_sentence
        # Single times that were read already, by where they begin: what was found, and where it
        # ends.
        self.times: dict[int, tuple[ParsedTime | None, int]] = {}

    @property
    def at_end(self) -> bool:
        """True if all words were taken."""
        return self.place >= len(self._tokens)

    def next(self, kind: Kind) -> Token | None:
        """Look at the next word, if it is of a kind."""
        if self.place >= len(self._tokens):
            return None
        token = self._tokens[self.place]
        return token if token.kind == kind else None

    def last(self) -> Token:
        """The word that was taken last."""
        return self._tokens[self.place - 1]

    def take(self, *phrases: str) -> str:
        """Take and return the first of these phrases that comes next; "" if none does."""
        if self.place >= len(self._tokens):
            return ""
        for phrase, words in _by_first_word(phrases).get(self._tokens[self.place].text, ()):
            end = self.place + len(words)
            if len(words) == 1 or [token.text for token in self._tokens[self.place : end]] == words:
                self.place = end
                return phrase
        return ""

    def has_digits(self, place: int) -> bool:
        """True if the words taken since a place have a number in digits, such as a year."""
        return any(token.kind != "word" for token in self._tokens[place : self.place])

    @property
    def after_possessive(self) -> bool:
        """True if the word taken last has a possessive 's: "last week's"."""
        return self.place > 0 and self.last().stop - self.last().start > len(self.last().raw)

    def joined(self, *signs: str) -> str:
        """Take one of these signs if no space is around it; "" if none comes next."""
        if not 0 < self.place < len(self._tokens) - 1:
            return ""
        before, sign, after = self._tokens[self.place - 1 : self.place + 2]
        if sign.text not in signs or before.stop != sign.start or sign.stop != after.start:
            return ""
        self.place += 1
        return sign.text

    def sees(self, word: str) -> bool:
        """True if a word comes next, without taking it."""
        token = self.next("word")
        return token is not None and token.text == word

    def token(self, kind: Kind) -> str | None:
        """Take the next word if it is of a kind."""
        token = self.next(kind)
        if token is None:
            return None
        self.place += 1
        return token.text

    def lookup(self, table: Mapping[str, T]) -> T | None:
        """Take the next word if it is in a table, and return its value there."""
        token = self.next("word")
        if token is None or token.text not in table:
            return None
        self.place += 1
        return table[token.text]

    def number(self, *, least: int = 0, most: int = 999_999_999, width: int = 9) -> int | None:
        """Take a number in digits that is within bounds and has at most `width` digits."""
        token = self.next("number")
        if token is None or len(token.text) > width or not least <= int(token.text) <= most:
            return None
        self.place += 1
        return int(token.text)

    def ordinal(self) -> int | None:
        """Take a number such as 7th or first."""
        token = self.next("ordinal")
        if token is None or len(token.text) > 2:
            return self.lookup(ORDINALS)
        self.place += 1
        return int(token.text)

    def unit(self) -> Unit | None:
        """Take a unit of time."""
        return self.lookup(UNITS)


@cache
def _by_first_word(phrases: tuple[str, ...]) -> Mapping[str, Sequence[tuple[str, list[str]]]]:
    """The phrases of a rule with their words, by the first word, so that most are told apart by one
    look.
    """
    by_word: dict[str, list[tuple[str, list[str]]]] = {}
    for phrase in phrases:
        words = phrase.split()
        by_word.setdefault(words[0], []).append((phrase, words))
    return by_word


def first_fitting(cursor: Cursor, *rules: Callable[[Cursor], T | None]) -> T | None:
    """Try rules in order, each from the same place, and return the result of the first
    that fits.
    """
    place = cursor.place
    for rule in rules:
        cursor.place = place
        result = rule(cursor)
        if result is not None:
            return result
    cursor.place = place
    return None


def whole_days(
    cursor: Cursor, days: Days, *, cycle: Cycle | None = None, after: frozenset[str] | None = None
) -> ParsedTime:
    """A time of whole days."""
    return ParsedTime(window=cursor.calendar.window(days), cycle=cycle, after=after)


def first_day(cursor: Cursor, time: ParsedTime) -> date:
    """The day on which a time begins."""
    return cursor.calendar.day(time.start or cursor.calendar.now)
