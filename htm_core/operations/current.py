"""What no longer holds: marked in the hits, and after what does where both answer about as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from ..rules.times import holds_in_words, latest_span
from ..types import Hit

# What has ended keeps so much of its score where something else has not ended. docs/why/times.md says why.
ENDED_SHARE = 0.9


def current_first(hits: Sequence[Hit], *, at: datetime, zone: tzinfo) -> list[Hit]:
    """The hits with what is to be said of when they hold; those that had ended by a time lose a tenth of their score.

    They lose nothing where all have ended. Of equal scores what still holds comes first.
    """
    marked = [_marked(hit, at=at, zone=zone) for hit in hits]
    ended = sum(hit.ended for hit in marked)
    if not ended or ended == len(marked):
        return marked
    return sorted((_lowered(hit) if hit.ended else hit for hit in marked), key=lambda hit: (-hit.score, hit.ended))


def _marked(hit: Hit, *, at: datetime, zone: tzinfo) -> Hit:
    span = latest_span([mention.valid for mention in hit.mentions])
    holds = holds_in_words(span, at=at, zone=zone)
    if holds is None:
        return hit
    return replace(hit, holds=holds, ended=span is not None and span.stop is not None and span.stop <= at)


def _lowered(hit: Hit) -> Hit:
    loss = hit.score * (1 - ENDED_SHARE)
    return replace(hit, score=hit.score - loss, signals={**hit.signals, "ended": -loss})
