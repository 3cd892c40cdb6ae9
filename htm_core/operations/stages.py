"""The stages of a recall: what happens to hits after a search, one step after another, each under the name that `explain` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..engine.engine import Engine
from ..store.search import RecallQuery
from ..types import Hit, Recall

Stage: TypeAlias = Callable[[Engine, RecallQuery, Recall], Recall]


def on_hits(change: Callable[[Engine, RecallQuery, Sequence[Hit]], Sequence[Hit]]) -> Stage:
    """A stage that changes nothing but the hits."""

    def stage(engine: Engine, query: RecallQuery, found: Recall) -> Recall:
        """The recall with the changed hits."""
        hits = change(engine, query, found.hits)
        return found if hits is found.hits else replace(found, hits=tuple(hits))

    return stage


def in_stages(engine: Engine, query: RecallQuery, found: Recall, stages: Mapping[str, Stage]) -> Recall:
    """A recall after these stages. Where the query asks for an explanation, `steps` names those that changed a hit or its place."""
    for name, stage in stages.items():
        before, found = found.hits, stage(engine, query, found)
        if query.explain and found.hits != before:
            found = replace(found, steps=(*found.steps, name))
    return found
