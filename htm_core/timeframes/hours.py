"""Parts of a day between times of the clock: since 9am, after 5pm yesterday, today from 9 to 11 am,
before noon.

Without a day they are of today, or of yesterday if they begin later today. "Before" and "after" a
time of a day stay within that day.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..base.types import Window
from .calendar import INSTANT, ONE_DAY
from .clock import AROUND, WHOLE_DAY, DayPart, Hour, around_hour, day_part, hour
from .cursor import Cursor, ParsedTime, first_fitting
from .relative import by_the_calendar


@dataclass(frozen=True, slots=True)
class _Span:
    """A statement about the clock: "between" two times; "since", "before" or "after" one; or "at"
    one, or "around" it.
    """

    kind: str
    first: Hour
    last: Hour | None = None


def hours(cursor: Cursor) -> tuple[ParsedTime, bool] | None:
    """Read a part of a day by the clock; also returns whether it names its day, or counts until
    now.
    """
    return first_fitting(cursor, _day_then_span, _span_then_day)


def _day_then_span(cursor: Cursor) -> tuple[ParsedTime, bool] | None:
    cursor.take("on", "from")
    day = day_part(cursor.calendar, by_the_calendar(cursor))
    if day is None:
        return None
    cursor.take(",")
    span = _span(cursor)
    # a moment after a day is a single time, which may be an end
    if span is None or span.kind in ("at", "around"):
        return None
    time = _resolved(cursor, span, day)
    return None if time is None else (time, True)


def _span_then_day(cursor: Cursor) -> tuple[ParsedTime, bool] | None:
    span = _span(cursor)
    if span is None:
        return None
    place = cursor.place
    cursor.take(",")
    cursor.take("on", "of", "in")
    day = day_part(cursor.calendar, by_the_calendar(cursor))
    if day is None:
        cursor.place = place
    if cursor.in_sentence and span.kind in ("at", "around"):
        # "What did Bob say at 5pm yesterday?" searches yesterday: few remember the hour
        return None
    if day is not None:
        time = _resolved(cursor, span, day)
        return None if time is None else (time, True)
    calendar = cursor.calendar
    time = _resolved(cursor, span, DayPart(calendar.today))
    if time is None or (time.start is not None and time.start >= calendar.now):
        time = _resolved(cursor, span, DayPart(calendar.today - ONE_DAY))
    return None if time is None else (time, span.kind == "since")


def _span(cursor: Cursor) -> _Span | None:
    return first_fitting(cursor, _between, _since, _bounded, _at)


def _between(cursor: Cursor) -> _Span | None:
    word = cursor.take("between", "from")
    first = hour(cursor)
    to = (
        cursor.take("and")
        if word == "between"
        else cursor.take("to", "until", "till", "-", "\u2013")
    )
    last = hour(cursor) if first is not None and (to or cursor.take("to", "-")) else None
    if first is None or last is None or not last.sure:
        return None
    if not first.sure:  # "2 to 4pm" is in the afternoon, "11 to 1pm" begins before noon
        first = first.within(last.minute - WHOLE_DAY // 2, last.minute) or first
    return _Span("between", first, last) if first.sure else None


def _since(cursor: Cursor) -> _Span | None:
    word = cursor.take("ever since", "since", "from")
    time = hour(cursor) if word else None
    if time is None or (word == "from" and not cursor.take("onwards", "onward", "on")):
        return None
    return _Span("since", time)


def _bounded(cursor: Cursor) -> _Span | None:
    word = cursor.take(
        "before", "until", "till", "up to", "by", "after", "later than", "earlier than", "prior to"
    )
    time = hour(cursor) if word else None
    if time is None:
        return None
    return _Span("after" if word in ("after", "later than") else "before", time)


def _at(cursor: Cursor) -> _Span | None:
    around = cursor.take(*AROUND)
    if not around:
        cursor.take("at")
    time = hour(cursor)
    return None if time is None else _Span("around" if around else "at", time)


def _resolved(cursor: Cursor, span: _Span, day: DayPart) -> ParsedTime | None:
    """A part of a certain day; None if it is empty, or if it remains unclear which half of the day
    is meant.
    """
    calendar = cursor.calendar
    first = span.first.within(day.first, day.stop)
    if first is None or not first.sure:
        return None
    if span.kind in ("at", "around"):
        return around_hour(cursor, day.date, first, around=span.kind == "around")
    if span.kind == "since":
        start = calendar.minute(day.date, first.minute)
        return (
            ParsedTime(window=Window(start=start, stop=calendar.now + INSTANT))
            if start <= calendar.now
            else None
        )
    last = day.stop if span.last is None else span.last.minute or WHOLE_DAY
    begin, end = (
        (day.first, first.minute or WHOLE_DAY) if span.kind == "before" else (first.minute, last)
    )
    return ParsedTime(window=calendar.minutes(day.date, begin, end)) if begin < end else None
