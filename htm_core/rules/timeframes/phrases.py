"""Whole timeframes: one time or several, ranges, and what lies since, before, after or until a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...errors import InvalidInput
from ...types import Window
from .calendar import INSTANT, Yearly, begun, starting
from .counted import rolled
from .cursor import Cursor, Time, either, first_day, spanning
from .dates import day_of_month, impossible, month_name, year_number
from .iso import duration
from .relative import now, relative
from .words import MONTH_NAMES

PREPOSITIONS = ("in", "on", "at", "over", "during", "within", "from", "for", "of", "throughout")
SINCE = ("since", "ever since")
AFTER = ("after", "later than")
UNTIL = ("until", "till", "up until", "up to", "by")
BEFORE = ("before", "prior to", "earlier than")
TO = ("to", "until", "till", "through", "thru", "up to", "-", "\u2013", "\u2014", "/", "..")


@dataclass(frozen=True, slots=True)
class Phrase:
    """The windows of a timeframe, and whether its words read as a time in the middle of a sentence."""

    windows: tuple[Window, ...]
    plain: bool = True


def phrase(at: Cursor) -> Phrase | None:
    """Read as much of the words as makes a timeframe."""
    return either(at, _interval, _days_of_one_month, _between, _from_to, _bounded, _listed)


def window(start: datetime | None, stop: datetime | None) -> Window:
    """Make a window, which has to begin before it ends."""
    if start is not None and stop is not None and start >= stop:
        raise InvalidInput("it would be over before it begins")
    return Window(start=start, stop=stop)


def _interval(at: Cursor) -> Phrase | None:
    """Read ISO intervals with a duration or an open end; P7D alone lasts until now."""
    return either(at, _duration_first, _open_first, _date_first)


def _duration_first(at: Cursor) -> Phrase | None:
    length = duration(at)
    if not length:
        return None
    if not at.take("/", "..", "-"):
        return Phrase((_checked(rolled(at.calendar, length)),))
    time = _endpoint(at)
    if time is None or time.stop is None:
        return None
    return Phrase((window(at.calendar.shift(time.stop, -length), time.stop),))


def _open_first(at: Cursor) -> Phrase | None:
    time = _endpoint(at) if at.take(".. /", "/", "..") else None
    return None if time is None else Phrase((window(None, time.stop),))


def _date_first(at: Cursor) -> Phrase | None:
    time = relative(at) if at.next("iso") else None
    if time is None or time.start is None or not at.take("/", ".."):
        return None
    length = duration(at)
    if length is not None:
        return Phrase((window(time.start, at.calendar.shift(time.start, length)),))
    at.take("..")
    return Phrase((window(time.start, None),)) if at.at_end else None


def _checked(found: Window) -> Window:
    return window(found.start, found.stop)


def _days_of_one_month(at: Cursor) -> Phrase | None:
    """Read between 1 and 15 January, from the 1st to the 15th of May 2023, Jan 1-15: one month for both days."""
    separators = (*TO, "and") if at.take("between", *PREPOSITIONS) == "between" else TO
    return either(at, lambda at: _days_then_month(at, separators), lambda at: _month_then_days(at, separators))


def _days_then_month(at: Cursor, separators: tuple[str, ...]) -> Phrase | None:
    first = day_of_month(at)
    last = day_of_month(at) if first is not None and at.take(*separators) else None
    if first is None or last is None:
        return None
    at.take("of")
    month = at.lookup(MONTH_NAMES)
    return None if month is None else _within_month(at, month, first, last)


def _month_then_days(at: Cursor, separators: tuple[str, ...]) -> Phrase | None:
    month = at.lookup(MONTH_NAMES)
    first = None if month is None else day_of_month(at)
    last = day_of_month(at) if first is not None and at.take(*separators) else None
    if month is None or first is None or last is None or at.lookup(MONTH_NAMES) is not None:
        return None
    return _within_month(at, month, first, last)


def _within_month(at: Cursor, month: int, first: int, last: int) -> Phrase:
    year = year_number(at)
    begins, ends = Yearly(month, first), Yearly(month, last)
    left = begun(begins, at.calendar.today) if year is None else begins.of(year)
    right = None if left is None else ends.of(left.first.year)
    if left is None or right is None:
        raise impossible(f"{first} to {last} {month_name(month)} {year or ''}".strip())
    return Phrase((window(at.calendar.at(left.first), at.calendar.at(right.stop)),))


def _between(at: Cursor) -> Phrase | None:
    left = _endpoint(at) if at.take("between") else None
    right = _endpoint(at) if left is not None and at.take("and", *TO) else None
    return None if left is None or right is None else Phrase((_joined(at, left, right),))


def _from_to(at: Cursor) -> Phrase | None:
    word = at.take(*PREPOSITIONS)
    left = _endpoint(at)
    right = _endpoint(at) if left is not None and at.take(*TO) else None
    if left is None or right is None:
        return None
    return Phrase((_joined(at, left, right),), plain=word == "from" or (left.plain(word) and right.plain(word)))


def _endpoint(at: Cursor) -> Time | None:
    return either(at, now, relative)


def _joined(at: Cursor, left: Time, right: Time) -> Window:
    """Span from one time through another; one that recurs is the one next to the other.

    Of two that recur, the first is the most recent that has begun: "Monday to Friday" on a Wednesday is this week's.
    """
    if right.cycle is not None:
        _refuse_backward(left, right)
        days = starting(right.cycle, first_day(at, left))
        right = right if days is None else spanning(at, days)
    elif left.cycle is not None:
        days = begun(left.cycle, first_day(at, right))
        left = left if days is None else spanning(at, days)
    return window(left.start, right.stop)


def _refuse_backward(left: Time, right: Time) -> None:
    first, last = left.cycle, right.cycle
    if not isinstance(first, Yearly) or not isinstance(last, Yearly) or first.month != last.month:
        return
    if first.day and last.day and last.day < first.day:
        raise InvalidInput(f"{last.day} {month_name(last.month)} comes before {first.day} {month_name(first.month)}")


def _bounded(at: Cursor) -> Phrase | None:
    """Read since, after, before, until, or one of the first with one of the last."""
    return either(at, _floored, _ceiled)


def _floored(at: Cursor) -> Phrase | None:
    floor = either(at, _since, _after)
    if floor is None:
        return None
    place = at.place
    at.take("and", "but", ", but")
    ceiling = _ceiled(at)
    if ceiling is None:
        at.place = place
        return Phrase((_checked(floor.windows[0]),), plain=floor.plain)
    return Phrase((window(floor.windows[0].start, ceiling.windows[0].stop),), plain=floor.plain and ceiling.plain)


def _since(at: Cursor) -> Phrase | None:
    word = at.take(*SINCE, "from")
    time = _endpoint(at) if word else None
    if time is None or (word == "from" and not at.take("onwards", "onward", "on")):
        return None
    found = Window(start=time.start, stop=at.calendar.now + INSTANT)
    return Phrase((found,), plain=word == "from" or time.plain("since"))


def _after(at: Cursor) -> Phrase | None:
    time = _endpoint(at) if at.take(*AFTER) else None
    return None if time is None else Phrase((Window(start=time.stop, stop=None),), plain=time.plain("after"))


def _ceiled(at: Cursor) -> Phrase | None:
    word = at.take(*UNTIL, *BEFORE)
    time = _endpoint(at) if word else None
    if time is None:
        return None
    if word in BEFORE:
        return Phrase((Window(start=None, stop=time.start),), plain=time.plain("before"))
    return Phrase((Window(start=None, stop=time.stop),), plain=time.plain("by" if word == "by" else "until"))


def _listed(at: Cursor) -> Phrase | None:
    """Read one time, or several with "or" or "and" between them."""
    word = at.take(*PREPOSITIONS)
    first = relative(at)
    if first is None:
        return None
    windows, plain = [first.window], first.plain(word)
    while (more := _another(at, word)) is not None:
        windows.append(more[0].window)
        plain = plain and more[0].plain(more[1])
    return Phrase(tuple(windows), plain=plain)


def _another(at: Cursor, word: str) -> tuple[Time, str] | None:
    place = at.place
    if at.take("or", "and"):
        word = at.take(*PREPOSITIONS) or word
        time = relative(at)
        if time is not None:
            return time, word
    at.place = place
    return None
