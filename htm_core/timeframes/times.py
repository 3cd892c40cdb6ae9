"""When a memory holds and how long it is kept, from what `remember` was given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo

from ..base.errors import InvalidInput
from ..base.types import TimeframeLike, Window
from ..base.validation import check_time
from .dates import month_name

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def latest_span(spans: Sequence[Window | None]) -> Window | None:
    """Of several times at which the same was said to hold, the one that ends last; None where it
    holds always, or without any.
    """
    known = [span for span in spans if span is not None]
    if not known or len(known) < len(spans):
        return None
    return max(known, key=lambda span: (span.stop is None, span.stop or _BEGINNING))


def holds_in_words(span: Window | None, *, at: datetime, zone: tzinfo) -> str | None:
    """Return the words for when something holds, at a time: "until 12 May 2026", "ended 12 May
    2026", "from 1 June 2027".

    None where it holds always, or has begun and does not end.
    """
    if span is None:
        return None
    last = None if span.stop is None else day_in_words(span.stop - timedelta(microseconds=1), zone)
    if span.stop is not None and span.stop <= at:
        return f"ended {last}"
    if span.start is not None and span.start > at:
        return f"from {day_in_words(span.start, zone)}" + (f" to {last}" if last else "")
    return f"until {last}" if last else None


def day_in_words(moment: datetime, zone: tzinfo) -> str:
    """A day such as "12 May 2026"."""
    day = moment.astimezone(zone).date()
    return f"{day.day} {month_name(day.month)} {day.year}"


def short_day(day: date, *, today: date | None = None) -> str:
    """A day such as "12 May 2026", without its year where that is `today`'s: a model reads each
    digit as a token.
    """
    year = "" if today is not None and day.year == today.year else f" {day.year}"
    return f"{day.day} {month_name(day.month)[:3]}{year}"


def share_left(age: timedelta, half_life: timedelta) -> float:
    """Return the share of something that is left after a time, with half left after
    the half-life.
    """
    return float(0.5 ** max(0.0, age / half_life))


def one_span(windows: Sequence[Window], valid: TimeframeLike) -> Window | None:
    """The one span of time that `valid` names, None for always; raises `InvalidInput`
    for several.
    """
    if len(windows) > 1:
        raise InvalidInput(
            f"expected valid to be one span of time, got {len(windows)} of them: {valid!r:.120}; "
            "remember it once for each"
        )
    return windows[0] if windows else None


def expiry_of(
    ttl: timedelta | float | None, expires_at: datetime | None, *, at: datetime
) -> datetime | None:
    """The moment from which something said at a time is hidden, None for never; raises
    `InvalidInput`.

    A `ttl` of `math.inf` is for good.
    """
    if ttl is not None and expires_at is not None:
        raise InvalidInput(
            f"expected ttl or expires_at, got both: {ttl!r} and {expires_at!r}; give one of them"
        )
    if expires_at is not None:
        moment = check_time(expires_at, what="expires_at")
        if moment <= at:
            raise InvalidInput(
                f"expected expires_at to be later than the memory is said, at {at.isoformat()}, "
                f"got {moment.isoformat()}; "
                "leave it out to keep the memory"
            )
        return moment
    if ttl is None:
        return None
    length = lifetime(ttl, what="ttl")
    if length is None:
        return None
    try:
        return at + length
    except OverflowError:
        return None  # beyond the year 9999


def length_for(
    lengths: Sequence[tuple[str, timedelta]], *, tags: Sequence[str], role: str | None
) -> timedelta | None:
    """The length of time that settings give for something of these tags and this role; None where
    they give none.

    A tag says more than a role, and a longer tag more than one above it. Of tags that say as much,
    the longest time counts.
    """
    known = dict(lengths)
    if not known:
        return None
    above = {
        ":".join(tag.split(":")[:levels]) for tag in tags for levels in range(1, tag.count(":") + 2)
    } & known.keys()
    if above:
        most = max(tag.count(":") for tag in above)
        return max(known[tag] for tag in above if tag.count(":") == most)
    return known.get(role) if role is not None else None


def lifetime(ttl: object, *, what: str) -> timedelta | None:
    """A length of time above 0, from a timedelta or seconds; None for `math.inf`."""
    if isinstance(ttl, int | float) and not isinstance(ttl, bool):
        if ttl == math.inf:
            return None
        with suppress(OverflowError, ValueError):  # NaN, or more than a timedelta can hold
            ttl = timedelta(seconds=ttl)
    if not isinstance(ttl, timedelta) or ttl <= timedelta(0):
        raise InvalidInput(
            f"expected {what} to be a timedelta or seconds, above 0, got {ttl!r:.80}; for example "
            "timedelta(days=30)"
        )
    return ttl
