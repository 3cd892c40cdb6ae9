"""Relations: `htm related` walks along them, `htm link` makes one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..types import Relation, RelationKind
from .json_output import answer
from .memories import Limit, nothing
from .options import Whose
from .rendering import console, shown, table


class Type(StrEnum):
    """What an edge says."""

    related = "related"
    supports = "supports"
    contradicts = "contradicts"
    derived = "derived"


TYPES = "related|supports|contradicts|derived"
Memory = Annotated[str, typer.Argument(metavar="ID_OR_KEY", help="A memory, by its id or its key.")]


def related(
    whose: Whose,
    node: Memory,
    hops: Annotated[int, typer.Option("--hops", min=1, max=6, help="How many edges away at most.")] = 2,
    types: Annotated[
        list[Type] | None, typer.Option("--type", "--kind", metavar=TYPES, help="Only along these; may be repeated.")
    ] = None,
    min_weight: Annotated[float, typer.Option("--min-weight", min=0, max=1, help="From 0 to 1.")] = 0.0,
    limit: Limit = 20,
) -> None:
    """Show the memories that hang together with one, strongest first, and by which edges."""
    kinds: list[RelationKind] | None = None if not types else [each.value for each in types]
    with whose.memory() as memory:
        found = memory.related(node, hops=hops, kinds=kinds, limit=limit, min_weight=min_weight)
        start = memory.get(node).id
    if whose.json:
        answer(found)
    elif found:
        made = table("weight", "by", "id", "memory", right=("weight",))
        for each in found:
            made.add_row(f"{each.weight:.2f}", way(start, each.path), each.node.id, shown(each.node.content))
        console().print(made)
    if not found:
        nothing("Nothing hangs together with it.")


def link(
    whose: Whose,
    source: Memory,
    target: Memory,
    kind: Annotated[Type, typer.Option("--type", "--kind", metavar=TYPES, help="What it says.")] = Type.related,
    weight: Annotated[float, typer.Option("--weight", min=0, max=1, help="From 0, which takes it away, to 1.")] = 1.0,
) -> None:
    """Join two memories by an edge, or with a weight of 0 take that edge away."""
    with whose.memory() as memory:
        made = memory.link(source, target, kind=kind.value, weight=weight)
    if whose.json:
        answer(made)
    else:
        said = f"{made.kind} by {made.weight:g}" if made.weight else f"{made.kind} no longer"
        console().print(shown(f"{made.source} → {made.target}  {said}"))


def way(start: str, path: Sequence[Relation]) -> str:
    """A path in words, with an arrow the way each edge points: "supports →, ← derived"."""
    steps, here = [], start
    for edge in path:
        along = edge.source == here
        here = edge.target if along else edge.source
        label = f"{edge.kind} ({edge.origin})" if edge.origin == "tags" else edge.kind
        steps.append(label if edge.kind == "related" else f"{label} →" if along else f"← {label}")
    return ", ".join(steps)
