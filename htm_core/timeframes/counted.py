"""Times counted from now: 5 days ago, the last 30 days, last week, this Friday, next month."""

from __future__ import annotations

from datetime import timedelta

from ..base.types import Window
from .calendar import (
    CLOCK,
    INSTANT,
    ONE_DAY,
    Calendar,
    Cycle,
    Days,
    Duration,
    Unit,
    Weekly,
    earliest_from,
    latest_begun,
    latest_ended,
)
from .cursor import NEVER, Cursor, ParsedTime, first_fitting, whole_days
from .dates import cyclic, lower_case_verb
from .lengths import Length, amount, length
from .words import FEW, PARTS, PARTS_IN_PLURAL, WEEKDAYS, WEEKDAYS_IN_PLURAL

STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1}
# "Last minute changes" and "the last day of school" are not times; "in the last minute" and "in the
# last day" are.
SHORT_AFTER = frozenset({"in", "over", "within", "during", "for", "throughout"})


def counted(cursor: Cursor) -> ParsedTime | None:
    """Read a time that is counted from now."""
    return first_fitting(cursor, _vague, _ago, _rolling, last_this_next)


def rolling_window(calendar: Calendar, by: Duration) -> Window:
    """The window of a length of time until now, now included, or (if negative) from now on."""
    other_end = calendar.shift(calendar.now, -by)
    if other_end > calendar.now:
        return Window(start=calendar.now, stop=other_end)
    return Window(start=other_end, stop=calendar.now + INSTANT)


def _vague(cursor: Cursor) -> ParsedTime | None:
    """Read what people say who do not remember when: recently, the other day, a while ago, these
    days.
    """
    calendar, today = cursor.calendar, cursor.calendar.today
    if cursor.take("recently", "lately") or (
        cursor.place and cursor.last().text == "of" and cursor.take("late")
    ):
        return ParsedTime(window=rolling_window(calendar, Duration(days=FEW)))
    if cursor.take("recent"):
        unit = cursor.unit()
        window = rolling_window(calendar, Duration.of(FEW, unit or "day"))
        return ParsedTime(window=window, after=None if unit else NEVER)
    if cursor.take("the other day", "the other night", "the other evening", "the other morning"):
        return whole_days(cursor, Days(today - 7 * ONE_DAY, today))
    if cursor.take("the other week"):
        return whole_days(
            cursor,
            Days(calendar.unit("week", today, -FEW).first, calendar.unit("week", today).first),
        )
    if cursor.take("just now", "a moment ago", "moments ago"):
        return ParsedTime(window=rolling_window(calendar, Duration(seconds=1800)))
    if cursor.take("right now"):
        return ParsedTime(window=rolling_window(calendar, Duration(seconds=1800)), after=NEVER)
    if cursor.take("a while ago", "a while back", "some time ago", "some time back"):
        return ParsedTime(window=Window(start=None, stop=calendar.at(today)))
    if cursor.take("a long time ago", "a long while ago", "long ago", "ages ago"):
        return ParsedTime(
            window=Window(start=None, stop=calendar.shift(calendar.now, Duration(months=-1)))
        )
    if cursor.take("not long ago", "not so long ago", "not too long ago"):
        return ParsedTime(window=rolling_window(calendar, Duration(days=7)))
    if cursor.take("these days", "nowadays"):  # "What do I do these days?" asks for the present
        return ParsedTime(window=rolling_window(calendar, Duration(days=30)), after=NEVER)
    return None


def _ago(cursor: Cursor) -> ParsedTime | None:
    return first_fitting(cursor, _length_ago, _weekdays_ago, _parts_ago, _units_ago)


def _length_ago(cursor: Cursor) -> ParsedTime | None:
    span = length(cursor)
    word = cursor.take("ago", "back", "earlier") if span is not None else ""
    if span is None or not word:
        return None
    after = None if word == "ago" else NEVER
    if span.unit in CLOCK:
        return _clock_ago(cursor.calendar, span, after=after)
    step = cursor.lookup({"today": 0, "yesterday": -1}) if word == "ago" else None
    if step is not None:  # "a week ago yesterday" is one day
        moment = cursor.calendar.shift(cursor.calendar.now, -span.duration)
        day = cursor.calendar.day(moment) + step * ONE_DAY
        return whole_days(cursor, Days(day, day + ONE_DAY))
    unit, today = span.unit, cursor.calendar.today
    first = cursor.calendar.unit(unit, today, -span.most - span.slack).first
    return whole_days(
        cursor,
        Days(first, cursor.calendar.unit(unit, today, span.slack - span.count).stop),
        after=after,
    )


def _clock_ago(calendar: Calendar, span: Length, *, after: frozenset[str] | None) -> ParsedTime:
    """A moment with a margin of a quarter of how long ago it is: at least half the unit, at most
    half an hour.
    """
    seconds = CLOCK[span.unit]
    first = calendar.shift(calendar.now, Duration(seconds=-span.most * seconds))
    last = calendar.shift(calendar.now, Duration(seconds=-span.count * seconds))
    margin = min(max(span.count * seconds / 4, seconds / 2), 1800)
    slack = timedelta(seconds=span.slack * seconds if span.slack else margin)
    window = Window(start=first - slack, stop=last + slack)
    exact = not span.slack and first == last
    return ParsedTime(window=window, instant=first if exact else None, after=after)


