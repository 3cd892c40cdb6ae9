"""Commands for relations: `htm related` follows them, `htm link` makes one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from ..base.types import Related, Relation, RelationKind
from . import completion
from .ids import memory_id, short
from .listing import Column, show_rows
from .memories import Limit, end_empty
from .options import CommonOptions
from .rendering import print_json, printable, stdout_console


class Type(StrEnum):
    """The types of an edge."""

    related = "related"
    supports = "supports"
    contradicts = "contradicts"
    derived = "derived"


TYPES = "related|supports|contradicts|derived"
Memory = Annotated[
    str,
    typer.Argument(
        metavar="ID_OR_KEY",
        help="A memory, by its id or its key.",
        autocompletion=completion.memories,
    ),
]


def related(
    common: CommonOptions,
    node: Memory,
    hops: Annotated[
        int, typer.Option("--hops", min=1, max=6, help="How many edges away at most.")
    ] = 2,
    types: Annotated[
        list[Type] | None,
        typer.Option("--type", "--kind", metavar=TYPES, help="Only along these; may be repeated."),
    ] = None,
    min_weight: Annotated[
        float, typer.Option("--min-weight", min=0, max=1, help="From 0 to 1.")
    ] = 0.0,
    limit: Limit = 20,
) -> None:
    """Show the memories related to one, strongest first, with the edges that lead to them."""
    kinds: list[RelationKind] | None = None if not types else [each.value for each in types]
    with common.memory() as memory:
        start = memory_id(memory, node)
        rows = memory.related(start, hops=hops, kinds=kinds, limit=limit, min_weight=min_weight)
        start = memory.get(start).id
    show_rows(common, rows, _columns(start))
    if not rows:
        end_empty("No related memories were found.")


def link(
    common: CommonOptions,
    source: Memory,
    target: Memory,
    kind: Annotated[
        Type, typer.Option("--type", "--kind", metavar=TYPES, help="The type of the edge.")
    ] = Type.related,
    weight: Annotated[
        float, typer.Option("--weight", min=0, max=1, help="From 0 to 1; 0 removes the edge.")
    ] = 1.0,
) -> None:
    """Add an edge between two memories, or remove it with --weight 0."""
    with common.memory() as memory:
        made = memory.link(
            memory_id(memory, source), memory_id(memory, target), kind=kind.value, weight=weight
        )
    if common.json:
        print_json(made)
    else:
        change = f"{made.kind} by {made.weight:g}" if made.weight else f"{made.kind} no longer"
        stdout_console().print(printable(f"{made.source} → {made.target}  {change}"))


def _columns(start: str) -> Sequence[Column[Related]]:
    """The columns of what is related to the node `start`."""
    return (
        Column(name="id", value=lambda row: row.node.id, shown=lambda row: short(row.node.id)),
        Column(
            name="weight",
            value=lambda row: row.weight,
            shown=lambda row: f"{row.weight:.2f}",
            right=True,
        ),
        Column(
            name="memory",
            value=lambda row: row.node.content,
            shown=lambda row: Text.assemble(
                printable(row.node.content), (f"\n{path_text(start, row.path)}", "dim")
            ),
        ),
        Column(name="by", value=lambda row: path_text(start, row.path), exact=True),
    )


def path_text(start: str, path: Sequence[Relation]) -> str:
    """A path as text, with an arrow in the direction of each edge: "supports →, ← derived"."""
    steps, here = [], start
    for edge in path:
        along = edge.source == here
        here = edge.target if along else edge.source
        label = f"{edge.kind} ({edge.origin})" if edge.origin == "tags" else edge.kind
        steps.append(label if edge.kind == "related" else f"{label} →" if along else f"← {label}")
    return ", ".join(steps)
