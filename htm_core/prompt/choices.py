"""The filters of a recall: those set when a component is made, and those of one of its runs.

A run can only narrow what the component was made with. Its `where` holds beside the component's,
and so do its tags, its sources and its least trust; its times and its limit take the place of the
component's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self, cast

from ..base.errors import InvalidInput
from ..base.filters.filters import compile_where
from ..base.trust import check_sources, check_trust
from ..base.types import MemoryFilters, RecallFilters, Source, TimeframeLike
from ..base.validation import check_time
from ..text.tags import normalize_all
from ..timeframes import parse
from .messages import safe_repr

__all__ = [
    "LARGEST_LIMIT", "NAMES", "Choices", "MemoryFilters", "PromptFilters", "RecallFilters",
    "TimeframeLike", "check_choices",
]  # fmt: skip

# What a run may choose, by the names that it has everywhere.
NAMES = ("limit", *RecallFilters.__annotations__)
# Recall answers with no more hits.
LARGEST_LIMIT = 1_000


class PromptFilters(MemoryFilters, total=False):
    """Filters of what a prompt shows:

    - `min_score`: the lowest score, from 0 (the default) to 1, of a passage that is shown. What is
      shown and how much of it goes by
      relevance: see docs/why/reader.md.
    - `min_trust`: the lowest trust, from 0 (the default) to 4, of what is shown: 1 leaves out pages
      of the web, 2 results of tools, too, 3 files and imports, 4 all but the user's own words. What
      comes from outside is marked in any case.

    and those of `MemoryFilters`.
    """

    min_score: float
    min_trust: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Filters and limit of a recall; the fields are the arguments of `Memory.recall`. Make one with
    `check_choices`.
    """

    limit: int
    where: Mapping[str, Any] | None = None
    tags: tuple[str, ...] | None = None
    timeframe: TimeframeLike = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    sources: tuple[Source | None, ...] | None = None
    min_trust: int | None = None

    def narrowed(self, run: Mapping[str, Any]) -> Self:
        """These choices, narrowed by those of a run; what it leaves out, or has as None, stays.

        Raises `InvalidInput` for what recall would refuse.
        """
        options = {name: run[name] for name in NAMES if run.get(name) is not None}
        if not options:
            return self
        checked = check_choices(**{"limit": self.limit, **options})
        return replace(
            self,
            limit=checked.limit,
            where=_both(self.where, checked.where),
            tags=tuple(dict.fromkeys([*(self.tags or ()), *(checked.tags or ())])) or None,
            timeframe=self.timeframe if checked.timeframe is None else checked.timeframe,
            as_of=checked.as_of or self.as_of,
            valid_at=checked.valid_at or self.valid_at,
            sources=_of_both(self.sources, checked.sources),
            min_trust=max(
                (each for each in (self.min_trust, checked.min_trust) if each is not None),
                default=None,
            ),
        )

    def filters(self) -> RecallFilters:
        """All but the limit, as arguments of `Memory.recall`."""
        filters = {name: getattr(self, name) for name in RecallFilters.__annotations__}
        return cast(
            RecallFilters, {name: value for name, value in filters.items() if value is not None}
        )


def check_choices(
    *,
    limit: int,
    where: Mapping[str, Any] | None = None,
    tags: Sequence[str] | None = None,
    timeframe: TimeframeLike = None,
    as_of: datetime | str | None = None,
    valid_at: datetime | str | None = None,
    sources: Sequence[Source | None] | None = None,
    min_trust: int | None = None,
    least: int = 0,
) -> Choices:
    """The choices, checked where they are given rather than when somebody asks something; `limit`
    is from `least` to 1,000.

    An empty filter is none. A time may be one in ISO 8601 too, since a run's configuration may be
    JSON.
    Raises `InvalidInput` for what recall would refuse. Relative times are read anew by each recall.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not least <= limit <= LARGEST_LIMIT:
        raise InvalidInput(
            f"expected limit to be a whole number from {least} to {LARGEST_LIMIT:,}, got "
            f"{safe_repr(limit):.80}"
        )
    compile_where(where)
    if timeframe != "auto":
        parse(timeframe, now=datetime.now(UTC))
    if sources is not None:
        check_sources(sources)
    return Choices(
        limit=limit,
        where=where or None,
        tags=_checked_tags(tags),
        timeframe=timeframe,
        as_of=_checked_time(as_of, what="as_of"),
        valid_at=_checked_time(valid_at, what="valid_at"),
        sources=None if sources is None else tuple(sources),
        min_trust=None if min_trust is None else check_trust(min_trust),
    )


def _checked_time(time: datetime | str | None, *, what: str) -> datetime | None:
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            raise InvalidInput(
                f"expected {what} to be a datetime, or one in ISO 8601 such as "
                f"2026-05-01T12:00:00Z, got {time!r:.80}"
            ) from None
    return None if time is None else check_time(time, what=what)


def _of_both(
    own: tuple[Source | None, ...] | None, run: tuple[Source | None, ...] | None
) -> tuple[Source | None, ...] | None:
    """The sources that both let through."""
    if own is None or run is None:
        return run if own is None else own
    return tuple(source for source in own if source in run)


def _checked_tags(tags: Sequence[str] | None) -> tuple[str, ...] | None:
    if tags is None:
        return None
    if isinstance(tags, str | bytes) or not isinstance(tags, Sequence | set | frozenset):
        raise InvalidInput(
            f"expected tags to be a list of tags such as ['work:api'], got {safe_repr(tags):.80}"
        )
    return normalize_all(list(_texts(tags))) or None


def _texts(tags: Sequence[Any]) -> Iterator[str]:
    for tag in tags:
        if not isinstance(tag, str):
            raise InvalidInput(f"expected every tag to be a text, got {safe_repr(tag):.80}")
        yield tag


def _both(
    first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    return {"$and": [first, second]} if first and second else first or second