def _weekdays_ago(cursor: Cursor) -> ParsedTime | None:
    """Read three Fridays ago: the third before today."""
    many = amount(cursor)
    weekday = None if many is None else cursor.lookup(WEEKDAYS_IN_PLURAL)
    if many is None or weekday is None or not many.count or not cursor.take("ago"):
        return None
    last = latest_ended(Weekly(weekday), cursor.calendar.today)
    first = None if last is None else last.first - 7 * (many.count - 1) * ONE_DAY
    return None if first is None else whole_days(cursor, Days(first, first + ONE_DAY))


def _parts_ago(cursor: Cursor) -> ParsedTime | None:
    """Read two nights ago."""
    many = amount(cursor)
    hours = None if many is None else cursor.lookup(PARTS_IN_PLURAL)
    if many is None or hours is None or not cursor.take("ago"):
        return None
    return ParsedTime(
        window=cursor.calendar.hours(cursor.calendar.today - many.count * ONE_DAY, *hours)
    )


def _units_ago(cursor: Cursor) -> ParsedTime | None:
    """Read weeks ago: two of them or more."""
    calendar = cursor.calendar
    unit = cursor.unit()
    if unit is None or not cursor.last().text.endswith("s") or not cursor.take("ago"):
        return None
    if unit in CLOCK:
        return ParsedTime(
            window=rolling_window(calendar, Duration(seconds=3600 if unit != "hour" else 24 * 3600))
        )
    return ParsedTime(
        window=Window(start=None, stop=calendar.at(calendar.unit(unit, calendar.today, -2).stop))
    )


def _rolling(cursor: Cursor) -> ParsedTime | None:
    """Read a length of time that ends now: the last 5 days, past two weeks, the last hour and a
    half.
    """
    article = cursor.take("the", "this", "these")
    which = cursor.take("last", "past", "previous", "next")
    if not which:
        return None
    repeated = first_fitting(cursor, _last_repetitions) if which != "next" else None
    if repeated is not None:
        return repeated
    span = first_fitting(cursor, length)
    if span is None:
        return _rolling_unit(cursor, article, which)
    if not span.most or span.unit == "weekend":
        return None
    duration = span.duration
    window = rolling_window(cursor.calendar, -duration if which == "next" else duration)
    return ParsedTime(window=window, after=NEVER if cursor.sees("of") else None)


def _rolling_unit(cursor: Cursor, article: str, which: str) -> ParsedTime | None:
    weeks = cursor.take("fortnight")
    unit = cursor.unit() if not weeks else "week"
    if unit is None or unit == "weekend":
        return None
    short = unit in CLOCK or unit == "day" or bool(weeks)
    if which in ("next", "previous") or not (short or which == "past" or article == "the"):
        return None
    after = NEVER if cursor.sees("of") else SHORT_AFTER if short and which == "last" else None
    return ParsedTime(
        window=rolling_window(cursor.calendar, Duration.of(2 if weeks else 1, unit)), after=after
    )


def _last_repetitions(cursor: Cursor) -> ParsedTime | None:
    """Read the last three Mondays or weekends, from the first of them to the end of the last."""
    many = amount(cursor)
    weekday = None if many is None else cursor.lookup(WEEKDAYS_IN_PLURAL)
    weekend = many is not None and weekday is None and cursor.unit() == "weekend"
    if many is None or not many.count or (weekday is None and not weekend):
        return None
    last = latest_ended(
        Weekly(5, length=2) if weekday is None else Weekly(weekday), cursor.calendar.today
    )
    return (
        None
        if last is None
        else whole_days(cursor, Days(last.first - 7 * (many.count - 1) * ONE_DAY, last.stop))
    )


def last_this_next(cursor: Cursor) -> ParsedTime | None:
    """Read "last", "this" or "next" with a calendar unit, a weekday, month, season or quarter, or a
    part of the day.
    """
    if cursor.take("this past"):  # a week is a length of time then, and was read before
        return first_fitting(cursor, _past_weekend, lambda cursor: _step_cycle(cursor, -1))
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


def _past_weekend(cursor: Cursor) -> ParsedTime | None:
    return _step_unit(cursor, -1) if cursor.sees("weekend") else None


def _step_unit(cursor: Cursor, step: int) -> ParsedTime | None:
    unit = cursor.unit()
    if unit is None or unit in CLOCK:
        return None
    after = NEVER if cursor.sees("of") or (unit == "day" and step >= 0) else None
    return whole_days(cursor, cursor.calendar.unit(unit, cursor.calendar.today, step), after=after)


def _step_cycle(cursor: Cursor, step: int) -> ParsedTime | None:
    result = cyclic(cursor)
    if result is None:
        return None
    verb = lower_case_verb(cursor)
    weekday = cursor.last().text in WEEKDAYS
    days = pick(cursor.calendar, result[0], step, within="week" if weekday else "year")
    return None if days is None else whole_days(cursor, days, after=NEVER if verb else None)


def pick(calendar: Calendar, cycle: Cycle, step: int, *, within: Unit) -> Days | None:
    """The last one that is over, the next one to come, or (step 0) the current one, else the one of
    this week or year.
    """
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
