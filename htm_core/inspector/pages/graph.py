"""Graphs: the memories that are related to one, two steps wide, and the tags that occur together;
each also as a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from ...base.types import TagRelated
from ...memory.memory import Memory
from ..graph_layout import lay_out
from ..visit import Visit
from .memory import id_of

NODES, HOPS = 40, 2
WIDTH, HEIGHT, EDGE = 920, 580, 40  # of the drawing, and the room around it
TAGS, BESIDE = 12, 5  # tags in the middle of the graph, and those that are looked for beside each


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of the drawing: what it is called, where it leads, and its place in the drawing."""

    name: str
    path: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge of the drawing between two of its nodes; `says` is what joins them."""

    one: DrawnNode
    other: DrawnNode
    says: str
    weight: float


async def of_memory(visit: Visit) -> Response:
    """Show what is related to a memory, and to that."""
    id = id_of(visit)
    async with visit.memory() as memory:
        node = await memory.aio.get(id)
        related = await memory.aio.related(node.id, hops=HOPS, limit=NODES)
    names = {node.id: node.content} | {each.node.id: each.node.content for each in related}
    paths = {id: f"/memory/{id}" for id in names}
    edges = {
        (edge.source, edge.target): (f"{edge.kind}, by {edge.origin}", edge.weight)
        for each in related
        for edge in each.path
    }
    return _page(visit, names, paths, edges, about="memory", back=f"/memory/{node.id}")


async def of_tags(visit: Visit) -> Response:
    """The tags that most memories have, or one tag, with those that occur together with them."""
    tag = visit.query.get("tag")

    async def count(memory: Memory) -> dict[str, list[TagRelated]]:
        """Each tag in the middle, with those beside it."""
        tree = await memory.aio.tags.tree(tag)
        most = (
            [tag]
            if tag
            else [
                each.tag
                for each in sorted(tree, key=lambda entry: (-entry.nodes, entry.tag))[:TAGS]
            ]
        )
        return {
            each: await memory.aio.tags.related(each, limit=NODES if tag else BESIDE)
            for each in most
        }

    counted = await visit.counted("tag graph", count, tag)
    related = counted.value if counted else {}
    names = {
        each: each
        for each in [*related, *(beside.tag for near in related.values() for beside in near)]
    }
    edges: dict[tuple[str, str], tuple[str, float]] = {}
    for middle, near in related.items():
        for beside in near:
            if (beside.tag, middle) not in edges:
                edges[middle, beside.tag] = (
                    f"on {beside.shared:,} of the same memories",
                    beside.weight,
                )
    return _page(
        visit,
        names,
        dict.fromkeys(names, ""),
        edges,
        about="tags",
        back="/tags",
        counted=counted,
        tag=tag,
    )


def _page(
    visit: Visit,
    names: Mapping[str, str],
    paths: Mapping[str, str],
    edges: Mapping[tuple[str, str], tuple[str, float]],
    *,
    about: str,
    back: str,
    counted: object = None,
    tag: str | None = None,
) -> Response:
    nodes, joined = drawing(names, paths, edges)
    return visit.page(
        "graph.html", nodes=nodes, edges=joined, about=about, back=back, counted=counted, tag=tag
    )


def drawing(
    names: Mapping[str, str],
    paths: Mapping[str, str],
    edges: Mapping[tuple[str, str], tuple[str, float]],
) -> tuple[list[DrawnNode], Sequence[DrawnEdge]]:
    """Nodes and edges with their places, the first node in the middle; an edge to a node that is
    not there is left out.
    """
    numbers = {id: number for number, id in enumerate(names)}
    known = {
        pair: said for pair, said in edges.items() if pair[0] in numbers and pair[1] in numbers
    }
    places = lay_out(
        len(names),
        [(numbers[one], numbers[other], said[1]) for (one, other), said in known.items()],
    )
    nodes = {
        id: DrawnNode(name, paths[id], x=round(EDGE + WIDTH * x, 1), y=round(EDGE + HEIGHT * y, 1))
        for (id, name), (x, y) in zip(names.items(), places, strict=True)
    }
    joined = [
        DrawnEdge(nodes[one], nodes[other], says, weight)
        for (one, other), (says, weight) in known.items()
    ]
    return list(nodes.values()), sorted(joined, key=lambda edge: -edge.weight)
