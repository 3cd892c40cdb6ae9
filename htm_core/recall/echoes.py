"""Answers before questions: what only asks fits a question best, and says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..base.types import Hit
from ..engine.engine import Engine
from ..reading.questions import only_asks
from .search import RecallQuery

KEPT = 0.3  # of the score of a hit that only asks


def answers_first(_: Engine, query: RecallQuery, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with those that only ask further down, by the weight of the signal `echo`."""
    weight = query.signal_weights.echo
    lowered = [
        replace(hit, score=hit.score - loss, signals={**hit.signals, "echo": -loss})
        if (loss := weight * (1 - KEPT) * hit.score if only_asks(hit.content) else 0.0)
        else hit
        for hit in hits
    ]
    return sorted(lowered, key=lambda hit: -hit.score)  # hits of equal score stay in their order
