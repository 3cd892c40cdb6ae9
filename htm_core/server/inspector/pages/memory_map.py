"""A map: the newest memories in a plane, near to those that mean something alike, coloured by their age."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ....integration.contents import map_of
from ....types import Node
from ..visit import Visit

MOST, AT_ONCE = 2_000, 1_000
QUARTERS = ("the oldest quarter", "the second quarter", "the third quarter", "the newest quarter")


async def show(visit: Visit) -> Response:
    """The map of the newest memories, or of those with some tags."""
    tags = visit.query.words("tags")
    async with visit.memory() as memory:
        nodes: list[Node] = []
        for _ in range(MOST // AT_ONCE):
            further = await memory.aio.list(tags=tags, limit=AT_ONCE, after=nodes[-1].id if nodes else None)
            nodes += further
            if len(further) < AT_ONCE:
                break
        made = await asyncio.to_thread(map_of, memory, nodes)
    points = sorted(made.points, key=lambda each: each.node.created_at)
    return visit.page(
        "map.html", made=made, points=[(each, 4 * at // len(points)) for at, each in enumerate(points)], quarters=QUARTERS,
        fields=visit.query, is_cut=len(nodes) >= MOST, most=MOST,
    )  # fmt: skip
