"""Times that lie beside or within others: yesterday evening, early May, earlier today, the day before yesterday."""

from __future__ import annotations

from datetime import date, timedelta

from ...types import Window
from .calendar import CLOCK, INSTANT, ONE_DAY, Cycle, Days, Unit, ended, starting
from .counted import counted, pick, turned
from .cursor import NEVER, Amount, Cursor, Time, amount, either, first_day, spanning
from .dates import cyclic, dated, lower_case_verb
from .words import PARTS

DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


def relative(at: Cursor) -> Time | None:
    """Read any one time; a day may be followed by a part of it ("yesterday evening")."""
    time = either(at, _named_day, _edge, _so_far, _neighbour, counted, _part_of, dated)
    return time if time is None else _part(at, time) or time


def now(at: Cursor) -> Time | None:
    """Read now, which only a range may end with."""
    if not at.take("now", "right now", "the present", "present", "this moment"):
        return None
    return Time(window=Window(start=at.calendar.now, stop=at.calendar.now + INSTANT))


def _named_day(at: Cursor) -> Time | None:
    step = at.lookup(DAYS)
    if step is None:
        return _night(at)
    return spanning(at, at.calendar.unit("day", at.calendar.today, step))


def _night(at: Cursor) -> Time | None:
    return Time(window=at.calendar.hours(at.calendar.today, *PARTS["night"])) if at.take("tonight") else None


def _part(at: Cursor, time: Time) -> Time | None:
    day = _one_day(at, time)
    hours = None if day is None else at.lookup(PARTS)
    if day is None or hours is None:
        return None
    return Time(window=at.calendar.hours(day, *hours), after=time.after)


def _one_day(at: Cursor, time: Time | None) -> date | None:
    days = None if time is None else at.calendar.days(time.window)
    return days.first if days is not None and days.stop - days.first == ONE_DAY else None


def _part_of(at: Cursor) -> Time | None:
    at.take("the")
    hours = at.lookup(PARTS)
    day = _one_day(at, relative(at)) if hours is not None and at.take("of") else None
    return None if hours is None or day is None else Time(window=at.calendar.hours(day, *hours))


def _edge(at: Cursor) -> Time | None:
    """Read the early, middle or late third of something, in whole days."""
    at.take("the")
    early = at.take("early", "beginning of", "start of")
    late = "" if early else at.take("late", "end of")
    if not early and not late and not at.take("middle of", "mid -", "mid"):
        return None
    at.take("in")
    time = either(at, relative, _the_unit)
    days = None if time is None else at.calendar.days(time.window)
    if time is None or days is None or (days.stop - days.first).days < 3:
        return None
    after = NEVER if time.after == NEVER or lower_case_verb(at) else None
    return spanning(at, _third(days, 0 if early else 2 if late else 1), after=after)


def _third(days: Days, which: int) -> Days:
    length = (days.stop - days.first).days
    return Days(
        days.first + timedelta(days=round(length * which / 3)),
        days.first + timedelta(days=round(length * (which + 1) / 3)),
    )


def _the_unit(at: Cursor) -> Time | None:
    unit = at.unit() if at.take("the") else None
    return None if unit is None or unit in CLOCK else spanning(at, at.calendar.unit(unit, at.calendar.today))


def _so_far(at: Cursor) -> Time | None:
    """Read the part of today, this week, … that is over, or the part that is still to come."""
    word = at.take("earlier", "later")
    time = either(at, _named_day, turned) if word else None
    if time is None or time.window.start is None or time.window.stop is None:
        return None
    if not time.window.start <= at.calendar.now < time.window.stop:
        return None
    if word == "later":
        return Time(window=Window(start=at.calendar.now, stop=time.window.stop))
    return Time(window=Window(start=time.window.start, stop=at.calendar.now + INSTANT))


def _neighbour(at: Cursor) -> Time | None:
    """Read the day before yesterday, the weekend before last, two weeks after 7 May, the Friday before 15 July."""
    at.take("the")
    return either(at, _week_of, _unit_beside, _weekday_beside)


def _week_of(at: Cursor) -> Time | None:
    unit = at.unit()
    day = _one_day(at, relative(at)) if unit in ("week", "weekend") and at.take("of") else None
    return None if unit is None or day is None else spanning(at, at.calendar.unit(unit, day))


def _unit_beside(at: Cursor) -> Time | None:
    many = amount(at) or Amount(1)
    unit = at.unit()
    side = at.take("before", "after") if unit is not None and unit not in CLOCK else ""
    if unit is None or not side:
        return None
    base = either(at, relative, lambda at: _turned_bare(at, unit))
    if base is None:
        return None
    if side == "before":
        return spanning(at, at.calendar.unit(unit, first_day(at, base), -many.count))
    return spanning(at, at.calendar.unit(unit, _last_day(at, base), many.count))


def _turned_bare(at: Cursor, unit: Unit) -> Time | None:
    step = at.lookup({"last": -1, "next": 1})
    return None if step is None else spanning(at, at.calendar.unit(unit, at.calendar.today, step))


def _weekday_beside(at: Cursor) -> Time | None:
    found = cyclic(at)
    side = at.take("before", "after") if found is not None else ""
    if found is None or not side:
        return None
    cycle = found[0]
    base = either(at, relative, lambda at: _cycle_bare(at, cycle))
    if base is None:
        return None
    days = ended(cycle, first_day(at, base)) if side == "before" else starting(cycle, _last_day(at, base) + ONE_DAY)
    return None if days is None else spanning(at, days)


def _cycle_bare(at: Cursor, cycle: Cycle) -> Time | None:
    step = at.lookup({"last": -1, "next": 1})
    days = None if step is None else pick(at.calendar, cycle, step, within="year")
    return None if days is None else spanning(at, days)


def _last_day(at: Cursor, time: Time) -> date:
    return at.calendar.day((time.stop or at.calendar.now) - INSTANT)
