"""The words that options take, which `typing.get_args` lists for checks at run time, and the
options of a recall; spans of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, TypeAlias, TypedDict


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


Mode = Literal["hybrid", "vector", "text"]
Scope = Literal["user", "session", "tenant"]
Role = Literal["user", "assistant", "system", "tool"]
Source = Literal["user", "assistant", "tool", "file", "web", "import"]
Embed = Literal["queue", "now"]
PolicyName = Literal["importance", "lfu_lru", "lru", "fifo"]
OrderName = Literal["balanced", "balanced:access", "recent", "important", "frequent"]
GroupRole = Literal["active", "passive"]
RelationKind = Literal["related", "supports", "contradicts", "derived"]
RelationOrigin = Literal["tags", "proposition", "link"]
JobKind = Literal[
    "embed",
    "tag",
    "propose",
    "relate",
    "supersede",
    "judge",
    "count",
    "profile",
    "merge",
    "summarize",
]
SupersessionRelation = Literal["supersedes", "contradicts"]
SaidWhen = Literal["last", "earlier"]
SupersessionState = Literal["standing", "confirmed", "undone"]
TidyKind = Literal["profile", "merge", "summarize"]
ProfileSection = Literal[
    "about", "instructions", "preferences", "people", "places", "work", "plans"
]
JobState = Literal["waiting", "claimed", "parked"]
CollectionKind = Literal["documents", "langgraph", "langchain", "llamaindex"]
FilterTarget = Literal["metadata", "value"]

Metadata = Mapping[str, Any]

DEFAULT_IMPORTANCE = 1.0


class MemoryFilters(TypedDict, total=False):
    """Filters on memories, each of which may be None for no filter:

    - `where`: conditions on metadata, such as {"project": "atlas"}.
    - `tags`: all of them must be on the memory, each itself or by a tag below it.
    - `timeframe`: when it was said, such as "last week", "since Monday", "2026-01-15", a date, a
      datetime, a `Window`, a pair of datetimes or a list of these; "auto" takes the time out of the
      question itself.
    """

    where: Mapping[str, Any] | None
    tags: Sequence[str] | None
    timeframe: TimeframeLike


class RecallFilters(MemoryFilters, total=False):
    """Filters of a recall, which must hold for one and the same mention; None is no filter:

    - `as_of`: what was known then: said by then and not yet expired, and the values that keys had.
      What was forgotten stays so.
    - `valid_at`: what holds then, or says nothing of when it holds. `Hit.ended` marks what no
      longer holds then, else now.
    - `sources`: where it came from, such as ["user"]; None among them is the program itself.
      `min_trust`: from 0 to 4.

    and those of `MemoryFilters`. Times have a time zone.
    """

    as_of: datetime | None
    valid_at: datetime | None
    sources: Sequence[Source | None] | None
    min_trust: int | None


class RecallOptions(RecallFilters, total=False):
    """Options of `Memory.recall`, for functions of your own that hand them on as
    `**options: Unpack[RecallOptions]`:

    - `limit`: hits at most, up to 1,000. `min_score`: from 0 to 1; scores compare between queries.
    - `budget`: keep the best whole hits that fit so many tokens, and with what is left the message
      right before each.
    - `mode`: "hybrid" searches by meaning and by words, "vector" and "text" by one of them.
      "vector" gives the nearest neighbours, nearest first; of the signals only those count whose
      weights `Settings.signals` was given.
    - `scope`: "user" (the default) is the user's own memories and what the tenant shares, "session"
      the memory's session only, "tenant" everybody's.
    - `robot`: one or several names. `session`: another session than the memory's. Both are filters
      on mentions, too.
    - `hold`: put the hits into working memory, and count the access. `explain`: fill `Hit.signals`.
    - `signals`: weights of signals in this recall, such as {"context": 0}; the others weigh what
      `Settings.signals` says.
    - `reader`: whether the embedded reader puts the first hits in order, in some tenths of a
      second; None as the memory says.

    and those of `RecallFilters`.
    """

    limit: int
    budget: int | None
    mode: Mode
    scope: Scope | None
    robot: str | Sequence[str] | None
    session: str | None
    min_score: float
    hold: bool
    explain: bool
    signals: Mapping[str, float] | None
    reader: bool | None


RECALL: RecallOptions = {
    "limit": 10,
    "mode": "hybrid",
    "min_score": 0.0,
    "hold": True,
    "explain": False,
}
