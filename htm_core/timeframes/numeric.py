"""Dates in digits alone: 2025/11/03, 25/10/2026, 10/25/2026, 25.10.2026, 10/2026, 20261018."""

from __future__ import annotations

from datetime import date

from ..base.errors import InvalidInput
from .calendar import ONE_DAY, Days, Yearly, latest_begun
from .cursor import NEVER, Cursor, ParsedTime, first_fitting, whole_days

SEPARATORS = ("/", "-", ".")
_YEARS = range(1000, 3000)
_FOUR_DIGITS = range(1900, 2100)  # years of dates without separators


def numeric_date(cursor: Cursor) -> ParsedTime | None:
    """Read a date in digits; one that can be read in two ways is refused in a timeframe, and is no
    time in a sentence.
    """
    return first_fitting(cursor, _three_parts, _two_parts, _compact)


def _three_parts(cursor: Cursor) -> ParsedTime | None:
    parts = _parts(cursor, 3)
    if parts is None:
        return None
    texts, sign = parts
    written = sign.join(texts)
    if len(texts[0]) == 4:
        return _day(cursor, *(int(text) for text in texts))
    first, second, year = (int(text) for text in texts)
    if len(texts[2]) != 4:
        if cursor.in_sentence:
            return None
        raise InvalidInput(f"{written} has no year of four digits: write for example 2026-10-25")
    # with dots the day always comes first
    if first == second or first not in range(1, 13) or sign == ".":
        return _day(cursor, year, second, first)
    if second > 12:
        return _day(cursor, year, first, second)
    if cursor.in_sentence or second not in range(1, 13):
        return None
    raise InvalidInput(
        f"{written} can be read as {first} {date(year, second, 1):%B} {year} or {second} "
        f"{date(year, first, 1):%B} {year}: "
        f"write {date(year, second, first)} or {date(year, first, second)}"
    )


def _two_parts(cursor: Cursor) -> ParsedTime | None:
    """Read 10/2026, or 10/25 where only one of the two can be the month."""
    parts = _parts(cursor, 2)
    if parts is None or parts[1] != "/":
        return None
    texts = parts[0]
    first, second = int(texts[0]), int(texts[1])
    if len(texts[1]) == 4 and 1 <= first <= 12 and second in _YEARS:
        days = Yearly(first).of(second)
        return None if days is None else whole_days(cursor, days)
    if len(texts[1]) > 2 or len(texts[0]) > 2 or (first <= 12 and second <= 12 and first != second):
        return None
    day, month = (first, second) if first > 12 else (second, first)
    cycle = Yearly(month, day)
    latest = latest_begun(cycle, cursor.calendar.today) if 1 <= month <= 12 else None
    # "24/7" and "9/10" in a sentence are no dates.
    return None if latest is None else whole_days(cursor, latest, cycle=cycle, after=NEVER)


def _compact(cursor: Cursor) -> ParsedTime | None:
    token = cursor.next("number")
    if token is None or len(token.text) != 8 or int(token.text[:4]) not in _FOUR_DIGITS:
        return None
    cursor.place += 1
    time = _day(cursor, int(token.text[:4]), int(token.text[4:6]), int(token.text[6:]))
    return ParsedTime(window=time.window, after=NEVER)


def _parts(cursor: Cursor, count: int) -> tuple[list[str], str] | None:
    """So many numbers with the same sign between them and no spaces."""
    texts, signs = [], set()
    for number in range(count):
        if number:
            signs.add(cursor.joined(*SEPARATORS))
        text = cursor.token("number")
        if text is None or len(text) not in (1, 2, 4):
            return None
        texts.append(text)
    return (texts, signs.pop()) if len(signs) == 1 and "" not in signs else None


def _day(cursor: Cursor, year: int, month: int, day: int) -> ParsedTime:
    try:
        first = date(year, month, day)
    except ValueError as reason:
        raise InvalidInput(f"the calendar has no day {day} of month {month} in {year}") from reason
    return whole_days(cursor, Days(first, first + ONE_DAY))
