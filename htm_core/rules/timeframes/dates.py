"""Times named by the calendar: dates, weekdays, months, quarters, seasons, years."""

from __future__ import annotations

from ...errors import InvalidInput
from .calendar import Cycle, Monthly, Weekly, Yearly, begun
from .cursor import NEVER, Cursor, Time, either, first_day, spanning
from .iso import iso
from .words import MONTH_NAMES, QUARTERS, SEASONS, WEEKDAYS

MONTH_AFTER = frozenset({"in", "during", "since", "of", "throughout", "between"})
SEASON_AFTER = MONTH_AFTER | {"over"}
QUARTER_AFTER = MONTH_AFTER | {"before", "after"}
YEAR_AFTER = frozenset({"in", "during", "since", "before", "after", "between"})
DAY_AFTER = frozenset({"on", "since", "before", "after", "until", "till", "by", "from", "between"})
WEEKEND_AFTER = frozenset({"on", "at", "over", "during", "since", "before", "after"})
# Other numbers of four digits are likelier amounts, when they stand in a question.
YEARS_IN_SENTENCES = range(1900, 2100)


def dated(at: Cursor) -> Time | None:
    """Read a time that the calendar names, with or without its year."""
    return either(
        at, iso, _weekday_and_date, _day_of_year, _month, _quarter, _season, _year, _weekday, _weekend, _ordinal
    )


def day_of_month(at: Cursor) -> int | None:
    """Read 7, 7th, the 7th or first."""
    at.take("the")
    return either(at, lambda at: at.number(most=99, width=2), lambda at: at.ordinal())


def year_number(at: Cursor) -> int | None:
    """Read a year in four digits; a comma, "of" or "in" before it goes with it."""
    place = at.place
    at.take(",", "of", "in")
    year = at.number(least=1000, most=2999, width=4)
    if year is None:
        at.place = place
    return year


def cyclic(at: Cursor) -> tuple[Cycle, frozenset[str]] | None:
    """Read what comes round again: a weekday, month, season or quarter, and the words that go before it."""
    weekday = at.lookup(WEEKDAYS)
    if weekday is not None:
        return Weekly(weekday), DAY_AFTER
    month = at.lookup(MONTH_NAMES)
    if month is not None:
        return Yearly(month), MONTH_AFTER
    season = at.lookup(SEASONS)
    if season is not None:
        return Yearly(season, months=3), NEVER if at.last().text in ("fall", "spring") else SEASON_AFTER
    quarter = at.lookup(QUARTERS)
    return None if quarter is None else (Yearly(3 * quarter - 2, months=3), QUARTER_AFTER)


def lower_case_verb(at: Cursor) -> bool:
    """Whether the word taken last is "may" or "march", which a sentence rather has as verbs."""
    return at.last().raw in ("may", "march")


def _yearly(at: Cursor, cycle: Yearly, *, name: str, after: frozenset[str] | None) -> Time:
    year = year_number(at)
    return latest(at, cycle, name=name, after=after) if year is None else _of(at, cycle, year, name=name)


def _of(at: Cursor, cycle: Yearly, year: int, *, name: str, after: frozenset[str] | None = None) -> Time:
    days = cycle.of(year)
    if days is None:
        raise impossible(f"{name} {year}")
    return spanning(at, days, after=after)


def latest(at: Cursor, cycle: Cycle, *, name: str, after: frozenset[str] | None) -> Time:
    """Choose the most recent one that has begun, so never one that is all in the future."""
    days = begun(cycle, at.calendar.today)
    if days is None:
        raise impossible(name)
    return spanning(at, days, cycle=cycle, after=after)


def impossible(name: str) -> InvalidInput:
    """Say that the calendar has no such day."""
    return InvalidInput(f"the calendar has no {name}")


def _weekday_and_date(at: Cursor) -> Time | None:
    weekday = at.lookup(WEEKDAYS)
    if weekday is None:
        return None
    name = at.last().raw
    at.take(",", "the")
    date = either(at, _day_of_year, lambda at: iso(at) if (token := at.next("iso")) and len(token.text) == 10 else None)
    if date is not None and first_day(at, date).weekday() != weekday:
        raise InvalidInput(f"{first_day(at, date):%d %B %Y is a %A}, not a {name}")
    return date


def _day_of_year(at: Cursor) -> Time | None:
    return either(at, _day_then_month, _month_then_day)


def _day_then_month(at: Cursor) -> Time | None:
    day = day_of_month(at)
    if day is None:
        return None
    at.take("of")
    month = at.lookup(MONTH_NAMES)
    return None if month is None else _day(at, month, day, after=None)


def _month_then_day(at: Cursor) -> Time | None:
    month = at.lookup(MONTH_NAMES)
    if month is None:
        return None
    after = DAY_AFTER if lower_case_verb(at) else None
    day = day_of_month(at)
    return None if day is None else _day(at, month, day, after=after)


def _day(at: Cursor, month: int, day: int, *, after: frozenset[str] | None) -> Time:
    name = f"{day} {month_name(month)}"
    return _yearly(at, Yearly(month, day), name=name, after=after)


def month_name(month: int) -> str:
    """Name a month in full."""
    return next(name for name, number in MONTH_NAMES.items() if number == month).title()


def _month(at: Cursor) -> Time | None:
    at.take("the month of")
    month = at.lookup(MONTH_NAMES)
    return None if month is None else _yearly(at, Yearly(month), name=month_name(month), after=MONTH_AFTER)


def _quarter(at: Cursor) -> Time | None:
    year = at.number(least=1000, most=2999, width=4)
    quarter = at.lookup(QUARTERS)
    if quarter is None and year is None:
        at.take("the")
        quarter = at.ordinal()
        if not at.take("quarter"):
            return None
    if quarter is None or not 1 <= quarter <= 4:
        return None
    cycle = Yearly(3 * quarter - 2, months=3)
    name = f"Q{quarter}"
    return _yearly(at, cycle, name=name, after=QUARTER_AFTER) if year is None else _of(at, cycle, year, name=name)


def _season(at: Cursor) -> Time | None:
    at.take("the")
    season = at.lookup(SEASONS)
    if season is None:
        return None
    name = at.last().text
    return _yearly(at, Yearly(season, months=3), name=name, after=NEVER if name in ("fall", "spring") else SEASON_AFTER)


def _year(at: Cursor) -> Time | None:
    named = at.take("the year", "year")
    year = at.number(least=1000, most=2999, width=4)
    if year is None:
        return None
    after = None if named else YEAR_AFTER if year in YEARS_IN_SENTENCES else NEVER
    return _of(at, Yearly(1, months=12), year, name="year", after=after)


def _weekday(at: Cursor) -> Time | None:
    weekday = at.lookup(WEEKDAYS)
    return None if weekday is None else latest(at, Weekly(weekday), name=at.last().text, after=DAY_AFTER)


def _weekend(at: Cursor) -> Time | None:
    at.take("the")
    return latest(at, Weekly(5, length=2), name="weekend", after=WEEKEND_AFTER) if at.take("weekend") else None


def _ordinal(at: Cursor) -> Time | None:
    at.take("the")
    token = at.next("ordinal")
    day = None if token is None else at.ordinal()
    return None if day is None else latest(at, Monthly(day), name=f"{day}th of a month", after=DAY_AFTER)
