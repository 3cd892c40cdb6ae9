"""Times named by the calendar: dates, weekdays, months, quarters, seasons, feasts,
years, decades.
"""

from __future__ import annotations

from datetime import date

from ..base.errors import InvalidInput
from .calendar import (
    ONE_DAY,
    Cycle,
    Days,
    Feast,
    Monthly,
    WeekdayOfMonth,
    Weekly,
    Yearly,
    latest_begun,
)
from .cursor import NEVER, Cursor, ParsedTime, first_day, first_fitting, whole_days
from .iso import iso
from .numeric import numeric_date
from .words import DECADE_IN_DIGITS, DECADES, HALVES, MONTH_NAMES, QUARTERS, SEASONS, WEEKDAYS

MONTH_AFTER = frozenset({"in", "during", "since", "of", "throughout", "between"})
SEASON_AFTER = MONTH_AFTER | {"over"}
QUARTER_AFTER = MONTH_AFTER | {"before", "after"}
YEAR_AFTER = frozenset({"in", "during", "since", "before", "after", "between"})
DAY_AFTER = frozenset({"on", "since", "before", "after", "until", "till", "by", "from", "between"})
WEEKEND_AFTER = frozenset({"on", "at", "over", "during", "since", "before", "after"})
FEAST_AFTER = DAY_AFTER | WEEKEND_AFTER
WEEK_AFTER = frozenset({"in", "during", "since", "before", "after"})
FEASTS = {
    "christmas eve": Feast(12, 24),
    "christmas day": Feast(12, 25),
    "christmas": Feast(12, 24, length=3, after=1),
    "xmas": Feast(12, 24, length=3, after=1),
    "boxing day": Feast(12, 26),
    "new year eve": Feast(12, 31),  # a possessive 's is dropped
    "new years eve": Feast(12, 31),
    "new year day": Feast(1, 1),
    "new years day": Feast(1, 1),
    "new year": Feast(1, 1),
    "new years": Feast(1, 1),
    "valentine day": Feast(2, 14),
    "valentines day": Feast(2, 14),
    "easter": Feast(None, length=4, after=1),  # Good Friday to Easter Monday
    "halloween": Feast(10, 31),
    "thanksgiving": Feast(11, 4, weekday=3),  # the fourth Thursday, as in the United States
}
# Inside a question, any other number of four digits is more likely an amount.
YEARS_IN_SENTENCES = range(1900, 2100)


def dated(cursor: Cursor) -> ParsedTime | None:
    """Read a time with a name in the calendar, with or without its year."""
    return first_fitting(
        cursor,
        iso,
        numeric_date,
        _weekday_and_date,
        _day_of_year,
        _month,
        _quarter,
        _half,
        _season,
        _feast,
        _week,
        _decade,
        _year,
        _weekday,
        _weekend,
        _ordinal,
    )


def day_of_month(cursor: Cursor) -> int | None:
    """Read 7, 7th, the 7th or first."""
    cursor.take("the")
    return first_fitting(
        cursor, lambda cursor: cursor.number(most=99, width=2), lambda cursor: cursor.ordinal()
    )


def year_number(cursor: Cursor) -> int | None:
    """Read a year in four digits, '26, last year or this year, with a comma, "of", "in" or "-"
    before it.
    """
    place = cursor.place
    if not cursor.take(",", "of", "in"):
        cursor.joined("-")
    year = cursor.number(least=1000, most=2999, width=4)
    if year is None and cursor.take("last year", "the last year"):
        year = cursor.calendar.today.year - 1
    elif year is None and cursor.take("this year"):
        year = cursor.calendar.today.year
    elif year is None and cursor.take("'", "\u2019"):
        short = cursor.next("number")
        year = None if short is None or len(short.text) != 2 else 2000 + int(short.text)
        cursor.place += year is not None
    if year is None:
        cursor.place = place
    return year


def cyclic(cursor: Cursor) -> tuple[Cycle, frozenset[str]] | None:
    """Read a weekday, month, season or quarter; returns it with the words that make it a time (see
    `ParsedTime.after`).
    """
    weekday = cursor.lookup(WEEKDAYS)
    if weekday is not None:
        return Weekly(weekday), DAY_AFTER
    month = cursor.lookup(MONTH_NAMES)
    if month is not None:
        return Yearly(month), MONTH_AFTER
    season = cursor.lookup(SEASONS)
    if season is not None:
        return Yearly(season, months=3), NEVER if cursor.last().text in (
            "fall",
            "spring",
        ) else SEASON_AFTER
    quarter = cursor.lookup(QUARTERS)
    if quarter is not None:
        return Yearly(3 * quarter - 2, months=3), QUARTER_AFTER
    feast = cursor.take(*FEASTS)
    return (FEASTS[feast], FEAST_AFTER) if feast else None


def lower_case_verb(cursor: Cursor) -> bool:
    """True if the word taken last is "may" or "march", which are usually verbs in a sentence."""
    return cursor.last().raw in ("may", "march")


