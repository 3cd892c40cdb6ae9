"""The calendar behind timeframes: units, days in a time zone, and days that repeat."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal, Protocol

from ..base.errors import InvalidInput
from ..base.types import Window

WeekStart = Literal["monday", "sunday"]
Unit = Literal[
    "second", "minute", "hour", "day", "week", "weekend", "month", "quarter", "year", "decade"
]

ONE_DAY = timedelta(days=1)
# A window that includes "now" stops this much later: PostgreSQL and Python both count microseconds.
INSTANT = timedelta(microseconds=1)
MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
CLOCK: dict[Unit, int] = {"second": 1, "minute": 60, "hour": 3600}


@dataclass(frozen=True, slots=True)
class Days:
    """Whole calendar days, `first` inclusive and `stop` exclusive."""

    first: date
    stop: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length of time: months and days of the calendar, and elapsed seconds."""

    months: int = 0
    days: int = 0
    seconds: int = 0

    @classmethod
    def of(cls, count: int, unit: Unit) -> Duration:
        """So many units, forward or (negative) backward."""
        if unit in CLOCK:
            return cls(seconds=count * CLOCK[unit])
        if unit in MONTHS:
            return cls(months=count * MONTHS[unit])
        return cls(days=count * (1 if unit == "day" else 7))

    def __neg__(self) -> Duration:
        return Duration(months=-self.months, days=-self.days, seconds=-self.seconds)

    def __bool__(self) -> bool:
        return bool(self.months or self.days or self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A calendar at one moment: its time zone, and the day on which its weeks begin.

    All its results are in UTC. Python compares two datetimes of one zone by their wall clocks,
    which is wrong in the hour that daylight saving time repeats.
    """

    now: datetime
    zone: tzinfo
    week_start: WeekStart = "monday"

    @property
    def today(self) -> date:
        """The current day."""
        return self.day(self.now)

    def day(self, moment: datetime) -> date:
        """The day on which a moment falls."""
        return moment.astimezone(self.zone).date()

    def at(self, day: date, hour: int = 0) -> datetime:
        """The moment when the local clock shows an hour; hours from 24 on belong to
        the next day.
        """
        return datetime.combine(
            day + timedelta(days=hour // 24), time(hour % 24), self.zone
        ).astimezone(UTC)

    def window(self, days: Days) -> Window:
        """The window of whole days, which have 23 or 25 hours when the clocks change."""
        return Window(start=self.at(days.first), stop=self.at(days.stop))

    def minutes(self, day: date, first: int, stop: int) -> Window:
        """The window between two times of a day in minutes after midnight, by the local clock."""
        return Window(start=self.minute(day, first), stop=self.minute(day, stop))

    def minute(self, day: date, minute: int) -> datetime:
        """The moment when the local clock shows a time, in minutes after midnight; later ones
        belong to the next day.
        """
        day += timedelta(days=minute // 1440)
        return datetime.combine(day, time(minute % 1440 // 60, minute % 60), self.zone).astimezone(
            UTC
        )

    def hours(self, day: date, first: int, stop: int) -> Window:
        """The window of some hours of a day, by the local clock."""
        return Window(start=self.at(day, first), stop=self.at(day, stop))

    def days(self, window: Window) -> Days | None:
        """The whole days of a window; None if it begins or ends inside a day, or is open."""
        if window.start is None or window.stop is None:
            return None
        days = Days(self.day(window.start), self.day(window.stop))
        return days if self.window(days) == window else None

    def unit(self, unit: Unit, day: date, count: int = 0) -> Days:
        """The calendar unit (a day or longer) that is `count` units after the one that contains a
        day.

        A weekend is Saturday and Sunday whatever weeks begin with; before Saturday it is the coming
        one.
        """
        if unit in MONTHS:
            return _months(day.year * 12 + day.month - 1, MONTHS[unit], count)
        length = {"week": 7, "weekend": 2}.get(unit, 1)
        first = self._first(unit, day) + count * (ONE_DAY if unit == "day" else 7 * ONE_DAY)
        return Days(first, first + length * ONE_DAY)

    def shift(self, moment: datetime, by: Duration) -> datetime:
        """Move a moment: months and days keep the local time (31 January becomes 28 February),
        seconds elapse.
        """
        if by.months or by.days:
            wall = moment.astimezone(self.zone)
            day = _add_months(wall.date(), by.months) + timedelta(days=by.days)
            moment = datetime.combine(day, wall.time(), self.zone).astimezone(UTC)
        return moment + timedelta(seconds=by.seconds)

    def _first(self, unit: Unit, day: date) -> date:
        if unit == "week":
            return (
                day
                - (day.weekday() if self.week_start == "monday" else day.isoweekday() % 7) * ONE_DAY
            )
        return day + (5 - day.weekday()) * ONE_DAY if unit == "weekend" else day


class Cycle(Protocol):
    """Days that repeat: Mondays, Januaries, summers."""

    def around(self, day: date) -> Iterator[Days]:
        """The repetitions near a day, earliest first: at least one before it and one after it, if
        there are any.
        """


@dataclass(frozen=True, slots=True)
class Weekly:
    """A weekday (Monday is 0), or several in a row."""

    weekday: int
    length: int = 1

    def around(self, day: date) -> Iterator[Days]:
        """The repetitions within two weeks."""
        for week in range(-2, 3):
            first = day + (7 * week + self.weekday - day.weekday()) * ONE_DAY
            yield Days(first, first + self.length * ONE_DAY)


@dataclass(frozen=True, slots=True)
class Monthly:
    """A day of the month; months that are too short are left out."""

    day: int

    def around(self, day: date) -> Iterator[Days]:
        """The repetitions within three months, which is enough: of two months in a row at least one
        has the day.
        """
        for months in range(-3, 4):
            month = _add_months(day.replace(day=1), months)
            if 1 <= self.day <= monthrange(month.year, month.month)[1]:
                first = month.replace(day=self.day)
                yield Days(first, first + ONE_DAY)


@dataclass(frozen=True, slots=True)
class Yearly:
    """A day of the year; without a day, `months` whole months from `month` on."""

    month: int
    day: int | None = None
    months: int = 1

    def of(self, year: int) -> Days | None:
        """The one that begins in a year; None if the year has no such day, such as 29 February."""
        if self.day is None:
            return _span(year * 12 + self.month - 1, self.months)
        if not 1 <= self.day <= monthrange(year, self.month)[1]:
            return None
        first = date(year, self.month, self.day)
        return Days(first, first + ONE_DAY)

    def around(self, day: date) -> Iterator[Days]:
        """The repetitions within nine years, since leap days can be eight years apart."""
        for year in range(max(1, day.year - 9), min(9998, day.year + 9) + 1):
            days = self.of(year)
            if days is not None:
                yield days


@dataclass(frozen=True, slots=True)
class Feast:
    """A feast: `length` days from a day of the year on, or for Easter (without a month) from Good
    Friday on.

    With a `weekday` it is the `day`-th such weekday of the month. `after` are the days after the
    one that has the name: Boxing Day belongs to Christmas, and what is so "until Christmas" ends
    before it.
    """

    month: int | None
    day: int = 1
    length: int = 1
    weekday: int | None = None
    after: int = 0

    def of(self, year: int) -> Days:
        """The one of a year."""
        if self.month is None:
            first = _easter(year) - 2 * ONE_DAY
        else:
            first = date(year, self.month, 1 if self.weekday is not None else self.day)
        if self.weekday is not None:
            first += ((self.weekday - first.weekday()) % 7 + 7 * (self.day - 1)) * ONE_DAY
        return Days(first, first + self.length * ONE_DAY)

    def around(self, day: date) -> Iterator[Days]:
        """The repetitions within two years."""
        for year in range(max(1, day.year - 2), min(9998, day.year + 2) + 1):
            yield self.of(year)


@dataclass(frozen=True, slots=True)
class WeekdayOfMonth:
    """A day of the month that is a certain weekday, such as Friday the 13th."""

    weekday: int
    day: int

    def around(self, day: date) -> Iterator[Days]:
        """The repetitions within twelve years: none is rarer, except on a 29th or later."""
        for months in range(-144, 145):
            index = day.year * 12 + day.month - 1 + months
            if not 12 <= index < 12 * 9999:
                continue
            month = _month(index)
            if 1 <= self.day <= monthrange(month.year, month.month)[1]:
                first = month.replace(day=self.day)
                if first.weekday() == self.weekday:
                    yield Days(first, first + ONE_DAY)


def latest_begun(cycle: Cycle, day: date) -> Days | None:
    """The latest repetition that begins on a day or earlier."""
    return max(
        (days for days in cycle.around(day) if days.first <= day), key=_first_day, default=None
    )


def latest_ended(cycle: Cycle, day: date) -> Days | None:
    """The latest repetition that is over when a day begins."""
    return max(
        (days for days in cycle.around(day) if days.stop <= day), key=_first_day, default=None
    )


def earliest_from(cycle: Cycle, day: date) -> Days | None:
    """The earliest repetition that begins on a day or later."""
    return next((days for days in cycle.around(day) if days.first >= day), None)


def _easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher."""
    century, of_century = divmod(year, 100)
    leap, rest = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * (year % 19) + century - leap - correction + 15) % 30
    weekday = (32 + 2 * rest + 2 * (of_century // 4) - epact - of_century % 4) % 7
    late = (year % 19 + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _first_day(days: Days) -> date:
    return days.first


def _months(index: int, size: int, count: int) -> Days:
    return _span((index // size + count) * size, size)


def _span(index: int, months: int) -> Days:
    return Days(_month(index), _month(index + months))


def _month(index: int) -> date:
    return date(index // 12, index % 12 + 1, 1)


def _add_months(day: date, months: int) -> date:
    month = _month(day.year * 12 + day.month - 1 + months)
    return month.replace(day=min(day.day, monthrange(month.year, month.month)[1]))


def calendar_at(now: object, *, week_start: object, timezone: object) -> Calendar:
    """The calendar of a moment and a zone; raises `InvalidInput` for what can be neither."""
    if not isinstance(now, datetime) or now.utcoffset() is None:
        raise InvalidInput(
            f"now must be an aware datetime; got {now!r}. Pass for example datetime.now(UTC)."
        )
    if week_start != "monday" and week_start != "sunday":
        raise InvalidInput(
            f'week_start must be "monday" or "sunday"; got {week_start!r}. Pass one of the two.'
        )
    zone = now.tzinfo if timezone is None else timezone
    if not isinstance(zone, tzinfo):
        raise InvalidInput(
            f"timezone must be a tzinfo; got {timezone!r}. Pass for example "
            'ZoneInfo("Europe/Berlin").'
        )
    return Calendar(now=now.astimezone(UTC), zone=zone, week_start=week_start)


_BEGINNING = datetime.min.replace(tzinfo=UTC)


def united(windows: Sequence[Window]) -> tuple[Window, ...]:
    """Unite windows that overlap or touch; a window that is open at both ends is the
    same as none.
    """
    joined: list[Window] = []
    for window in sorted(windows, key=lambda window: window.start or _BEGINNING):
        before = joined[-1] if joined else None
        if before is None or (
            before.stop is not None and before.stop < (window.start or _BEGINNING)
        ):
            joined.append(window)
        else:
            stop = (
                None
                if before.stop is None or window.stop is None
                else max(before.stop, window.stop)
            )
            joined[-1] = Window(start=before.start, stop=stop)
    return () if joined == [Window(start=None, stop=None)] else tuple(joined)
