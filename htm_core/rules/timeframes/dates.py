"""Times named by the calendar: dates, weekdays, months, quarters, seasons, years."""

from __future__ import annotations

from ...errors import InvalidInput
from .calendar import Cycle, Monthly, Weekly, Yearly, latest_begun
from .cursor import NEVER, Cursor, ParsedTime, first_day, first_fitting, whole_days
from .iso import iso
from .words import MONTH_NAMES, QUARTERS, SEASONS, WEEKDAYS

MONTH_AFTER = frozenset({"in", "during", "since", "of", "throughout", "between"})
SEASON_AFTER = MONTH_AFTER | {"over"}
QUARTER_AFTER = MONTH_AFTER | {"before", "after"}
YEAR_AFTER = frozenset({"in", "during", "since", "before", "after", "between"})
DAY_AFTER = frozenset({"on", "since", "before", "after", "until", "till", "by", "from", "between"})
WEEKEND_AFTER = frozenset({"on", "at", "over", "during", "since", "before", "after"})
# Inside a question, any other number of four digits is more likely an amount.
YEARS_IN_SENTENCES = range(1900, 2100)


def dated(cursor: Cursor) -> ParsedTime | None:
    """Read a time with a name in the calendar, with or without its year."""
    return first_fitting(
        cursor, iso, _weekday_and_date, _day_of_year, _month, _quarter, _season, _year, _weekday, _weekend, _ordinal
    )


def day_of_month(cursor: Cursor) -> int | None:
    """Read 7, 7th, the 7th or first."""
    cursor.take("the")
    return first_fitting(cursor, lambda cursor: cursor.number(most=99, width=2), lambda cursor: cursor.ordinal())


def year_number(cursor: Cursor) -> int | None:
    """Read a year in four digits, with a comma, "of" or "in" before it."""
    place = cursor.place
    cursor.take(",", "of", "in")
    year = cursor.number(least=1000, most=2999, width=4)
    if year is None:
        cursor.place = place
    return year


def cyclic(cursor: Cursor) -> tuple[Cycle, frozenset[str]] | None:
    """Read a weekday, month, season or quarter; returns it with the words that make it a time (see `ParsedTime.after`)."""
    weekday = cursor.lookup(WEEKDAYS)
    if weekday is not None:
        return Weekly(weekday), DAY_AFTER
    month = cursor.lookup(MONTH_NAMES)
    if month is not None:
        return Yearly(month), MONTH_AFTER
    season = cursor.lookup(SEASONS)
    if season is not None:
        return Yearly(season, months=3), NEVER if cursor.last().text in ("fall", "spring") else SEASON_AFTER
    quarter = cursor.lookup(QUARTERS)
    return None if quarter is None else (Yearly(3 * quarter - 2, months=3), QUARTER_AFTER)


def lower_case_verb(cursor: Cursor) -> bool:
    """Whether the word taken last is "may" or "march", which are usually verbs in a sentence."""
    return cursor.last().raw in ("may", "march")


def _yearly(cursor: Cursor, cycle: Yearly, *, name: str, after: frozenset[str] | None) -> ParsedTime:
    year = year_number(cursor)
    return latest(cursor, cycle, name=name, after=after) if year is None else _of(cursor, cycle, year, name=name)


def _of(cursor: Cursor, cycle: Yearly, year: int, *, name: str, after: frozenset[str] | None = None) -> ParsedTime:
    days = cycle.of(year)
    if days is None:
        raise impossible(f"{name} {year}")
    return whole_days(cursor, days, after=after)


def latest(cursor: Cursor, cycle: Cycle, *, name: str, after: frozenset[str] | None) -> ParsedTime:
    """The most recent one that has begun, so never one that is entirely in the future."""
    days = latest_begun(cycle, cursor.calendar.today)
    if days is None:
        raise impossible(name)
    return whole_days(cursor, days, cycle=cycle, after=after)


