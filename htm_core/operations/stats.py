"""Counts: what is remembered, what is held, what is owed."""

from __future__ import annotations

from collections.abc import Mapping

from ..engine.engine import Engine
from ..store import jobs, tenants
from ..types import Stats


def collect(engine: Engine, *, breakers: Mapping[str, str]) -> Stats:
    """The counts of what a memory's owner sees; `breakers` are those of the models that this process asks."""
    working = engine.in_mind()
    with engine.transaction() as connection:
        row = tenants.statistics(connection, owners=engine.owners)
        owed = jobs.count_pending(connection, owners=engine.owners)
    return Stats(
        robot=engine.robot,
        tenant=engine.tenant,
        user=engine.user,
        nodes=row["nodes"],
        mentions=row["mentions"],
        sessions=row["sessions"],
        robots=row["robots"],
        tags=row["tags"],
        forgotten=row["forgotten"],
        passages=row["passages"],
        vectors=row["vectors"],
        pending_jobs=owed.pending,
        parked_jobs=owed.parked,
        oldest_job_seconds=owed.oldest,
        working_items=len(working),
        working_tokens=working.tokens,
        budget=working.budget,
        oldest=row["oldest"],
        newest=row["newest"],
        embedder=engine.embedder.name,
        server=row["server"],
        breakers=breakers,
    )
