"""Growth: what was said in which days, weeks or months, what is pending, and how long recall takes,
as charts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from ...base.types import SpanCounts, Stats
from ...engine import read
from ...memory.memory import Memory
from ..visit import Visit

UNITS = ("day", "week", "month")
SPANS = 60  # the latest that are drawn
STEPS = (2, 5, 10, 20, 50, 100, 200, 500)  # milliseconds
WIDTH, HEIGHT = 1_000, 160


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: what it stands for, its number, and its rectangle."""

    label: str
    number: int
    x: float
    width: float
    height: float


async def show(visit: Visit) -> Response:
    """The charts, each with the same numbers as a table."""
    unit = visit.query.choice("unit", UNITS)

    async def count(memory: Memory) -> tuple[list[SpanCounts], Stats]:
        """Count what was said when, and what is pending."""
        spans = await asyncio.to_thread(lambda: read.growth(memory._engine, unit=unit, limit=SPANS))
        return spans, await memory.aio.stats()

    counted = await visit.counted("growth", count, unit)
    spans, stats = counted.value if counted else ([], None)
    days = [f"{each.begins.astimezone():%Y-%m-%d}" for each in spans]
    times = recall_times(visit)
    return visit.page(
        "growth.html",
        counted=counted,
        unit=unit,
        units=UNITS,
        stats=stats,
        times=times,
        width=WIDTH,
        height=HEIGHT,
        messages=bars(list(zip(days, (each.mentions for each in spans), strict=True))),
        memories=bars(list(zip(days, (each.nodes for each in spans), strict=True))),
        recalls=bars(by_steps(times)),
    )


def recall_times(visit: Visit) -> list[float]:
    """The milliseconds that the latest recalls of this user took in the database, as far as this
    server has made them, sorted.
    """
    identity = visit.who.identity
    events = visit.memories.events.latest(identity.tenant, identity.user)
    return sorted(
        float(each.data["sql_ms"] or 0)
        for each in events
        if each.name == "recall" and "sql_ms" in each.data
    )


def by_steps(times: Sequence[float]) -> list[tuple[str, int]]:
    """Count the times that are below each step, and above the one before."""
    if not times:
        return []
    counts = [
        sum(low <= each < high for each in times)
        for low, high in zip((0, *STEPS), (*STEPS, float("inf")), strict=True)
    ]
    return list(
        zip([*(f"under {step} ms" for step in STEPS), f"from {STEPS[-1]} ms"], counts, strict=True)
    )


def bars(rows: Sequence[tuple[str, int]]) -> list[Bar]:
    """The bars of some numbers, side by side, the greatest as high as the chart."""
    most = max((number for _, number in rows), default=0) or 1
    room = WIDTH / max(1, len(rows))
    return [
        Bar(
            label,
            number,
            round(place * room + 0.1 * room, 1),
            round(0.8 * room, 1),
            round(HEIGHT * number / most, 1),
        )
        for place, (label, number) in enumerate(rows)
    ]
