"""Times counted from now: 5 days ago, the last 30 days, last week, this Friday, next month."""

from __future__ import annotations

from datetime import timedelta

from ...types import Window
from .calendar import CLOCK, INSTANT, ONE_DAY, Calendar, Cycle, Days, Duration, Unit, begun, ended, starting
from .cursor import NEVER, Amount, Cursor, Time, amount, either, spanning
from .dates import cyclic, lower_case_verb
from .words import FEW, PARTS, WEEKDAYS

STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1}
# "Last minute changes" and "the last day of school" are no times; "in the last minute" and "in the last day" are.
SHORT_AFTER = frozenset({"in", "over", "within", "during", "for", "throughout"})


def counted(at: Cursor) -> Time | None:
    """Read a time that is so many units from now."""
    return either(at, _ago, _rolling, turned, _recently)


def rolled(calendar: Calendar, by: Duration) -> Window:
    """Span a length of time until now, now included, or (negative) from now on."""
    there = calendar.shift(calendar.now, -by)
    if there > calendar.now:
        return Window(start=calendar.now, stop=there)
    return Window(start=there, stop=calendar.now + INSTANT)


def _recently(at: Cursor) -> Time | None:
    word = at.take("recently", "lately", "recent")
    window = rolled(at.calendar, Duration(days=FEW))
    return Time(window=window, after=NEVER if word == "recent" else None) if word else None


def _ago(at: Cursor) -> Time | None:
    if at.take("half an hour ago"):
        return _clock_ago(at.calendar, Amount(30), "minute")
    many = amount(at)
    unit = None if many is None else at.unit()
    if many is None or unit is None or not at.take("ago"):
        return None
    if unit in CLOCK:
        return _clock_ago(at.calendar, many, unit)
    slack = 1 if many.about else 0
    first = at.calendar.unit(unit, at.calendar.today, -many.count - slack).first
    return spanning(at, Days(first, at.calendar.unit(unit, at.calendar.today, slack - many.count).stop))


def _clock_ago(calendar: Calendar, many: Amount, unit: Unit) -> Time:
    """Surround a moment by a quarter of how long ago it is: at least half the unit, at most half an hour."""
    length = CLOCK[unit]
    moment = calendar.shift(calendar.now, Duration(seconds=-many.count * length))
    slack = timedelta(seconds=length if many.about else min(max(many.count * length / 4, length / 2), 1800))
    window = Window(start=moment - slack, stop=moment + slack)
    return Time(window=window, instant=None if many.about else moment)


def _rolling(at: Cursor) -> Time | None:
    """Read a length of time that ends now: the last 5 days, past two weeks, the last hour."""
    article = at.take("the", "this", "these")
    which = at.take("last", "past", "previous", "next")
    many = amount(at) if which else None
    unit = at.unit() if which else None
    if unit is None or unit == "weekend":
        return None
    short = unit in CLOCK or unit == "day"
    if many is None and (which in ("next", "previous") or not (short or which == "past" or article == "the")):
        return None
    duration = Duration.of(1 if many is None else many.count, unit)
    if not duration:
        return None
    after = NEVER if at.sees("of") else SHORT_AFTER if short and many is None and which == "last" else None
    return Time(window=rolled(at.calendar, -duration if which == "next" else duration), after=after)


def turned(at: Cursor) -> Time | None:
    """Read last, this or next something: a unit of the calendar, a weekday, month or season, a part of the day."""
    at.take("the")
    step = at.lookup(STEPS)
    return (
        None
        if step is None
        else either(
            at, lambda at: _turned_unit(at, step), lambda at: _turned_cycle(at, step), lambda at: _turned_part(at, step)
        )
    )


def _turned_unit(at: Cursor, step: int) -> Time | None:
    unit = at.unit()
    if unit is None or unit in CLOCK:
        return None
    after = NEVER if at.sees("of") or (unit == "day" and step >= 0) else None
    return spanning(at, at.calendar.unit(unit, at.calendar.today, step), after=after)


def _turned_cycle(at: Cursor, step: int) -> Time | None:
    found = cyclic(at)
    if found is None:
        return None
    verb = lower_case_verb(at)
    weekday = at.last().text in WEEKDAYS
    days = pick(at.calendar, found[0], step, within="week" if weekday else "year")
    return None if days is None else spanning(at, days, after=NEVER if verb else None)


def pick(calendar: Calendar, cycle: Cycle, step: int, *, within: Unit) -> Days | None:
    """Choose one: the latest that is over, the earliest to come, or the running one, else that of this week or year."""
    today = calendar.today
    if step:
        return ended(cycle, today) if step < 0 else starting(cycle, today + ONE_DAY)
    running = begun(cycle, today)
    if running is not None and running.stop > today:
        return running
    return starting(cycle, calendar.unit(within, today).first)


def _turned_part(at: Cursor, step: int) -> Time | None:
    hours = at.lookup(PARTS)
    if hours is None or step > 0:
        return None
    return Time(window=at.calendar.hours(at.calendar.today + step * ONE_DAY, *hours))
