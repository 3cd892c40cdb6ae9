"""Memories, newest first, page by page: all, or those with some tags."""

from __future__ import annotations

from starlette.responses import Response

from ..visit import Visit

ROWS = 50


async def show(visit: Visit) -> Response:
    """One page of the list."""
    query = visit.query
    tags = query.words("tags")
    async with visit.memory() as memory:
        nodes = await memory.aio.list(tags=tags, limit=ROWS + 1, after=query.get("after"))
    onward = nodes[ROWS - 1].id if len(nodes) > ROWS else None
    return visit.page(
        "memories.html",
        nodes=nodes[:ROWS],
        onward=onward,
        fields=query,
        is_first="after" not in query,
        tags=tags,
    )