def _yearly(
    cursor: Cursor, cycle: Yearly | Feast, *, name: str, after: frozenset[str] | None
) -> ParsedTime:
    year = year_number(cursor)
    return (
        latest(cursor, cycle, name=name, after=after)
        if year is None
        else _of(cursor, cycle, year, name=name)
    )


def _of(
    cursor: Cursor,
    cycle: Yearly | Feast,
    year: int,
    *,
    name: str,
    after: frozenset[str] | None = None,
) -> ParsedTime:
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
    cursor.take(",")
    cursor.take("the")
    time = first_fitting(
        cursor,
        _day_of_year,
        lambda cursor: (
            iso(cursor) if (token := cursor.next("iso")) and len(token.text) == 10 else None
        ),
        numeric_date,
    )
    if time is None:
        day = cursor.ordinal() if cursor.next("ordinal") else None  # Friday the 13th
        if day is None:
            return None
        return latest(
            cursor, WeekdayOfMonth(weekday, day), name=f"{name} the {day}th", after=DAY_AFTER
        )
    if first_day(cursor, time).weekday() != weekday:
        raise InvalidInput(f"{first_day(cursor, time):%d %B %Y is a %A}, not a {name}")
    return time


def _day_of_year(cursor: Cursor) -> ParsedTime | None:
    return first_fitting(cursor, _day_then_month, _month_then_day)


def _day_then_month(cursor: Cursor) -> ParsedTime | None:
    day = day_of_month(cursor)
    if day is None:
        return None
    if not cursor.take("of"):
        cursor.joined("-")
    month = cursor.lookup(MONTH_NAMES)
    return None if month is None else _day(cursor, month, day, after=None)


def _month_then_day(cursor: Cursor) -> ParsedTime | None:
    month = cursor.lookup(MONTH_NAMES)
    if month is None:
        return None
    after = DAY_AFTER if lower_case_verb(cursor) else None
    cursor.joined("-")
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
    return (
        None
        if month is None
        else _yearly(cursor, Yearly(month), name=month_name(month), after=MONTH_AFTER)
    )


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


def _half(cursor: Cursor) -> ParsedTime | None:
    """Read H1, H1 2026, 2026 H1."""
    year = cursor.number(least=1000, most=2999, width=4)
    half = cursor.lookup(HALVES)
    if half is None:
        return None
    cycle = Yearly(6 * half - 5, months=6)
    if year is None:
        return _yearly(cursor, cycle, name=f"H{half}", after=QUARTER_AFTER)
    return _of(cursor, cycle, year, name=f"H{half}")


def _feast(cursor: Cursor) -> ParsedTime | None:
    name = cursor.take(*FEASTS)
    return _yearly(cursor, FEASTS[name], name=name, after=FEAST_AFTER) if name else None


def _week(cursor: Cursor) -> ParsedTime | None:
    """Read week 45, week 45 of 2026, 2026 week 45: an ISO week, and without a year the latest that
    has begun.
    """
    year = cursor.number(least=1000, most=2999, width=4)
    cursor.take("calendar", "iso")
    number = cursor.number(least=1, most=53, width=2) if cursor.take("week", "wk", "cw") else None
    if number is None:
        return None
    year = year_number(cursor) if year is None else year
    after = WEEK_AFTER if year is None else None
    this_year = cursor.calendar.today.isocalendar().year
    for candidate in range(this_year, this_year - 8, -1) if year is None else (year,):
        try:
            first = date.fromisocalendar(candidate, number, 1)
        except ValueError:
            continue  # the year has no week 53
        if year is not None or first <= cursor.calendar.today:
            return whole_days(
                cursor,
                Days(first, first + 7 * ONE_DAY),
                after=NEVER if cursor.sees("of") else after,
            )
    raise impossible(f"week {number} in {year}")


def _decade(cursor: Cursor) -> ParsedTime | None:
    """Read the 1990s, the 90s or the nineties; of two digits the latest decade that has begun."""
    cursor.take("the")
    token = cursor.next("word")
    if token is None or (token.text not in DECADES and not DECADE_IN_DIGITS.fullmatch(token.text)):
        return None
    cursor.place += 1
    first = DECADES.get(token.text) or int(token.text[:-1])
    if first < 100:
        this_year = cursor.calendar.today.year
        first += (
            this_year // 100 * 100
            if this_year // 100 * 100 + first <= this_year
            else this_year // 100 * 100 - 100
        )
    return whole_days(
        cursor, Days(date(first, 1, 1), date(first + 10, 1, 1)), after=YEAR_AFTER - {"between"}
    )


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
    return (
        None
        if weekday is None
        else latest(cursor, Weekly(weekday), name=cursor.last().text, after=DAY_AFTER)
    )


def _weekend(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the")
    return (
        latest(cursor, Weekly(5, length=2), name="weekend", after=WEEKEND_AFTER)
        if cursor.take("weekend")
        else None
    )


def _ordinal(cursor: Cursor) -> ParsedTime | None:
    cursor.take("the")
    token = cursor.next("ordinal")
    day = None if token is None else cursor.ordinal()
    return (
        None
        if day is None
        else latest(cursor, Monthly(day), name=f"{day}th of a month", after=DAY_AFTER)
    )
