"""Hits in time: what has ended, what was not confirmed for long, and what counts less because it was said long ago."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from ..base.settings import Settings
from ..base.types import Hit
from ..timeframes import day_in_words, holds_in_words, latest_span, length_for, share_left

# What has ended keeps so much of its score where something else has not ended. docs/why/times.md says why.
ENDED_SHARE = 0.9
# What is infinitely old keeps so much of its score where it decays.
DECAYED_SHARE = 0.7


def in_time(hits: Sequence[Hit], *, at: datetime, zone: tzinfo, settings: Settings) -> list[Hit]:
    """The hits with what is to be said of when they hold; what has ended loses a tenth of its score, what decays up to three.

    What has ended loses nothing where all have. Of equal scores what still holds comes first. Hits that lose nothing stay in
    their order.
    """
    if not (
        settings.decay or settings.stale_after or any(each.valid is not None for hit in hits for each in hit.mentions)
    ):
        return list(hits)
    marked = [_marked(hit, at=at, zone=zone, settings=settings) for hit in hits]
    if settings.decay:
        marked = [_decayed(hit, at=at, settings=settings) for hit in marked]
    ended = sum(hit.ended for hit in marked)
    if 0 < ended < len(marked):
        marked = [_lowered(hit, ENDED_SHARE, "ended") if hit.ended else hit for hit in marked]
    elif not settings.decay:
        return marked
    return sorted(marked, key=lambda hit: (-hit.score, hit.ended))


def _marked(hit: Hit, *, at: datetime, zone: tzinfo, settings: Settings) -> Hit:
    span = latest_span([mention.valid for mention in hit.mentions])
    words = [holds_in_words(span, at=at, zone=zone)]
    stale = False
    if settings.stale_after and hit.mention is not None:
        after = length_for(settings.stale_after, tags=hit.node.tags, role=hit.mention.role)
        stale = after is not None and at - hit.mention.at >= after
        words.append(f"not confirmed since {day_in_words(hit.mention.at, zone)}" if stale else None)
    holds = ", ".join(filter(None, words))
    if not holds:
        return hit
    ended = span is not None and span.stop is not None and span.stop <= at
    return replace(hit, holds=holds, ended=ended, stale=stale)


def _decayed(hit: Hit, *, at: datetime, settings: Settings) -> Hit:
    if hit.mention is None:
        return hit
    half_life = length_for(settings.decay, tags=hit.node.tags, role=hit.mention.role)
    if half_life is None:
        return hit
    left = share_left(at - hit.mention.at, half_life)
    return _lowered(hit, DECAYED_SHARE + (1 - DECAYED_SHARE) * left, "decay")


def _lowered(hit: Hit, share: float, signal: str) -> Hit:
    loss = hit.score * (1 - share)
    return replace(hit, score=hit.score - loss, signals={**hit.signals, signal: -loss})
