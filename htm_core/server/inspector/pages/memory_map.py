"""A map: the newest memories in a plane, near to those that mean something alike, in clusters, coloured by age."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ....integration.contents import map_of
from ....types import Node, Window
from ..visit import Visit

AT_ONCE = 1_000
SIZES = ("2000", "500", "10000")  # points; the first unless another is asked for
QUARTERS = ("the oldest quarter", "the second quarter", "the third quarter", "the newest quarter")


async def show(visit: Visit) -> Response:
    """The map of the newest memories, or of those with some tags, from one time to another or in one cluster."""
    query = visit.query
    tags, most = query.words("tags"), int(query.choice("most", SIZES))
    span = Window(start=query.time("from"), stop=query.time("to"))
    async with visit.memory() as memory:
        nodes: list[Node] = []
        for _ in range(-(-most // AT_ONCE)):
            room = min(AT_ONCE, most - len(nodes))
            further = await memory.aio.list(tags=tags, limit=room, after=nodes[-1].id if nodes else None)
            nodes += further
            if len(further) < room:
                break
        made = await asyncio.to_thread(map_of, memory, nodes)
    points = sorted(made.points, key=lambda each: each.node.created_at)
    sizes = [sum(each.cluster == number for each in points) for number in range(len(made.clusters))]
    chosen = query.number("cluster", default=0, most=max(1, len(sizes))) if "cluster" in query else None
    drawn = [
        (each, 4 * at // len(points))
        for at, each in enumerate(points)
        if each.node.created_at in span and chosen in (None, each.cluster + 1)
    ]
    clusters = [(number + 1, words, sizes[number]) for number, words in enumerate(made.clusters)]
    return visit.page(
        "map.html", made=made, points=drawn, whole=len(points), quarters=QUARTERS, fields=query, is_cut=len(nodes) >= most,
        most=most, sizes=SIZES, clusters=clusters, chosen=chosen,
    )  # fmt: skip
