"""Spans of time, and the ways to say one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A span of time from `start`, inclusive, to `stop`, exclusive; None is open. Both have a time
    zone.
    """

    start: datetime | None
    stop: datetime | None

    def __contains__(self, at: datetime) -> bool:
        """True if a moment is in it."""
        return (self.start is None or at >= self.start) and (self.stop is None or at < self.stop)


# Ways to say when: words such as "last week", a day, a moment, a window, or the two ends of one.
Moment: TypeAlias = date | datetime | None
OneTimeframe: TypeAlias = str | date | datetime | Window | tuple[Moment, Moment]
TimeframeLike: TypeAlias = OneTimeframe | Sequence[OneTimeframe] | None
