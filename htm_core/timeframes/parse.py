"""Reading a timeframe in words, dates or datetimes as windows of time.

`docs/why/times.md` says what each phrase means, and why. A timeframe that is not understood raises
`InvalidInput`; only None means no filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, tzinfo

from ..base.errors import InvalidInput
from ..base.limits import TIMEFRAME_LENGTH, TIMEFRAMES
from ..base.types import TimeframeLike, Window
from .calendar import ONE_DAY, Calendar, Days, WeekStart, calendar_at, united
from .cursor import Cursor
from .phrases import phrase
from .words import tokens

EXAMPLES = (
    '"last week", "5 days ago", "since Monday", "between 1 and 15 January", "last 30 days", "Q3 '
    '2025", "2026-01-15", '
    '"2026-01-01/2026-01-15"'
)


def parse(
    timeframe: TimeframeLike,
    *,
    now: datetime,
    week_start: WeekStart = "monday",
    timezone: tzinfo | None = None,
) -> tuple[Window, ...]:
    """Read a timeframe as windows of time; None gives no window, that is, no filter.

    The windows are in UTC and ascending; windows that overlap or touch are united. Days, weeks and
    months begin at midnight in `timezone`, else in the zone of `now`. A pair includes its start and
    excludes its stop, but a plain date as the stop is included, and None leaves an end open. A date
    or datetime alone is that whole day.
    """
    calendar = calendar_at(now, week_start=week_start, timezone=timezone)
    if timeframe is None:
        return ()
    try:
        return united(_windows(timeframe, calendar))
    except OverflowError as reason:
        raise _refusal(timeframe, "it lies outside of the years 1 to 9999") from reason


def _windows(timeframe: object, calendar: Calendar) -> Sequence[Window]:
    if isinstance(timeframe, list) or (isinstance(timeframe, tuple) and not _is_pair(timeframe)):
        return _several(timeframe, calendar)
    return _one(timeframe, calendar)


def _several(timeframes: Sequence[object], calendar: Calendar) -> list[Window]:
    if not timeframes:
        raise InvalidInput(
            "timeframe must name a time; got an empty sequence. Pass None to search all of time."
        )
    if (
        isinstance(timeframes, tuple)
        and len(timeframes) == 2
        and all(isinstance(one, str | date) for one in timeframes)
    ):
        raise _refusal(
            timeframes,
            "with texts it could be a range or two windows: write one text, or a list of windows",
        )
    if len(timeframes) > TIMEFRAMES:
        raise InvalidInput(
            f"expected at most {TIMEFRAMES:,} timeframes in a list, got {len(timeframes):,}; "
            "unite them, or ask several times"
        )
    return [window for timeframe in timeframes for window in _one(timeframe, calendar)]


def _one(timeframe: object, calendar: Calendar) -> Sequence[Window]:
    if isinstance(timeframe, str):
        return _read(timeframe, calendar)
    if isinstance(timeframe, Window):
        return [_pair(timeframe.start, timeframe.stop, calendar)]
    if isinstance(timeframe, tuple) and _is_pair(timeframe):
        return [_pair(timeframe[0], timeframe[1], calendar)]
    if isinstance(timeframe, date):
        first = calendar.day(_aware(timeframe)) if isinstance(timeframe, datetime) else timeframe
        return [calendar.window(Days(first, first + ONE_DAY))]
    raise _refusal(
        timeframe, "it is not a text, date, datetime, Window, pair of datetimes or list of these"
    )


def _read(text: str, calendar: Calendar) -> Sequence[Window]:
    if len(text) > TIMEFRAME_LENGTH:
        raise _refusal(text, f"it has more than {TIMEFRAME_LENGTH} characters")
    try:
        words = Cursor(tokens(_bare(text)), calendar=calendar)
        parsed = phrase(words)
    # InvalidInput from the grammar, or a date that Python's own calendar refuses
    except ValueError as reason:
        raise _refusal(text, str(reason)) from reason
    if parsed is None or not words.at_end:
        raise _refusal(
            text,
            "it is not understood" if text.strip() else "it is empty; None searches all of time",
        )
    return parsed.windows


def _bare(text: str) -> str:
    """A text without quotation marks around it, and without a sign that ends a sentence."""
    text = text.strip().strip('"\u201c\u201d').rstrip("?!,;")
    return text[:-1] if text.endswith(".") and not text.endswith("..") else text


def _is_pair(timeframe: Sequence[object]) -> bool:
    return len(timeframe) == 2 and all(end is None or isinstance(end, date) for end in timeframe)


def _pair(start: object, stop: object, calendar: Calendar) -> Window:
    window = Window(start=_end(start, calendar, days=0), stop=_end(stop, calendar, days=1))
    if window.start is not None and window.stop is not None and window.start >= window.stop:
        raise _refusal((start, stop), "it is over before it begins")
    return window


def _end(end: object, calendar: Calendar, *, days: int) -> datetime | None:
    if isinstance(end, datetime):
        return _aware(end).astimezone(UTC)
    if isinstance(end, date):
        return calendar.at(end + days * ONE_DAY)
    if end is None:
        return None
    raise _refusal(end, "a window begins and stops with a datetime, a date or None")


def _aware(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise _refusal(moment, "it has no time zone: add one, for example .replace(tzinfo=UTC)")
    return moment


def _refusal(timeframe: object, reason: str) -> InvalidInput:
    shown = repr(timeframe)
    shown = shown if len(shown) <= 120 else f"{shown[:120]}…"
    return InvalidInput(
        f"timeframe must name a time; got {shown}: {reason}. Write for example {EXAMPLES}."
    )
