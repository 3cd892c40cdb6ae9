"""Times counted from now: 5 days ago, the last 30 days, last week, this Friday, next month."""

from __future__ import annotations

from datetime import timedelta

from ...types import Window
from .calendar import (
    CLOCK,
    INSTANT,
    ONE_DAY,
    Calendar,
    Cycle,
    Days,
    Duration,
    Unit,
    earliest_from,
    latest_begun,
    latest_ended,
)
from .cursor import NEVER, Amount, Cursor, ParsedTime, amount, first_fitting, whole_days
from .dates import cyclic, lower_case_verb
from .words import FEW, PARTS, WEEKDAYS

STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1}
# "Last minute changes" and "the last day of school" are not times; "in the last minute" and "in the last day" are.
SHORT_AFTER = frozenset({"in", "over", "within", "during", "for", "throughout"})


def counted(cursor: Cursor) -> ParsedTime | None:
    """Read a time that is counted from now."""
    return first_fitting(cursor, _ago, _rolling, last_this_next, _recently)


def rolling_window(calendar: Calendar, by: Duration) -> Window:
    """The window of a length of time until now, now included, or (if negative) from now on."""
    other_end = calendar.shift(calendar.now, -by)
    if other_end > calendar.now:
        return Window(start=calendar.now, stop=other_end)
    return Window(start=other_end, stop=calendar.now + INSTANT)


def _recently(cursor: Cursor) -> ParsedTime | None:
    word = cursor.take("recently", "lately", "recent")
    window = rolling_window(cursor.calendar, Duration(days=FEW))
    return ParsedTime(window=window, after=NEVER if word == "recent" else None) if word else None


def _ago(cursor: Cursor) -> ParsedTime | None:
    if cursor.take("half an hour ago"):
        return _clock_ago(cursor.calendar, Amount(30), "minute")
    many = amount(cursor)
    unit = None if many is None else cursor.unit()
    if many is None or unit is None or not cursor.take("ago"):
        return None
    if unit in CLOCK:
        return _clock_ago(cursor.calendar, many, unit)
    slack = 1 if many.about else 0
    first = cursor.calendar.unit(unit, cursor.calendar.today, -many.count - slack).first
    return whole_days(cursor, Days(first, cursor.calendar.unit(unit, cursor.calendar.today, slack - many.count).stop))


def _clock_ago(calendar: Calendar, many: Amount, unit: Unit) -> ParsedTime:
    """A moment with a margin of a quarter of how long ago it is: at least half the unit, at most half an hour."""
    length = CLOCK[unit]
    moment = calendar.shift(calendar.now, Duration(seconds=-many.count * length))
    slack = timedelta(seconds=length if many.about else min(max(many.count * length / 4, length / 2), 1800))
    window = Window(start=moment - slack, stop=moment + slack)
    return ParsedTime(window=window, instant=None if many.about else moment)


def _rolling(cursor: Cursor) -> ParsedTime | None:
    """Read a length of time that ends now: the last 5 days, past two weeks, the last hour."""
    article = cursor.take("the", "this", "these")
    which = cursor.take("last", "past", "previous", "next")
    many = amount(cursor) if which else None
    unit = cursor.unit() if which else None
    if unit is None or unit == "weekend":
        return None
    short = unit in CLOCK or unit == "day"
    if many is None and (which in ("next", "previous") or not (short or which == "past" or article == "the")):
        return None
    duration = Duration.of(1 if many is None else many.count, unit)
    if not duration:
        return None
    after = NEVER if cursor.sees("of") else SHORT_AFTER if short and many is None and which == "last" else None
    return ParsedTime(window=rolling_window(cursor.calendar, -duration if which == "next" else duration), after=after)


def last_this_next(cursor: Cursor) -> ParsedTime | None:
    """Read "last", "this" or "next" with a calendar unit, a weekday, month, season or quarter, or a part of the day."""
    cursor.take("the")
    step = cursor.lookup(STEPS)
    if step is None:
        return None
    return first_fitting(
        cursor,
        lambda cursor: _step_unit(cursor, step),
        lambda cursor: _step_cycle(cursor, step),
        lambda cursor: _step_part_of_day(cursor, step),
    )


def _step_unit(cursor: Cursor, step: int) -> ParsedTime | None:
    unit = cursor.unit()
    if unit is None or unit in CLOCK:
        return None
    after = NEVER if cursor.sees("of") or (unit == "day" and step >= 0) else None
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today, step), after=after)


def _step_cycle(cursor: Cursor, step: int) -> ParsedTime | None:
    found = cyclic(cursor)
    if found is None:
        return None
    verb = lower_case_verb(cursor)
    weekday = cursor.last().text in WEEKDAYS
    days = pick(cursor.calendar, found[0], step, within="week" if weekday else "year")
    return None if days is None else whole_days(cursor, days, after=NEVER if verb else None)


def pick(calendar: Calendar, cycle: Cycle, step: int, *, within: Unit) -> Days | None:
    """The last one that is over, the next one to come, or (step 0) the current one, else the one of this week or year."""
    today = calendar.today
    if step:
        return latest_ended(cycle, today) if step < 0 else earliest_from(cycle, today + ONE_DAY)
    running = latest_begun(cycle, today)
    if running is not None and running.stop > today:
        return running
    return earliest_from(cycle, calendar.unit(within, today).first)


def _step_part_of_day(cursor: Cursor, step: int) -> ParsedTime | None:
    hours = cursor.lookup(PARTS)
    if hours is None or step > 0:
        return None
    return ParsedTime(window=cursor.calendar.hours(cursor.calendar.today + step * ONE_DAY, *hours))