def impossible(name: str) -> InvalidInput:
    """The error for a day that the calendar does not have."""
    return InvalidInput(f"the calendar has no {name}")


def _weekday_and_date(cursor: Cursor) -> ParsedTime | None:
    weekday = cursor.lookup(WEEKDAYS)
    if weekday is None:
        return None
    name = cursor.last().raw
    cursor.take(",", "the")
    date = first_fitting(
        cursor,
        _day_of_year,
        lambda cursor: iso(cursor) if (token := cursor.next("iso")) and len(token.text) == 10 else None,
    )
    if date is not None and first_day(cursor, date).weekday() != weekday:
        raise InvalidInput(f"{first_day(cursor, date):%d %B %Y is a %A}, not a {name}")
    return date


def _day_of_year(cursor: Cursor) -> ParsedTime | None:
    return first_fitting(cursor, _day_then_month, _month_then_day)


def _day_then_month(cursor: Cursor) -> ParsedTime | None:
    day = day_of_month(cursor)
    if day is None:
        return None
    cursor.take("of")
    month = cursor.lookup(MONTH_NAMES)
    return None if month is None else _day(cursor, month, day, after=None)


def _month_then_day(cursor: Cursor) -> ParsedTime | None:
    month = cursor.lookup(MONTH_NAMES)
    if month is None:
        return None
    after = DAY_AFTER if lower_case_verb(cursor) else None
    day = day_of_month(cursor)
    return None if day is None else _day(cursor, month, day, after=after)


def _day(cursor: Cursor, month: int, day: int, *, after: frozenset[str] | None) -> ParsedTime:
    name = f"{day} {month_name(month)}"
    return _yearly(cursor, Yearly(month, day), name=name, after=after)


def month_name(month: int) -> str:
    """The full name of a month."""
    return next(name for name, number in MONTH_NAMES.items() if number == month).title()


def _month(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the month of")
    month = cursor.lookup(MONTH_NAMES)
    return None if month is None else _yearly(cursor, Yearly(month), name=month_name(month), after=MONTH_AFTER)


def _quarter(cursor: Cursor) -> ParsedTime | None:
    year = cursor.number(least=1000, most=2999, width=4)
    quarter = cursor.lookup(QUARTERS)
    if quarter is None and year is None:
        cursor.take("the")
        quarter = cursor.ordinal()
        if not cursor.take("quarter"):
            return None
    if quarter is None or not 1 <= quarter <= 4:
        return None
    cycle = Yearly(3 * quarter - 2, months=3)
    name = f"Q{quarter}"
    if year is None:
        return _yearly(cursor, cycle, name=name, after=QUARTER_AFTER)
    return _of(cursor, cycle, year, name=name)


def _season(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the")
    season = cursor.lookup(SEASONS)
    if season is None:
        return None
    name = cursor.last().text
    after = NEVER if name in ("fall", "spring") else SEASON_AFTER
    return _yearly(cursor, Yearly(season, months=3), name=name, after=after)


def _year(cursor: Cursor) -> ParsedTime | None:
    named = cursor.take("the year", "year")
    year = cursor.number(least=1000, most=2999, width=4)
    if year is None:
        return None
    after = None if named else YEAR_AFTER if year in YEARS_IN_SENTENCES else NEVER
    return _of(cursor, Yearly(1, months=12), year, name="year", after=after)


def _weekday(cursor: Cursor) -> ParsedTime | None:
    weekday = cursor.lookup(WEEKDAYS)
    return None if weekday is None else latest(cursor, Weekly(weekday), name=cursor.last().text, after=DAY_AFTER)


def _weekend(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the")
    return latest(cursor, Weekly(5, length=2), name="weekend", after=WEEKEND_AFTER) if cursor.take("weekend") else None


def _ordinal(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the")
    token = cursor.next("ordinal")
    day = None if token is None else cursor.ordinal()
    return None if day is None else latest(cursor, Monthly(day), name=f"{day}th of a month", after=DAY_AFTER)
