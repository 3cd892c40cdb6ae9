"""Times inside or next to others: yesterday evening, early May, earlier today, the day before yesterday."""

from __future__ import annotations

from datetime import date, timedelta

from ...types import Window
from .calendar import CLOCK, INSTANT, ONE_DAY, Cycle, Days, Unit, earliest_from, latest_ended
from .counted import counted, last_this_next, pick
from .cursor import NEVER, Amount, Cursor, ParsedTime, amount, first_day, first_fitting, whole_days
from .dates import cyclic, dated, lower_case_verb
from .words import PARTS

DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


def relative(cursor: Cursor) -> ParsedTime | None:
    """Read any single time; several rules try it at the same place, so the result is kept."""
    place = cursor.place
    if place not in cursor.times:
        time = _single(cursor)
        cursor.times[place] = time, cursor.place
    time, cursor.place = cursor.times[place]
    return time


def _single(cursor: Cursor) -> ParsedTime | None:
    """A part of the day may follow a day ("yesterday evening")."""
    time = first_fitting(cursor, _named_day, _third_of, _so_far, _neighbour, counted, _part_of, dated)
    day = _one_day(cursor, time)
    hours = None if day is None else cursor.lookup(PARTS)
    if time is None or day is None or hours is None:
        return time
    return ParsedTime(window=cursor.calendar.hours(day, *hours), after=time.after)


def now(cursor: Cursor) -> ParsedTime | None:
    """Read now, which is only allowed as an end of a range."""
    if not cursor.take("now", "right now", "the present", "present", "this moment"):
        return None
    return ParsedTime(window=Window(start=cursor.calendar.now, stop=cursor.calendar.now + INSTANT))


def _named_day(cursor: Cursor) -> ParsedTime | None:
    calendar = cursor.calendar
    if cursor.take("tonight"):
        return ParsedTime(window=calendar.hours(calendar.today, *PARTS["night"]))
    step = cursor.lookup(DAYS)
    return None if step is None else whole_days(cursor, calendar.unit("day", calendar.today, step))


def _one_day(cursor: Cursor, time: ParsedTime | None) -> date | None:
    days = None if time is None else cursor.calendar.days(time.window)
    return days.first if days is not None and days.stop - days.first == ONE_DAY else None


def _part_of(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the")
    hours = cursor.lookup(PARTS)
    day = _one_day(cursor, relative(cursor)) if hours is not None and cursor.take("of") else None
    return None if hours is None or day is None else ParsedTime(window=cursor.calendar.hours(day, *hours))


def _third_of(cursor: Cursor) -> ParsedTime | None:
    """Read the early, middle or late third of a time, in whole days."""
    cursor.take("the")
    early = cursor.take("early", "beginning of", "start of")
    late = "" if early else cursor.take("late", "end of")
    if not early and not late and not cursor.take("middle of", "mid -", "mid"):
        return None
    cursor.take("in")
    time = first_fitting(cursor, relative, _the_unit)
    days = None if time is None else cursor.calendar.days(time.window)
    if time is None or days is None or (days.stop - days.first).days < 3:
        return None
    after = NEVER if time.after == NEVER or lower_case_verb(cursor) else None
    return whole_days(cursor, _third(days, 0 if early else 2 if late else 1), after=after)


def _third(days: Days, which: int) -> Days:
    length = (days.stop - days.first).days
    return Days(
        days.first + timedelta(days=round(length * which / 3)),
        days.first + timedelta(days=round(length * (which + 1) / 3)),
    )


def _the_unit(cursor: Cursor) -> ParsedTime | None:
    unit = cursor.unit() if cursor.take("the") else None
    if unit is None or unit in CLOCK:
        return None
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today))


def _so_far(cursor: Cursor) -> ParsedTime | None:
    """Read earlier or later today, this week and so on: the part that is over, or the part that is still to come."""
    word = cursor.take("earlier", "later")
    time = first_fitting(cursor, _named_day, last_this_next) if word else None
    if time is None or time.window.start is None or time.window.stop is None:
        return None
    if not time.window.start <= cursor.calendar.now < time.window.stop:
        return None
    if word == "later":
        return ParsedTime(window=Window(start=cursor.calendar.now, stop=time.window.stop))
    return ParsedTime(window=Window(start=time.window.start, stop=cursor.calendar.now + INSTANT))


def _neighbour(cursor: Cursor) -> ParsedTime | None:
    """Read the day before yesterday, the weekend before last, two weeks after 7 May, the Friday before 15 July."""
    cursor.take("the")
    return first_fitting(cursor, _week_of, _unit_beside, _weekday_beside)


def _week_of(cursor: Cursor) -> ParsedTime | None:
    unit = cursor.unit()
    day = _one_day(cursor, relative(cursor)) if unit in ("week", "weekend") and cursor.take("of") else None
    return None if unit is None or day is None else whole_days(cursor, cursor.calendar.unit(unit, day))


def _unit_beside(cursor: Cursor) -> ParsedTime | None:
    many = amount(cursor) or Amount(1)
    unit = cursor.unit()
    side = cursor.take("before", "after") if unit is not None and unit not in CLOCK else ""
    if unit is None or not side:
        return None
    base = first_fitting(cursor, relative, lambda cursor: _bare_step_unit(cursor, unit))
    if base is None:
        return None
    if side == "before":
        return whole_days(cursor, cursor.calendar.unit(unit, first_day(cursor, base), -many.count))
    return whole_days(cursor, cursor.calendar.unit(unit, _last_day(cursor, base), many.count))


def _bare_step_unit(cursor: Cursor, unit: Unit) -> ParsedTime | None:
    step = cursor.lookup({"last": -1, "next": 1})
    return None if step is None else whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today, step))


def _weekday_beside(cursor: Cursor) -> ParsedTime | None:
    found = cyclic(cursor)
    side = cursor.take("before", "after") if found is not None else ""
    if found is None or not side:
        return None
    cycle = found[0]
    base = first_fitting(cursor, relative, lambda cursor: _bare_step_cycle(cursor, cycle))
    if base is None:
        return None
    if side == "before":
        days = latest_ended(cycle, first_day(cursor, base))
    else:
        days = earliest_from(cycle, _last_day(cursor, base) + ONE_DAY)
    return None if days is None else whole_days(cursor, days)


def _bare_step_cycle(cursor: Cursor, cycle: Cycle) -> ParsedTime | None:
    step = cursor.lookup({"last": -1, "next": 1})
    days = None if step is None else pick(cursor.calendar, cycle, step, within="year")
    return None if days is None else whole_days(cursor, days)


def _last_day(cursor: Cursor, time: ParsedTime) -> date:
    return cursor.calendar.day((time.stop or cursor.calendar.now) - INSTANT)
