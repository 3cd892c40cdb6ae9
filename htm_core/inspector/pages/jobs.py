"""Pending work: jobs, those that were given up, and the breakers of the models."""

from __future__ import annotations

from typing import cast, get_args

from starlette.responses import Response

from ...base.types import JobKind
from ..visit import Visit

ROWS = 100
KINDS: tuple[str, ...] = ("all", *get_args(JobKind))
STATES = ("all", "parked", "pending")


async def show(visit: Visit) -> Response:
    """The jobs, those that were given up first."""
    query = visit.query
    kind, state = query.choice("kind", KINDS), query.choice("state", STATES)
    async with visit.memory() as memory:
        jobs = await memory.aio.jobs.list(
            kind=None if kind == "all" else cast("JobKind", kind),
            parked=None if state == "all" else state == "parked",
            limit=ROWS + 1,
        )
    return visit.page(
        "jobs.html",
        jobs=jobs[:ROWS],
        is_cut=len(jobs) > ROWS,
        most=ROWS,
        kind=kind,
        state=state,
        kinds=KINDS,
        states=STATES,
        parked=any(each.state == "parked" for each in jobs),
    )


async def retry(visit: Visit) -> Response:
    """Retry one job that was given up, or all of them."""
    fields = await visit.form()
    async with visit.memory() as memory:
        again = await memory.aio.jobs.retry([fields["id"]] if "id" in fields else None)
    return visit.go(
        "/jobs", notice=f"{again:,} {'job is' if again == 1 else 'jobs are'} tried again."
    )
