"""Working memory: what a robot has in mind, what would leave first, and the text that a model is
given of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import cast, get_args

from starlette.responses import Response

from ...base.types import Item, Mention, OrderName
from ...working.eviction_policies import ranking
from ...working.memory import WorkingMemory
from ..visit import ROBOT, Visit

ORDERS: tuple[OrderName, ...] = get_args(OrderName)
LATEST = 200  # messages among which active robots are looked for
ROWS = 200
BUDGET, MOST_BUDGET = 8_000, 2_000_000  # tokens of the text


async def show(visit: Visit) -> Response:
    """The items of one robot in one session, those that would leave first at the top."""
    query = visit.query
    order = cast("OrderName", query.choice("order", ORDERS))
    budget = query.number("budget", default=BUDGET, most=MOST_BUDGET)
    async with visit.memory() as memory:
        active = await memory.aio.timeline(limit=LATEST)
    robots = _robots(visit, active)
    robot, session = query.get("robot", robots[0]), query.get("session")
    async with visit.memory(robot=robot, session=session) as memory:
        context = await memory.aio.context(order=order, budget=budget)
        held = await asyncio.to_thread(lambda: memory.working)
        rows = kept(held)
    return visit.page(
        "working.html",
        rows=rows[:ROWS],
        hidden=max(0, len(rows) - ROWS),
        robot=robot,
        robots=robots,
        session=session,
        budget=held.budget,
        tokens=held.tokens,
        policy=held.policy,
        context=context,
        asked=budget,
        orders=ORDERS,
        order=order,
        sessions=list(dict.fromkeys(each.session for each in reversed(active) if each.session))[
            :20
        ],
    )


def _robots(visit: Visit, active: Sequence[Mention]) -> list[str]:
    """The token's own robot, else those that spoke lately, the latest first."""
    if visit.who.identity.robot is not None:
        return [visit.who.identity.robot]
    return list(dict.fromkeys(each.robot for each in reversed(active)))[:20] or [ROBOT]


def kept(working: WorkingMemory) -> list[tuple[float, Item]]:
    """The items with their keep-scores, the lowest first: that one leaves first."""
    now = time.time()
    order = ranking(working.policy)
    return sorted(
        ((order.key(item, now)[0], item) for item in working.items), key=lambda pair: pair[0]
    )
