"""Tags as a tree, and those that occur together with one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from starlette.responses import Response

from ...base.types import TagRelated
from ...memory.memory import Memory
from ...tags.tag_tree import TagTree
from ..visit import Visit

ROWS, RELATED = 300, 20


async def show(visit: Visit) -> Response:
    """The tree, or what stands below one tag and beside it."""
    tag = visit.query.get("tag")

    async def count(memory: Memory) -> tuple[TagTree, Sequence[TagRelated]]:
        """The tree, and what occurs together with the tag."""
        return await memory.aio.tags.tree(tag), await memory.aio.tags.related(
            tag, limit=RELATED
        ) if tag else []

    counted = await visit.counted("tags", count, tag)
    tree, related = counted.value if counted else ((), ())
    rows = list(islice(tree, ROWS + 1))
    return visit.page(
        "tags.html",
        tag=tag,
        counted=counted,
        rows=rows[:ROWS],
        is_cut=len(rows) > ROWS,
        related=related,
    )
