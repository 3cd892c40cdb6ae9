"""Users: who has how much in this tenant, for those who may see everybody's memories."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ....memory import Memory
from ....operations import read
from ....rules.identity import ANONYMOUS
from ....types import UserSize
from ...access import require
from ..visit import Visit

ROWS = 100


async def show(visit: Visit) -> Response:
    """One page of the users, those with the most messages first; raises `Problem` for a token that may not see all."""
    require(visit.who.identity, "admin", why=" for all users of a tenant")
    number = visit.query.number("page", default=1, most=1_000_000)

    async def count(memory: Memory) -> list[UserSize]:
        """All users."""
        return await asyncio.to_thread(read.users, memory._engine)

    counted = await visit.counted("users", count)
    found = counted.value if counted else []
    rows = found[(number - 1) * ROWS : number * ROWS]
    return visit.page(
        "users.html", counted=counted, rows=rows, total=len(found), number=number, most=ROWS, unnamed=ANONYMOUS,
        whole={
            name: sum(getattr(each, name) for each in found)
            for name in ("nodes", "mentions", "sessions", "tokens", "pending_jobs", "bytes")
        },
    )  # fmt: skip
