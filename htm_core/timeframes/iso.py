"""Dates, weeks, quarters and durations as ISO 8601 writes them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from .calendar import ONE_DAY, Calendar, Days, Duration
from .cursor import Cursor, ParsedTime

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_QUARTER = re.compile(r"([0-9]{4})-q([1-4])")
_WEEK = re.compile(r"([0-9]{4})-w([0-9]{2})(?:-([1-7]))?")
_DURATION = re.compile(
    r"p(?:([0-9]+)y)?(?:([0-9]+)m)?(?:([0-9]+)w)?(?:([0-9]+)d)?(?:t(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?)?"
)


def iso(cursor: Cursor) -> ParsedTime | None:
    """Read 2026-01-15, 2026-01, 2026-W05, 2026-Q1, or a date and time.

    A date and time alone means its whole day; in a range it is exact. Without an offset it is in
    the calendar's zone.
    """
    text = cursor.token("iso")
    if text is None:
        return None
    if len(text) > 10:
        instant = moment(text, calendar=cursor.calendar)
        day = cursor.calendar.day(instant)
        return ParsedTime(window=cursor.calendar.window(Days(day, day + ONE_DAY)), instant=instant)
    return ParsedTime(window=cursor.calendar.window(_days(text, cursor.calendar)))


def duration(cursor: Cursor) -> Duration | None:
    """Read P7D, P1M, PT36H; weeks are added to days, and years to months."""
    token = cursor.next("duration")
    match = _DURATION.fullmatch(token.text) if token is not None and len(token.text) <= 40 else None
    if match is None:
        return None
    cursor.place += 1
    years, months, weeks, days, hours, minutes, seconds = (
        int(part or 0) for part in match.groups()
    )
    return Duration(
        months=12 * years + months,
        days=7 * weeks + days,
        seconds=3600 * hours + 60 * minutes + seconds,
    )


def moment(text: str, *, calendar: Calendar) -> datetime:
    """Read a date and time to the microsecond."""
    read = datetime.fromisoformat(text.upper().replace(",", "."))
    return (read if read.tzinfo else read.replace(tzinfo=calendar.zone)).astimezone(UTC)


def _days(text: str, calendar: Calendar) -> Days:
    if match := _MONTH.fullmatch(text):
        return calendar.unit("month", date(int(match[1]), int(match[2]), 1))
    if match := _QUARTER.fullmatch(text):
        return calendar.unit("quarter", date(int(match[1]), 3 * int(match[2]), 1))
    if match := _WEEK.fullmatch(text):
        first = date.fromisocalendar(int(match[1]), int(match[2]), int(match[3] or 1))
        return Days(first, first + (1 if match[3] else 7) * ONE_DAY)
    first = date.fromisoformat(text)
    return Days(first, first + ONE_DAY)
