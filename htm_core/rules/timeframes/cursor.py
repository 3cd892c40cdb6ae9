"""What the grammar of timeframes is made of: a place in the words, a choice between rules, and a time that was read."""

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
class Time:
    """A time that was read.

    `instant` is the exact moment, where the window is only what surrounds it. `cycle` is what it is one of, when its
    words do not say which, so that a range may choose another. `after` holds the words of which one must stand before
    it for it to be a time in the middle of a sentence ("may" is one only in "in May"); None needs no such word.
    """

    window: Window
    instant: datetime | None = None
    cycle: Cycle | None = None
    after: frozenset[str] | None = None

    @property
    def start(self) -> datetime | None:
        """When it begins, to the moment where that is known."""
        return self.instant or self.window.start

    @property
    def stop(self) -> datetime | None:
        """When it is over, to the moment where that is known."""
        return self.instant or self.window.stop

    def plain(self, word: str) -> bool:
        """Whether it reads as a time within a sentence, after a word."""
        return self.after is None or word in self.after


class Cursor:
    """A place in the words of a timeframe; what takes words moves it on, and takes nothing when they do not fit."""

    __slots__ = ("_tokens", "calendar", "place")

    def __init__(self, tokens: Sequence[Token], *, calendar: Calendar, place: int = 0) -> None:
        self._tokens = tokens
        self.calendar = calendar
        self.place = place

    @property
    def at_end(self) -> bool:
        """Whether all words were taken."""
        return self.place >= len(self._tokens)

    def next(self, kind: Kind) -> Token | None:
        """Look at the next word, if it is of a kind."""
        token = None if self.at_end else self._tokens[self.place]
        return token if token is not None and token.kind == kind else None

    def last(self) -> Token:
        """Look back at the word taken last."""
        return self._tokens[self.place - 1]

    def take(self, *phrases: str) -> str:
        """Take the first of these phrases that comes next, and answer it; "" if none does."""
        if self.at_end:
            return ""
        first = self._tokens[self.place].text
        for phrase in phrases:
            if not phrase.startswith(first):
                continue
            words = phrase.split()
            coming = self._tokens[self.place : self.place + len(words)]
            if [token.text for token in coming] == words:
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
        """Take the next word if a table has it, and answer what the table says."""
        token = self.next("word")
        if token is None or token.text not in table:
            return None
        self.place += 1
        return table[token.text]

    def number(self, *, least: int = 0, most: int = 999_999_999, width: int = 9) -> int | None:
        """Take a number in digits that lies within bounds and has no more digits than `width`."""
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


def either(at: Cursor, *rules: Callable[[Cursor], T | None]) -> T | None:
    """Try rules in order, each from the same place; the first that fits counts."""
    place = at.place
    for rule in rules:
        at.place = place
        found = rule(at)
        if found is not None:
            return found
    at.place = place
    return None


@dataclass(frozen=True, slots=True)
class Amount:
    """How many, and whether only about as many."""

    count: int
    about: bool = False


def amount(at: Cursor) -> Amount | None:
    """Read how many: 5, five, a, a couple of, a few."""
    if at.take("a few", "few", "several"):
        return Amount(FEW, about=True)
    if at.take("a couple of", "a couple", "couple of", "couple"):
        return Amount(2)
    if at.take("a", "an"):
        return Amount(1)
    count = at.lookup(NUMBERS)
    count = at.number() if count is None else count
    return None if count is None else Amount(count)


def spanning(at: Cursor, days: Days, *, cycle: Cycle | None = None, after: frozenset[str] | None = None) -> Time:
    """Make a time of whole days."""
    return Time(window=at.calendar.window(days), cycle=cycle, after=after)


def first_day(at: Cursor, time: Time) -> date:
    """Name the day a time begins on."""
    return at.calendar.day(time.start or at.calendar.now)
