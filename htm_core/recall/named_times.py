"""The times that a question names: those that limit a recall, those that it asks about, and what speaks of another day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..base.settings import Signals
from ..base.types import AppliedTimeframe, Hit, Mode, TimeframeLike, Window
from ..engine.engine import Engine
from ..timeframes import extract_filter
from . import query_signals
from .search import RecallQuery
from .topicless import names_only_a_time

# The times that a query names hold an answer if a hit from them has at least this relevance.
ANSWERS = 0.1
# In another month and on another weekday: "yesterday" is another day then, "in May" is not.
ANOTHER_TIME = timedelta(days=40)


@dataclass(frozen=True, slots=True)
class NamedTimes:
    """The text of a query to search for, and the times to search in.

    `text` is searched for in the times of `applied`, in all where that is None; `elsewhere` in all times where they hold no answer.
    `then` are the times that the query asks about, where they are over; `alone` says that it names nothing else, and they count
    from now.
    """

    text: str
    elsewhere: str
    applied: AppliedTimeframe | None = None
    then: tuple[Window, ...] = ()
    alone: bool = False


def times_of(engine: Engine, text: str, timeframe: TimeframeLike, *, mode: Mode) -> NamedTimes:
    """The times of a query. "auto" takes out of the text a time that says when, and limits to it.

    A time that counts from now, such as "yesterday", is another day in a memory that says so. So it is no word to search for where
    "auto" searches all times, nor in a query that names nothing else.
    """
    auto = timeframe == "auto"
    chosen = () if auto else engine.time_windows(timeframe)
    words = timeframe if isinstance(timeframe, str) else None
    applied = AppliedTimeframe(windows=chosen, words=words) if chosen else None
    now = engine.clock()
    rest, windows, words = _asked_in(engine, text, now=now) if auto or mode == "hybrid" else (text, (), None)
    if not windows:
        return NamedTimes(text, text, applied)
    then = windows if all(each.stop is not None and each.stop <= now for each in windows) else ()
    from_now = _counts_from_now(engine, text, windows)
    alone = from_now and bool(then) and names_only_a_time(engine, text)
    if auto:
        named = AppliedTimeframe(windows=windows, words=words)
        return NamedTimes(rest, rest if from_now else text, named, then, alone)
    return NamedTimes(rest if alone and applied is None else text, text, applied, then, alone)


def moments(engine: Engine, text: str, signals: Signals) -> tuple[Window, ...]:
    """The times that a text names, where they count."""
    return _named_in(engine, text, now=engine.clock()) if signals.time else ()


def speaking_of_another_day(engine: Engine, query: RecallQuery, hits: Sequence[Hit]) -> frozenset[str]:
    """The ids of hits that speak of another day than the one about which alone a question asks: of "yesterday", long ago."""
    if not query.asks_a_time_alone:
        return frozenset()
    return frozenset(
        hit.node.id
        for hit in hits
        if hit.mention is not None
        and not any(_has(each, hit.mention.at) for each in query.then)
        and (named := _named_in(engine, hit.passage, now=hit.mention.at))
        and not any(_overlap(one, other) for one in named for other in query.then)
    )


def held_during(windows: Sequence[Window], start: datetime, stop: datetime | None) -> bool:
    """True if what held between two moments, the second None for still, held at any of these times."""
    return any(_overlap(each, Window(start=start, stop=stop)) for each in windows)


def _asked_in(engine: Engine, text: str, *, now: datetime) -> tuple[str, tuple[Window, ...], str | None]:
    return extract_filter(text, now=now, week_start=engine.settings.week_start, timezone=engine.timezone)


def _named_in(engine: Engine, text: str, *, now: datetime) -> tuple[Window, ...]:
    return query_signals.times_in(text, now=now, week_start=engine.settings.week_start, timezone=engine.timezone)


def _counts_from_now(engine: Engine, text: str, windows: Sequence[Window]) -> bool:
    """True if the time in a text depends on the day, as that of "yesterday" does: in a memory it is another. May is a name."""
    _, others, _ = _asked_in(engine, text, now=engine.clock() - ANOTHER_TIME)
    return [_in_its_year(each) for each in others] != [_in_its_year(each) for each in windows]


def _in_its_year(window: Window) -> str:
    return f"{window.start:%m-%d}" if window.start else ""


def _has(window: Window, moment: datetime) -> bool:
    return (window.start is None or window.start <= moment) and (window.stop is None or moment < window.stop)


def _overlap(one: Window, other: Window) -> bool:
    return (one.stop is None or other.start is None or other.start < one.stop) and (
        other.stop is None or one.start is None or one.start < other.stop
    )
