"""Times inside or next to others: yesterday evening, early May, earlier today, the day before
yesterday.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import cast

from ..base.types import Window
from .calendar import (
    CLOCK,
    INSTANT,
    ONE_DAY,
    Cycle,
    Days,
    Duration,
    Unit,
    Weekly,
    earliest_from,
    latest_begun,
    latest_ended,
)
from .clock import day_part, moment_of
from .counted import counted, last_this_next, pick
from .cursor import NEVER, Cursor, ParsedTime, first_day, first_fitting, whole_days
from .dates import cyclic, dated, lower_case_verb
from .lengths import ABOUT, Amount, amount
from .words import FEW, PARTS, WEEKDAYS

_TO_DATE: dict[str, Unit] = {
    "year to date": "year", "ytd": "year", "month to date": "month", "mtd": "month",
    "quarter to date": "quarter", "qtd": "quarter", "week to date": "week",
}  # fmt: skip
DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


def relative(cursor: Cursor) -> ParsedTime | None:
    """Read any single time; of a day perhaps a time of the clock, which in a sentence is left to
    the other words.
    """
    time = by_the_calendar(cursor)
    day = None if cursor.in_sentence else day_part(cursor.calendar, time)
    moment = None if day is None else first_fitting(cursor, lambda cursor: moment_of(cursor, day))
    return moment or time


def by_the_calendar(cursor: Cursor) -> ParsedTime | None:
    """Read any single time without a clock; several rules try it at the same place, so the result
    is kept.
    """
    place = cursor.place
    if place not in cursor.times:
        time = _single(cursor)
        cursor.times[place] = time, cursor.place
    time, cursor.place = cursor.times[place]
    return time


def _single(cursor: Cursor) -> ParsedTime | None:
    """A time, perhaps with a longer one around it ("Tuesday last week"), or with a part of it
    ("yesterday evening").
    """
    time = first_fitting(
        cursor,
        _named_day,
        _this_time,
        _third_of,
        _half_of,
        _nth_of,
        _so_far,
        _neighbour,
        counted,
        _around,
        _part_of,
        dated,
    )
    if time is None:
        return None
    return (
        first_fitting(
            cursor,
            lambda cursor: _within_longer(cursor, time),
            lambda cursor: _hours_of(cursor, time),
            lambda cursor: _part_of_longer(cursor, time),
            lambda cursor: _until_now(cursor, time) if cursor.take("so far") else None,
        )
        or time
    )


def _hours_of(cursor: Cursor, time: ParsedTime) -> ParsedTime | None:
    day = _one_day(cursor, time)
    hours = None if day is None else cursor.lookup(PARTS)
    return (
        None
        if day is None or hours is None
        else ParsedTime(window=cursor.calendar.hours(day, *hours), after=time.after)
    )


def _within_longer(cursor: Cursor, time: ParsedTime) -> ParsedTime | None:
    """Read Tuesday last week, Tuesday morning of last week, Friday two weeks ago, Christmas last
    year.
    """
    if time.cycle is None:
        return None
    weekly = isinstance(time.cycle, Weekly)
    hours = cursor.lookup(PARTS) if weekly else None
    if not cursor.take(",", "of", "in", "on"):
        cursor.take("the same")
    around = by_the_calendar(cursor)
    days = None if around is None else cursor.calendar.days(around.window)
    if around is None or days is None or around.cycle is not None:
        return None
    inside = _inside(time.cycle, days)
    if inside is None:
        return None
    if hours is not None:
        return ParsedTime(window=cursor.calendar.hours(inside.first, *hours))
    return whole_days(cursor, inside, after=around.after)


def _inside(cycle: Cycle, around: Days) -> Days | None:
    """The repetition in a week for weekdays, or in a year for what comes once a year."""
    length = (around.stop - around.first).days
    if length != 7 if isinstance(cycle, Weekly) else length not in (365, 366):
        return None
    days = earliest_from(cycle, around.first)
    return days if days is not None and days.first < around.stop else None


def _part_of_longer(cursor: Cursor, time: ParsedTime) -> ParsedTime | None:
    """Read last week's Tuesday, last week on Friday, last year in March, last month's
    first week.
    """
    days = cursor.calendar.days(time.window)
    if days is None or time.cycle is not None or (days.stop - days.first).days < 7:
        return None
    possessive = cursor.after_possessive
    word = cursor.take("on", "in")
    if possessive and not word:
        rank = first_fitting(cursor, _rank)
        if rank is not None:
            part = _nth(cursor, days, rank)
            return None if part is None else whole_days(cursor, part)
    result = cyclic(cursor)
    if result is None:
        return None
    weekly = isinstance(result[0], Weekly)
    if not possessive and not word and not (weekly and cursor.last().text.endswith("day")):
        return None
    inside = _inside(result[0], days)
    if inside is None:
        return None
    hours = cursor.lookup(PARTS) if weekly else None
    if hours is not None:
        return ParsedTime(window=cursor.calendar.hours(inside.first, *hours))
    return whole_days(cursor, inside)


@dataclass(frozen=True, slots=True)
class _Rank:
    """The first week, the last two days, the second Tuesday: which, how many at once,
    and of what.
    """

    place: int  # from 1; -1 is the last
    count: int
    unit: Unit | None
    weekday: int | None = None


def _rank(cursor: Cursor) -> _Rank | None:
    cursor.take("the")
    place = -1 if cursor.take("last", "final") else cursor.ordinal()
    if place is None or place == 0:
        return None
    many = first_fitting(cursor, amount)
    count = 1 if many is None else many.count
    unit = cursor.unit()
    weekday = cursor.lookup(WEEKDAYS) if unit is None and many is None else None
    if (unit is None and weekday is None) or unit in CLOCK or not 0 < count < 100:
        return None
    return _Rank(place, count, unit, weekday)


def _nth_of(cursor: Cursor) -> ParsedTime | None:
    """Read the first week of November, the last two days of 2025, the second Tuesday in October."""
    rank = _rank(cursor)
    time = (
        first_fitting(cursor, by_the_calendar, _the_unit)
        if rank is not None and cursor.take("of", "in")
        else None
    )
    days = None if time is None else cursor.calendar.days(time.window)
    if rank is None or time is None or days is None:
        return None
    part = _nth(cursor, days, rank)
    if part is None:
        return None
    return whole_days(
        cursor, part, after=NEVER if time.after == NEVER or lower_case_verb(cursor) else None
    )


def _nth(cursor: Cursor, days: Days, rank: _Rank) -> Days | None:
    """The part of some days that is meant; weeks are counted from their first day,
    seven days each.
    """
    if rank.weekday is not None or rank.unit == "weekend":
        cycle = Weekly(5, length=2) if rank.weekday is None else Weekly(rank.weekday)
        return _nth_repetition(days, cycle, rank)
    if rank.unit in ("day", "week"):
        length = (1 if rank.unit == "day" else 7) * rank.count * ONE_DAY
        first = days.stop - length if rank.place < 0 else days.first + (rank.place - 1) * length
        part = Days(first, first + length)
    elif rank.unit is not None:
        last = days.stop - ONE_DAY
        unit = cursor.calendar.unit
        if rank.place < 0:
            part = Days(unit(rank.unit, last, 1 - rank.count).first, unit(rank.unit, last).stop)
        else:
            first = unit(rank.unit, days.first, (rank.place - 1) * rank.count).first
            part = Days(first, unit(rank.unit, first, rank.count - 1).stop)
    inside = days.first <= part.first and part.stop <= days.stop
    return part if inside and part != days else None


def _nth_repetition(days: Days, cycle: Weekly, rank: _Rank) -> Days | None:
    if rank.place < 0:
        last = latest_begun(cycle, days.stop - ONE_DAY)
        part = (
            None if last is None else Days(last.first - 7 * (rank.count - 1) * ONE_DAY, last.stop)
        )
    else:
        first = earliest_from(cycle, days.first)
        weeks = (rank.place - 1) * rank.count
        part = (
            None
            if first is None
            else Days(
                first.first + 7 * weeks * ONE_DAY,
                first.stop + 7 * (weeks + rank.count - 1) * ONE_DAY,
            )
        )
    return part if part is not None and days.first <= part.first < days.stop else None


def _half_of(cursor: Cursor) -> ParsedTime | None:
    """Read the first half of 2026: six months of a year, else whole days, of which both halves have
    the middle one.
    """
    cursor.take("the")
    which = cursor.take(
        "first half of",
        "second half of",
        "latter half of",
        "last half of",
        "1st half of",
        "2nd half of",
    )
    time = first_fitting(cursor, by_the_calendar, _the_unit) if which else None
    days = None if time is None else cursor.calendar.days(time.window)
    if time is None or days is None or (length := (days.stop - days.first).days) < 2:
        return None
    early = which in ("first half of", "1st half of")
    if length in (365, 366) and days.first.day == 1:
        middle = cursor.calendar.unit("month", days.first, 6).first
        part = Days(days.first, middle) if early else Days(middle, days.stop)
    else:
        half = (length + 1) // 2 * ONE_DAY
        part = Days(days.first, days.first + half) if early else Days(days.stop - half, days.stop)
    return whole_days(
        cursor, part, after=NEVER if time.after == NEVER or lower_case_verb(cursor) else None
    )


def _this_time(cursor: Cursor) -> ParsedTime | None:
    """Read this time last year, and so on: yesterday to the hour, last week the day, last year give
    or take a week.
    """
    if not cursor.take("this time", "the same time"):
        return None
    calendar = cursor.calendar
    if cursor.take("yesterday"):
        moment = calendar.shift(calendar.now, Duration(days=-1))
        hour = Duration(seconds=3600)
        return ParsedTime(
            window=Window(start=calendar.shift(moment, -hour), stop=calendar.shift(moment, hour))
        )
    word = cursor.take("last week", "last month", "last year")
    if not word:
        return None
    unit, slack = {"last week": ("week", 0), "last month": ("month", 3), "last year": ("year", 7)}[
        word
    ]
    day = calendar.day(calendar.shift(calendar.now, -Duration.of(1, cast(Unit, unit))))
    return whole_days(cursor, Days(day - slack * ONE_DAY, day + (slack + 1) * ONE_DAY))


def _around(cursor: Cursor) -> ParsedTime | None:
    """Read around October 5: a few days more on either side, for a month a week, for a longer time
    a month.
    """
    # "What did I say about last week?" may ask for what was said on it.
    if not cursor.take(*ABOUT) or (cursor.in_sentence and cursor.last().text == "about"):
        return None
    time = by_the_calendar(cursor)
    days = None if time is None else cursor.calendar.days(time.window)
    if time is None or days is None:
        return None
    length = (days.stop - days.first).days
    slack = (FEW if length <= 7 else 7 if length <= 31 else 30) * ONE_DAY
    return whole_days(cursor, Days(days.first - slack, days.stop + slack), after=time.after)


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
    day = (
        _one_day(cursor, by_the_calendar(cursor))
        if hours is not None and cursor.take("of")
        else None
    )
    return (
        None
        if hours is None or day is None
        else ParsedTime(window=cursor.calendar.hours(day, *hours))
    )


def _third_of(cursor: Cursor) -> ParsedTime | None:
    """Read the early, middle or late third of a time, in whole days."""
    cursor.take("the")
    early = cursor.take("early", "beginning of", "start of")
    late = "" if early else cursor.take("late", "end of")
    if not early and not late and not cursor.take("middle of", "mid -", "mid"):
        return None
    cursor.take("in")
    time = first_fitting(cursor, by_the_calendar, _the_unit)
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


def all_of_a_unit(cursor: Cursor) -> ParsedTime | None:
    """Read what follows "all" in "all week"; in a sentence it says how long, and not when."""
    unit = cursor.unit()
    if unit is None or unit in CLOCK:
        return None
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today), after=NEVER)


def _the_unit(cursor: Cursor) -> ParsedTime | None:
    unit = cursor.unit() if cursor.take("the") else None
    if unit is None or unit in CLOCK:
        return None
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today))


def _so_far(cursor: Cursor) -> ParsedTime | None:
    """Read earlier or later today, so far this week, year to date: the part that is over, or the
    part still to come.
    """
    calendar = cursor.calendar
    unit = _TO_DATE.get(cursor.take(*_TO_DATE))
    if unit is not None:
        return ParsedTime(
            window=Window(
                start=calendar.at(calendar.unit(unit, calendar.today).first),
                stop=calendar.now + INSTANT,
            )
        )
    word = cursor.take("earlier", "later", "so far")
    time = first_fitting(cursor, _named_day, last_this_next) if word else None
    if time is None:
        return None
    if (
        word == "earlier"
        and time.stop is not None
        and time.stop <= calendar.now
        and day_part(calendar, time)
    ):
        return time  # "earlier this morning", in the afternoon
    days = (
        calendar.days(time.window)
        if time.window.stop is not None and time.window.stop <= calendar.now
        else None
    )
    # "earlier last week"
    if word != "so far" and days is not None and (days.stop - days.first).days >= 3:
        return whole_days(cursor, _third(days, 0 if word == "earlier" else 2))
    if word != "later":
        return _until_now(cursor, time)
    start, stop = time.window.start, time.window.stop
    inside = start is not None and stop is not None and start <= calendar.now < stop
    return ParsedTime(window=Window(start=calendar.now, stop=stop)) if inside else None


def _until_now(cursor: Cursor, time: ParsedTime) -> ParsedTime | None:
    """The part of a time that is over; None if now is not within it."""
    start, stop, now = time.window.start, time.window.stop, cursor.calendar.now
    if start is None or stop is None or not start <= now < stop:
        return None
    return ParsedTime(window=Window(start=start, stop=now + INSTANT))


def _neighbour(cursor: Cursor) -> ParsedTime | None:
    """Read the day before yesterday, the weekend before last, two weeks after 7 May, the Friday
    before 15 July.
    """
    cursor.take("the")
    return first_fitting(
        cursor,
        _just_gone,
        _day_in,
        _week_of,
        _leading_up_to,
        _night_before_last,
        _unit_beside,
        _weekdays_of,
        _weekday_beside,
    )


def _just_gone(cursor: Cursor) -> ParsedTime | None:
    """Read the weekend just gone."""
    unit = cursor.unit()
    if unit is None or unit in CLOCK or not cursor.take("just gone", "just past"):
        return None
    if unit == "weekend":
        days = latest_ended(Weekly(5, length=2), cursor.calendar.today)
        return None if days is None else whole_days(cursor, days)
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today, -1))


def _day_in(cursor: Cursor) -> ParsedTime | None:
    """Read the 15th of last month."""
    day = cursor.ordinal() if cursor.next("ordinal") else None
    if day is None or not cursor.take("of", "in", "last month", "this month"):
        return None
    if cursor.last().text == "month":
        cursor.place -= 2
    time = first_fitting(cursor, last_this_next, _the_unit)
    days = None if time is None else cursor.calendar.days(time.window)
    if days is None or not 1 <= day <= (days.stop - days.first).days <= 31:
        return None
    first = days.first + (day - 1) * ONE_DAY
    return whole_days(cursor, Days(first, first + ONE_DAY))


def _leading_up_to(cursor: Cursor) -> ParsedTime | None:
    """Read the days leading up to 5 October: seven days, four weeks or three months in
    the plural.
    """
    unit = cursor.unit()
    plural = unit is not None and cursor.last().text.endswith("s")
    time = (
        by_the_calendar(cursor)
        if unit is not None and cursor.take("leading up to", "running up to")
        else None
    )
    if unit is None or time is None or unit in CLOCK:
        return None
    count = {"day": 7, "week": 4, "month": 3}.get(unit, 1) if plural else 1
    stop = cursor.calendar.at(first_day(cursor, time))
    return ParsedTime(
        window=Window(start=cursor.calendar.shift(stop, -Duration.of(count, unit)), stop=stop)
    )


def _night_before_last(cursor: Cursor) -> ParsedTime | None:
    if not cursor.take("night before last"):
        return None
    return ParsedTime(
        window=cursor.calendar.hours(cursor.calendar.today - 2 * ONE_DAY, *PARTS["night"])
    )


def _weekdays_of(cursor: Cursor) -> ParsedTime | None:
    """Read weekdays last week: Monday to Friday."""
    if not cursor.take("weekdays", "working days", "workdays"):
        return None
    cursor.take("of", "in")
    time = by_the_calendar(cursor)
    days = None if time is None else cursor.calendar.days(time.window)
    monday = (
        None
        if days is None or (days.stop - days.first).days != 7
        else earliest_from(Weekly(0), days.first)
    )
    return (
        None
        if monday is None
        else whole_days(cursor, Days(monday.first, monday.first + 5 * ONE_DAY))
    )


def _week_of(cursor: Cursor) -> ParsedTime | None:
    unit = cursor.unit()
    of = (
        cursor.take("of", "beginning", "starting", "commencing")
        if unit in ("week", "weekend")
        else ""
    )
    day = _one_day(cursor, by_the_calendar(cursor)) if of else None
    return (
        None if unit is None or day is None else whole_days(cursor, cursor.calendar.unit(unit, day))
    )


def _unit_beside(cursor: Cursor) -> ParsedTime | None:
    many = amount(cursor) or Amount(1)
    unit = cursor.unit()
    side = (
        cursor.take("before", "prior to", "after") if unit is not None and unit not in CLOCK else ""
    )
    if unit is None or not side:
        return None
    if cursor.at_end and not cursor.in_sentence and side == "before":  # "the week before"
        return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today, -many.count))
    base = first_fitting(cursor, by_the_calendar, lambda cursor: _bare_step_unit(cursor, unit))
    if base is None:
        return None
    if side != "after":
        return whole_days(cursor, cursor.calendar.unit(unit, first_day(cursor, base), -many.count))
    return whole_days(cursor, cursor.calendar.unit(unit, _last_day(cursor, base), many.count))


def _bare_step_unit(cursor: Cursor, unit: Unit) -> ParsedTime | None:
    step = cursor.lookup({"last": -1, "next": 1})
    return (
        None
        if step is None
        else whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today, step))
    )


def _weekday_beside(cursor: Cursor) -> ParsedTime | None:
    result = cyclic(cursor)
    side = cursor.take("before", "after") if result is not None else ""
    if result is None or not side:
        return None
    cycle = result[0]
    base = first_fitting(cursor, by_the_calendar, lambda cursor: _bare_step_cycle(cursor, cycle))
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
