"""Tags as a tree, and those that occur together with one."""

from __future__ import annotations

from itertools import islice

from starlette.responses import Response

from ..visit import Visit

ROWS, RELATED = 300, 20


async def show(visit: Visit) -> Response:
    """The tree, or what stands below one tag and beside it."""
    tag = visit.query.get("tag")
    async with visit.memory() as memory:
        tree = await memory.aio.tags.tree(tag)
        related = await memory.aio.tags.related(tag, limit=RELATED) if tag else []
    rows = list(islice(tree, ROWS + 1))
    return visit.page("tags.html", tag=tag, tree=tree, rows=rows[:ROWS], is_cut=len(rows) > ROWS, related=related)
