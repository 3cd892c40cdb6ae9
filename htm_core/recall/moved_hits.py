"""A hit that a later step of recall puts in another place: it gets the score of that place, so that scores still descend."""

from __future__ import annotations

from dataclasses import replace

from ..base.types import Hit


def moved(hit: Hit, *, score: float, relevance: float, by: str) -> Hit:
    """A hit with the score of its new place. `by` is the part of the score that says so, where the hit has parts at all."""
    signals = {**hit.signals, by: score - hit.score} if hit.signals else hit.signals
    return replace(hit, score=score, relevance=relevance, signals=signals)
