"""The calendar of an installation: its time zone, and what a timeframe means there."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tzlocal import get_localzone

from ..base.errors import InvalidInput
from ..base.settings import Settings
from ..base.types import TimeframeLike, Window
from ..timeframes import Calendar, parse


def timezone_of(settings: Settings) -> tzinfo:
    """The time zone of words such as "yesterday": the settings', else the machine's."""
    return (
        zone_of(settings.timezone, what="Settings.timezone")
        if settings.timezone
        else get_localzone()
    )


def zone_of(name: str, *, what: str) -> tzinfo:
    """A time zone by its name; raises `InvalidInput` where there is none of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        raise InvalidInput(
            f"expected {what} to be an IANA zone such as 'Europe/Oslo', got {name!r:.80}"
        ) from error


def calendar_at(now: datetime, *, settings: Settings) -> Calendar:
    """The calendar of something that is said at a time."""
    return Calendar(
        now=now.astimezone(UTC), zone=timezone_of(settings), week_start=settings.week_start
    )


def windows_at(
    timeframe: TimeframeLike, now: datetime, *, settings: Settings
) -> tuple[Window, ...]:
    """The windows of a timeframe, as it is meant at a time; none for None."""
    if timeframe is None:
        return ()
    return parse(timeframe, now=now, week_start=settings.week_start, timezone=timezone_of(settings))
