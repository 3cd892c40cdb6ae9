"""Lengths of time: 5 days, a couple of weeks, half a year, an hour and a half, two or three months,
about a fortnight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .calendar import Duration, Unit
from .cursor import Cursor, first_fitting
from .words import FEW, FORTNIGHTS, MANY, NUMBERS, TENS

ABOUT = (
    "about",
    "around",
    "roughly",
    "approximately",
    "approx",
    "circa",
    "some",
    "nearly",
    "almost",
    "~",
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount; `most` is set if it is a range, such as two or three."""

    count: int
    about: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Length:
    """So many units of time, from `count` to `most`, give or take `slack` units."""

    count: int
    unit: Unit
    most: int
    slack: int = 0

    @property
    def duration(self) -> Duration:
        """It as a duration, with the larger number."""
        return Duration.of(self.most, self.unit)


# Half a unit in smaller ones. Months and weeks have no exact half, so that there is some slack.
# the smaller unit, how many make a whole, and a half; the slack
_HALVES: dict[Unit, tuple[Unit, int, int, int]] = {
    "minute": ("second", 60, 30, 0),
    "hour": ("minute", 60, 30, 0),
    "day": ("hour", 24, 12, 3),
    "week": ("day", 7, 4, 1),
    "month": ("day", 30, 15, 3),
    "quarter": ("day", 91, 45, 7),
    "year": ("month", 12, 6, 0),
    "decade": ("year", 10, 5, 0),
}


def amount(cursor: Cursor) -> Amount | None:
    """Read how many: 5, five, twenty-one, a hundred, a, a couple of, a few."""
    if cursor.take("a few", "few", "several"):
        return Amount(FEW, about=True)
    if cursor.take("a couple of", "a couple", "couple of", "couple"):
        return Amount(2)
    count = first_fitting(
        cursor, _many, _number, lambda cursor: 1 if cursor.take("a", "an") else None
    )
    return None if count is None else Amount(count)


def length(cursor: Cursor) -> Length | None:
    """Read a length of time."""
    return first_fitting(cursor, _part_of_hour, _half, _whole)


def _number(cursor: Cursor) -> int | None:
    """Read a number in digits or in words below a hundred."""
    tens = cursor.lookup(TENS)
    if tens is not None:
        place = cursor.place
        cursor.take("-")
        ones = cursor.lookup(NUMBERS)
        if ones is None or ones > 9:
            cursor.place = place
            return tens
        return tens + ones
    count = cursor.lookup(NUMBERS)
    return cursor.number() if count is None else count


def _many(cursor: Cursor) -> int | None:
    """Read a dozen, two hundred, a hundred and twenty."""
    if cursor.take("half a dozen"):
        return MANY["dozen"] // 2
    count = 1 if cursor.take("a") else cursor.lookup(NUMBERS)
    many = cursor.lookup(MANY)
    if many is None:
        return None
    total = many * (1 if count is None else count)
    place = cursor.place
    more = _number(cursor) if cursor.take("and") else None
    if more is None or more > 99:
        cursor.place = place
        return total
    return total + more


def _part_of_hour(cursor: Cursor) -> Length | None:
    if cursor.take("quarter of an hour", "a quarter of an hour", "quarter hour", "a quarter hour"):
        return Length(15, "minute", 15)
    return Length(45, "minute", 45) if cursor.take("three quarters of an hour") else None


def _half(cursor: Cursor) -> Length | None:
    """Read half a year, a half hour, one and a half years, a year and a half, 1.5 hours."""
    about = bool(cursor.take(*ABOUT))
    half = first_fitting(cursor, _half_alone, _half_before_unit, _half_after_unit)
    if half is None:
        return None
    whole, unit = half
    if unit not in _HALVES:
        return None
    smaller, in_whole, in_half, slack = _HALVES[unit]
    count = whole * in_whole + in_half
    return Length(count, smaller, count, slack + about)


def _half_alone(cursor: Cursor) -> tuple[int, Unit] | None:
    unit = cursor.unit() if cursor.take("half a", "half an", "a half", "half") else None
    return None if unit is None else (0, unit)


def _half_before_unit(cursor: Cursor) -> tuple[int, Unit] | None:
    whole = _number(cursor)
    half = cursor.take("and a half", ". 5") if whole is not None else ""
    unit = cursor.unit() if half else None
    return None if whole is None or unit is None else (whole, unit)


def _half_after_unit(cursor: Cursor) -> tuple[int, Unit] | None:
    whole = _number(cursor)
    if whole is None:
        cursor.take("a", "an")  # or nothing: the last hour and a half
        whole = 1
    unit = cursor.unit()
    return (whole, unit) if unit is not None and cursor.take("and a half") else None


def _whole(cursor: Cursor) -> Length | None:
    about = bool(cursor.take(*ABOUT))
    many = _amounts(cursor)
    if many is None:
        return None
    weeks = cursor.take(*FORTNIGHTS)
    unit: Unit | None = "week" if weeks else cursor.unit()
    if unit is None:
        return None
    if about and unit == "year":  # to a few months, not to a year
        return Length(12 * many.count, "month", 12 * (many.most or many.count), FEW)
    times = 2 if weeks else 1
    result = Length(
        many.count * times, unit, (many.most or many.count) * times, int(about or many.about)
    )
    if cursor.take("or two"):  # a day or two
        return replace(result, most=2 * times)
    return replace(result, slack=1) if cursor.take("or so") else result


def _amounts(cursor: Cursor) -> Amount | None:
    """Read how many, or from how many to how many."""
    between = cursor.take("between")
    least = amount(cursor)
    if least is None:
        return None
    place = cursor.place
    joined = cursor.take("and", "to", "-") if between else cursor.take("or", "to", "-", "\u2013")
    most = amount(cursor) if joined else None
    if most is None or most.count < least.count:
        cursor.place = place
        return None if between else least
    return Amount(least.count, most=most.count)
