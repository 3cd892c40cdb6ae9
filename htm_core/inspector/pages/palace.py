"""The palace: its rooms and drawers, what lies in them, and what was decided about it."""

from __future__ import annotations

from starlette.responses import Response

from ...palace import Palace
from ..visit import Visit

ROWS, DECISIONS = 50, 20


async def show(visit: Visit) -> Response:
    """The rooms with their drawers, and what the chosen one holds."""
    query = visit.query
    room, drawer = query.get("room"), query.get("drawer")
    async with visit.memory() as memory:
        palace = Palace(memory).aio
        rooms = await palace.rooms()
        placed = await palace.look(room=room, drawer=drawer, limit=ROWS) if rooms else []
        decisions = await palace.decisions(limit=DECISIONS)
    return visit.page(
        "palace.html",
        rooms=rooms,
        placed=placed,
        decisions=decisions,
        room=room,
        drawer=drawer,
        most=ROWS,
    )
