"""Whole timeframes: one time or several, ranges, and everything since, before, after or until a
time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..base.errors import InvalidInput
from ..base.types import Window
from .calendar import CLOCK, INSTANT, ONE_DAY, Yearly, earliest_from, latest_begun
from .counted import rolling_window
from .cursor import Cursor, ParsedTime, first_day, first_fitting, whole_days
from .dates import day_of_month, impossible, month_name, year_number
from .hours import hours
from .iso import duration
from .lengths import length
from .relative import all_of_a_unit, now, relative
from .words import MONTH_NAMES

PREPOSITIONS = ("in", "on", "at", "over", "during", "within", "from", "for", "of", "throughout")
# What may stand before a preposition, or in its place, and changes nothing.
FILLERS = (  # longer ones first
    "sometime", "some time", "at some point", "back", "all of", "all through", "all day", "all",
    "the whole of", "whole of", "the whole", "the entirety of", "the entire", "most of",
    "first thing", "one day",
)  # fmt: skip
SINCE = (
    "since",
    "ever since",
    "starting",
    "starting on",
    "starting from",
    "starting in",
    "beginning on",
    "beginning in",
)
AFTER = ("after", "later than")
UNTIL = (
    "until",
    "till",
    "up until",
    "up to and including",
    "up to",
    "by",
    "no later than",
    "as of",
)
MORE = ("more than", "over", "longer than", "upwards of", "older than")
LEAST = ("at least", "no less than", "not less than", "a minimum of")
LESS = ("less than", "under", "fewer than", "newer than", "younger than", "more recent than")
MOST = ("at most", "no more than", "not more than", "a maximum of")
AGES = ("older than", "newer than", "younger than", "more recent than")  # these need no "ago"
COMPARISONS = (*MORE, *LEAST, *LESS, *MOST)
BEFORE = ("before", "prior to", "earlier than")
TO = ("to", "until", "till", "through", "thru", "up to", "-", "\u2013", "\u2014", "/", "..")


@dataclass(frozen=True, slots=True)
class Phrase:
    """The windows of a timeframe, and whether its words are clearly a time inside a sentence."""

    windows: tuple[Window, ...]
    plain: bool = True


def phrase(cursor: Cursor) -> Phrase | None:
    """Read a timeframe from the cursor on, as many words as belong to it."""
    return first_fitting(
        cursor,
        _interval,
        _days_of_one_month,
        _by_the_clock,
        _between,
        _from_to,
        _long_ago,
        _bounded,
        _listed,
        _bare_length,
    )


def window(start: datetime | None, stop: datetime | None) -> Window:
    """A window, which must begin before it ends."""
    if start is not None and stop is not None and start >= stop:
        raise InvalidInput("it would be over before it begins")
    return Window(start=start, stop=stop)


def _interval(cursor: Cursor) -> Phrase | None:
    """Read ISO intervals with a duration or an open end; P7D alone ends now."""
    return first_fitting(cursor, _duration_first, _open_first, _date_first)


def _duration_first(cursor: Cursor) -> Phrase | None:
    length = duration(cursor)
    if not length:
        return None
    if not cursor.take("/", "..", "-"):
        rolling = rolling_window(cursor.calendar, length)
        return Phrase((window(rolling.start, rolling.stop),))
    time = _endpoint(cursor)
    if time is None or time.stop is None:
        return None
    return Phrase((window(cursor.calendar.shift(time.stop, -length), time.stop),))


def _open_first(cursor: Cursor) -> Phrase | None:
    time = _endpoint(cursor) if cursor.take(".. /", "/", "..") else None
    return None if time is None else Phrase((window(None, time.stop),))


def _date_first(cursor: Cursor) -> Phrase | None:
    time = relative(cursor) if cursor.next("iso") else None
    if time is None or time.start is None or not cursor.take("/", ".."):
        return None
    length = duration(cursor)
    if length is not None:
        return Phrase((window(time.start, cursor.calendar.shift(time.start, length)),))
    cursor.take("..")
    return Phrase((window(time.start, None),)) if cursor.at_end else None


def _days_of_one_month(cursor: Cursor) -> Phrase | None:
    """Read two days with one month: between 1 and 15 January, from the 1st to the 15th of May 2023,
    Jan 1-15.
    """
    separators = (*TO, "and") if cursor.take("between", *PREPOSITIONS) == "between" else TO
    return first_fitting(
        cursor,
        lambda cursor: _days_then_month(cursor, separators),
        lambda cursor: _month_then_days(cursor, separators),
    )


def _days_then_month(cursor: Cursor, separators: tuple[str, ...]) -> Phrase | None:
    first = day_of_month(cursor)
    last = day_of_month(cursor) if first is not None and cursor.take(*separators) else None
    if first is None or last is None:
        return None
    cursor.take("of")
    month = cursor.lookup(MONTH_NAMES)
    return None if month is None else _within_month(cursor, month, first, last)


def _month_then_days(cursor: Cursor, separators: tuple[str, ...]) -> Phrase | None:
    month = cursor.lookup(MONTH_NAMES)
    first = None if month is None else day_of_month(cursor)
    last = day_of_month(cursor) if first is not None and cursor.take(*separators) else None
    if month is None or first is None or last is None or cursor.lookup(MONTH_NAMES) is not None:
        return None
    return _within_month(cursor, month, first, last)


def _within_month(cursor: Cursor, month: int, first: int, last: int) -> Phrase:
    year = year_number(cursor)
    begins, ends = Yearly(month, first), Yearly(month, last)
    left = latest_begun(begins, cursor.calendar.today) if year is None else begins.of(year)
    right = None if left is None else ends.of(left.first.year)
    if left is None or right is None:
        raise impossible(f"{first} to {last} {month_name(month)} {year or ''}".strip())
    return Phrase((window(cursor.calendar.at(left.first), cursor.calendar.at(right.stop)),))


def _by_the_clock(cursor: Cursor) -> Phrase | None:
    result = hours(cursor)
    # "3pm yesterday" may be an end of a range, which is read as one.
    if result is None or cursor.take(*TO):
        return None
    return Phrase((result[0].window,), plain=result[1])


def _between(cursor: Cursor) -> Phrase | None:
    left = _endpoint(cursor) if cursor.take("between") else None
    right = _endpoint(cursor) if left is not None and cursor.take("and", *TO) else None
    return None if left is None or right is None else Phrase((_joined(cursor, left, right),))


def _from_to(cursor: Cursor) -> Phrase | None:
    word = _preposition(cursor)
    left = _endpoint(cursor)
    right = _endpoint(cursor) if left is not None and cursor.take(*TO) else None
    if left is None or right is None:
        return None
    return Phrase(
        (_joined(cursor, left, right),),
        plain=word == "from" or (left.plain(word) and right.plain(word)),
    )


def _preposition(cursor: Cursor) -> str:
    """Take a preposition, with "sometime" or the like before it; "all of March" is like "throughout
    March".
    """
    if cursor.take("on or"):  # on or around a day
        return "on"
    place = cursor.place
    filler = cursor.take(*FILLERS)
    if cursor.sees("ago") or cursor.sees("back"):  # some time ago
        cursor.place, filler = place, ""
    return cursor.take(*PREPOSITIONS) or ("throughout" if filler else "")


def _long_ago(cursor: Cursor) -> Phrase | None:
    """Read more than a month ago, at least two weeks ago, less than an hour ago, older than 30
    days.

    "More" and "less" are exact; "at least" and "at most" include the whole day so long ago.
    """
    word = cursor.take(*COMPARISONS)
    span = length(cursor) if word else None
    age = word in AGES
    if span is None or not (cursor.take("ago", "back", "old") or age):
        return None
    calendar = cursor.calendar
    moment = calendar.shift(calendar.now, -span.duration)
    if span.unit not in CLOCK and word in (*LEAST, *MOST):
        day = calendar.day(moment)
        moment = calendar.at(day + ONE_DAY if word in LEAST else day)
    if word in MORE or word in LEAST:
        return Phrase((Window(start=None, stop=moment),))
    return Phrase((Window(start=moment, stop=calendar.now + INSTANT),))


def _bare_length(cursor: Cursor) -> Phrase | None:
    """Read 7 days, 30d or within a week as the time until now; in a sentence that is no time."""
    cursor.take("within", "in under")
    span = length(cursor)
    if (
        span is None
        or cursor.in_sentence
        or not cursor.at_end
        or not span.most
        or span.unit == "weekend"
    ):
        return None
    return Phrase((rolling_window(cursor.calendar, span.duration),), plain=False)


def _endpoint(cursor: Cursor) -> ParsedTime | None:
    return first_fitting(cursor, now, relative)


def _joined(cursor: Cursor, left: ParsedTime, right: ParsedTime) -> Window:
    """The window from one time through another. Of a time that repeats, the repetition next to the
    other time is taken.

    If both repeat, the left one is the most recent that has begun: "Monday to Friday" on a
    Wednesday is this week's.
    """
    if right.cycle is not None:
        first, last = left.cycle, right.cycle
        if (
            isinstance(first, Yearly)
            and isinstance(last, Yearly)
            and first.month == last.month
            and first.day
            and last.day
            and last.day < first.day
        ):
            name = month_name(first.month)
            raise InvalidInput(f"{last.day} {name} comes before {first.day} {name}")
        days = earliest_from(right.cycle, first_day(cursor, left))
        right = right if days is None else whole_days(cursor, days)
    elif left.cycle is not None:
        days = latest_begun(left.cycle, first_day(cursor, right))
        left = left if days is None else whole_days(cursor, days)
    return window(left.start, right.stop)


def _bounded(cursor: Cursor) -> Phrase | None:
    """Read since or after a time, before or until a time, or one of the first with one
    of the last.
    """
    return first_fitting(cursor, _from_a_time, _up_to_a_time)


def _from_a_time(cursor: Cursor) -> Phrase | None:
    floor = first_fitting(cursor, _since, _after)
    if floor is None:
        return None
    place = cursor.place
    cursor.take("and", "but", ", but")
    ceiling = _up_to_a_time(cursor)
    if ceiling is None:
        cursor.place = place
        return Phrase((window(floor.windows[0].start, floor.windows[0].stop),), plain=floor.plain)
    return Phrase(
        (window(floor.windows[0].start, ceiling.windows[0].stop),),
        plain=floor.plain and ceiling.plain,
    )


def _since(cursor: Cursor) -> Phrase | None:
    word = cursor.take(*SINCE, "from")
    time = _endpoint(cursor)
    if time is None or (
        word in ("from", "") and not cursor.take("onwards", "onward", *(["on"] if word else []))
    ):
        return None
    span = Window(start=time.start, stop=cursor.calendar.now + INSTANT)
    return Phrase((span,), plain=word == "from" or time.plain("since"))


def _after(cursor: Cursor) -> Phrase | None:
    time = _endpoint(cursor) if cursor.take(*AFTER) else None
    return (
        None
        if time is None
        else Phrase((Window(start=time.stop, stop=None),), plain=time.plain("after"))
    )


def _up_to_a_time(cursor: Cursor) -> Phrase | None:
    word = cursor.take(*UNTIL, *BEFORE)
    time = _endpoint(cursor) if word else None
    if time is None:
        return None
    if word in BEFORE:
        return Phrase((Window(start=None, stop=time.start),), plain=time.plain("before"))
    return Phrase(
        (Window(start=None, stop=time.stop),), plain=time.plain("by" if word == "by" else "until")
    )


def _listed(cursor: Cursor) -> Phrase | None:
    """Read one time, or several joined by "or" or "and"."""
    word = _preposition(cursor)
    first = (
        first_fitting(cursor, relative, all_of_a_unit) if word == "throughout" else relative(cursor)
    )
    if first is None:
        return None
    # "What did we agree on last week?" has "agree on".
    days = cursor.calendar.days(first.window) if word == "on" else None
    windows, plain = (
        [first.window],
        first.plain(word) and (days is None or days.stop - days.first <= 2 * ONE_DAY),
    )
    while True:
        place = cursor.place
        if not cursor.take("or", "and"):
            break
        preposition = cursor.take(*PREPOSITIONS) or word
        time = relative(cursor)
        if time is None:
            cursor.place = place
            break
        windows.append(time.window)
        plain = plain and time.plain(preposition)
    return Phrase(tuple(windows), plain=plain)
