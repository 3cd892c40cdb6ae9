"""Times of the clock: 3pm, 9:30, noon, half past nine in the evening."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from ..base.types import Window
from .calendar import Calendar, Duration
from .cursor import Cursor, ParsedTime, first_fitting
from .words import NUMBERS

HALF_A_DAY, WHOLE_DAY = 12 * 60, 24 * 60
# In minutes. People who name a moment by the clock mean it to half an hour; "around" doubles that.
MARGIN = 30
AROUND = ("at around", "at about", "around", "about")


@dataclass(frozen=True, slots=True)
class Hour:
    """A time of the clock in minutes after midnight; not `sure` if it may be twelve hours later, as
    in "at 9".
    """

    minute: int
    sure: bool = True

    def within(self, first: int, stop: int) -> Hour | None:
        """The same time of the clock in a part of the day, which says whether it is in the morning;
        None if it does not.
        """
        if self.sure:
            return self
        if stop - first > HALF_A_DAY:
            return None
        shifts = range(0, 2 * WHOLE_DAY, HALF_A_DAY)
        return next(
            (Hour(self.minute + shift) for shift in shifts if first <= self.minute + shift < stop),
            None,
        )


@dataclass(frozen=True, slots=True)
class DayPart:
    """A day, or the part of one from `first` to `stop`, in minutes after its midnight."""

    date: date
    first: int = 0
    stop: int = WHOLE_DAY


def day_part(calendar: Calendar, time: ParsedTime | None) -> DayPart | None:
    """The day or the part of one that a time is; None if it is longer, or no whole hours."""
    if time is None or time.start is None or time.stop is None or time.instant is not None:
        return None
    start, stop = time.start.astimezone(calendar.zone), time.stop.astimezone(calendar.zone)
    first = 60 * start.hour + start.minute
    last = (stop.date() - start.date()).days * WHOLE_DAY + 60 * stop.hour + stop.minute
    whole = not (
        first % 60
        or last % 60
        or start.second
        or stop.second
        or start.microsecond
        or stop.microsecond
    )
    return DayPart(start.date(), first, last) if whole and 0 < last - first <= WHOLE_DAY else None


def hour(cursor: Cursor) -> Hour | None:
    """Read a time of the clock."""
    if cursor.take("noon", "midday"):
        return Hour(HALF_A_DAY)
    if cursor.take("midnight"):
        return Hour(0)
    return first_fitting(cursor, _past_or_to, _in_digits)


def moment_of(cursor: Cursor, day: DayPart) -> ParsedTime | None:
    """Read the time of the clock that follows a day or a part of it: yesterday at 3pm, last night
    at 9.
    """
    cursor.take(",")
    around = bool(cursor.take(*AROUND))
    if not around:
        cursor.take("at")
    time = hour(cursor)
    time = None if time is None else time.within(day.first, day.stop)
    return None if time is None else around_hour(cursor, day.date, time, around=around)


def around_hour(cursor: Cursor, day: date, time: Hour, *, around: bool) -> ParsedTime:
    """The time around a moment of a day, which is exact as an end of a range."""
    moment = cursor.calendar.minute(day, time.minute)
    margin = Duration(seconds=60 * MARGIN * (2 if around else 1))
    window = Window(
        start=cursor.calendar.shift(moment, -margin), stop=cursor.calendar.shift(moment, margin)
    )
    return ParsedTime(window=window, instant=None if around else moment)


def _past_or_to(cursor: Cursor) -> Hour | None:
    word = cursor.take("half past", "quarter past", "a quarter past", "quarter to", "a quarter to")
    minutes = {"half past": 30, "quarter past": 15, "a quarter past": 15}.get(word, -15)
    number = _up_to(cursor, 12) if word else None
    return None if number is None else _with_half(cursor, 60 * number + minutes)


def _in_digits(cursor: Cursor) -> Hour | None:
    number = _up_to(cursor, 24)
    if number is None:
        return None
    written = cursor.last()
    if cursor.joined(":"):
        minutes = cursor.number(most=59, width=2)
        if minutes is None:
            return None
        if cursor.joined(":") and cursor.number(most=59, width=2) is None:
            return None
        if cursor.sees("am") or cursor.sees("pm"):
            return _with_half(cursor, 60 * number + minutes) if number <= 12 else None
        return Hour(60 * number + minutes) if 60 * number + minutes <= WHOLE_DAY else None
    if number > 12 or (written.kind == "number" and number == 0):
        return None
    return _with_half(cursor, 60 * number)


def _up_to(cursor: Cursor, most: int) -> int | None:
    number = cursor.lookup(NUMBERS)
    if number is None:
        return cursor.number(most=most, width=2)
    return number if number <= min(most, 12) else None


def _with_half(cursor: Cursor, minute: int) -> Hour:
    """With the half of the day that follows: 12am is midnight, 12pm noon."""
    cursor.take("o ' clock", "o \u2019 clock", "oclock")
    half = cursor.take("am", "pm", "in the morning", "in the afternoon", "in the evening")
    if not half:
        return Hour(minute % HALF_A_DAY, sure=False)
    return Hour(minute % HALF_A_DAY + (0 if half in ("am", "in the morning") else HALF_A_DAY))
