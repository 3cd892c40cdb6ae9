"""Times as a person reads them: in the time zone of the memory, since a model is shown their dates.

What is said at half past eleven at night in Lisbon is of that day there, and of the next one in
UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from ..base.types import Hit, Mention, Supersession


def local_hits(hits: Sequence[Hit], zone: tzinfo) -> list[Hit]:
    """Hits whose mentions and changes have their times in a zone. They are the same moments."""
    return (
        list(hits)
        if _is_utc(zone, datetime.now(UTC).date())
        else [_local_hit(hit, zone) for hit in hits]
    )


def local_mentions(mentions: Sequence[Mention], zone: tzinfo) -> list[Mention]:
    """Mentions with the times at which they were said in a zone."""
    return (
        list(mentions)
        if _is_utc(zone, datetime.now(UTC).date())
        else [_local(each, zone) for each in mentions]
    )


@lru_cache(maxsize=8)  # each recall asks
def _is_utc(zone: tzinfo, day: date) -> bool:
    """True if a zone is UTC, on a day and half a year later."""
    noon = datetime.combine(day, time(12), UTC)
    return all(not (noon + timedelta(days=days)).astimezone(zone).utcoffset() for days in (0, 182))


def _local_hit(hit: Hit, zone: tzinfo) -> Hit:
    return replace(
        hit,
        mentions=tuple(_local(each, zone) for each in hit.mentions),
        before=None if hit.before is None else _local(hit.before, zone),
        formerly=tuple(_local_change(each, zone) for each in hit.formerly),
        superseded_by=None if hit.superseded_by is None else _local_change(hit.superseded_by, zone),
    )


def _local(mention: Mention, zone: tzinfo) -> Mention:
    return replace(mention, at=mention.at.astimezone(zone))


def _local_change(change: Supersession, zone: tzinfo) -> Supersession:
    return replace(
        change,
        newer=_local(change.newer, zone),
        older=_local(change.older, zone),
        holds_from=change.holds_from.astimezone(zone),
    )
