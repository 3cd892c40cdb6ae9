"""The stages of a recall: what happens to hits after a search, one step after another, each under the name that `explain` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..base.types import Hit, Recall
from ..engine.engine import Engine
from .search import RecallQuery

Stage: TypeAlias = Callable[[Engine, RecallQuery, Recall], Recall]


def on_hits(change: Callable[[Engine, RecallQuery, Sequence[Hit]], Sequence[Hit]]) -> Stage:
    """A stage that changes nothing but the hits."""

    def stage(engine: Engine, query: RecallQuery, recall: Recall) -> Recall:
        """The recall with the changed hits."""
        hits = change(engine, query, recall.hits)
        return recall if hits is recall.hits else replace(recall, hits=tuple(hits))

    return stage


def in_stages(engine: Engine, query: RecallQuery, recall: Recall, stages: Mapping[str, Stage]) -> Recall:
    """A recall after these stages. Where the query asks for an explanation, `steps` names those that changed a hit or its place."""
    for name, stage in stages.items():
        before, recall = recall.hits, stage(engine, query, recall)
        if query.explain and recall.hits != before:
            recall = replace(recall, steps=(*recall.steps, name))
    return recall
