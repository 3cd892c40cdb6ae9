"""The building blocks of the time grammar: a cursor in the words, a choice between rules, and a time that was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeVar

from ...types import Window
from .calendar import Calendar, Cycle, Days, Unit
from .words import FEW, NUMBERS, ORDINALS, UNITS, Kind, Token

T = TypeVar("T")
NEVER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTime:
    """A time that was read.

    `instant` is the exact moment, if the window is only the time around it. `cycle` is set if the words do not say which
    repetition is meant ("Monday"), so that a range can choose another one. `after` are the words of which one must come
    before it to make it a time inside a sentence ("may" is a time in "in May"); None if it needs no such word.
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
        """Whether it is clearly a time when it follows a word inside a sentence."""
        return self.after is None or word in self.after


class Cursor:
    """A place in the words of a timeframe. Methods that take words move it forward, or do nothing if the words do not fit."""

    __slots__ = ("_tokens", "calendar", "place", "times")

    def __init__(self, tokens: Sequence[Token], *, calendar: Calendar, place: int = 0) -> None:
        self._tokens = tokens
        self.calendar = calendar
        self.place = place
        # Single times that were read already, by where they begin: what was found, and where it ends.
        self.times: dict[int, tuple[ParsedTime | None, int]] = {}

    @property
    def at_end(self) -> bool:
        """Whether all words were taken."""
        return self.place >= len(self._tokens)

    def next(self, kind: Kind) -> Token | None:
        """Look at the next word, if it is of a kind."""
        token = None if self.at_end else self._tokens[self.place]
        return token if token is not None and token.kind == kind else None

    def last(self) -> Token:
        """The word that was taken last."""
        return self._tokens[self.place - 1]

    def take(self, *phrases: str) -> str:
        """Take and return the first of these phrases that comes next; "" if none does."""
        if self.at_end:
            return ""
        first = self._tokens[self.place].text
        for phrase in phrases:
            if not phrase.startswith(first):
                continue
            words = phrase.split()
            next_tokens = self._tokens[self.place : self.place + len(words)]
            if [token.text for token in next_tokens] == words:
                self.place += len(words)
                return phrase
        return ""

    def sees(self, word: str) -> bool:
        """Whether a word comes next, without taking it."""
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


def first_fitting(cursor: Cursor, *rules: Callable[[Cursor], T | None]) -> T | None:
    """Try rules in order, each from the same place, and return the result of the first that fits."""
    place = cursor.place
    for rule in rules:
        cursor.place = place
        found = rule(cursor)
        if found is not None:
            return found
    cursor.place = place
    return None


@dataclass(frozen=True, slots=True)
class Amount:
    """How many, and whether the number is approximate."""

    count: int
    about: bool = False


def amount(cursor: Cursor) -> Amount | None:
    """Read how many: 5, five, a, a couple of, a few."""
    if cursor.take("a few", "few", "several"):
        return Amount(FEW, about=True)
    if cursor.take("a couple of", "a couple", "couple of", "couple"):
        return Amount(2)
    if cursor.take("a", "an"):
        return Amount(1)
    count = cursor.lookup(NUMBERS)
    count = cursor.number() if count is None else count
    return None if count is None else Amount(count)


def whole_days(
    cursor: Cursor, days: Days, *, cycle: Cycle | None = None, after: frozenset[str] | None = None
) -> ParsedTime:
    """A time of whole days."""
    return ParsedTime(window=cursor.calendar.window(days), cycle=cycle, after=after)


def first_day(cursor: Cursor, time: ParsedTime) -> date:
    """The day on which a time begins."""
    return cursor.calendar.day(time.start or cursor.calendar.now)
