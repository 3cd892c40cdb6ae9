"""Users: who has how much in this tenant, for those who may see everybody's memories."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ...base.identity import ANONYMOUS
from ...base.types import UserSizes
from ...engine import read
from ...memory.memory import Memory
from ...serve.access import require
from ..visit import Visit

ROWS = 100


async def show(visit: Visit) -> Response:
    """One page of the users, those with the most messages first; raises `Problem` for a token that
    may not see all.
    """
    require(visit.who.identity, "admin", why=" for all users of a tenant")
    number = visit.query.number("page", default=1, most=1_000_000)

    async def count(memory: Memory) -> UserSizes:
        """The users of this page, and how much all have."""
        return await asyncio.to_thread(
            lambda: read.users(memory._engine, first=(number - 1) * ROWS, limit=ROWS)
        )

    counted = await visit.counted("users", count, number)
    return visit.page("users.html", counted=counted, number=number, most=ROWS, unnamed=ANONYMOUS)
