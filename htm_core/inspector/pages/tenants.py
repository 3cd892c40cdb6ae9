"""Tenants: how much each tenant of the installation has, for whoever operates it and nobody with a
token.
"""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from ...base.types import TenantSizes
from ...client.problems import Problem
from ...engine import read
from ...memory.memory import Memory
from ..visit import Visit

ROWS = 100


async def show(visit: Visit) -> Response:
    """One page of the tenants by name; raises `Problem` for anybody but the operator."""
    if not visit.who.identity.operator:
        raise Problem(
            "forbidden",
            "expected the operator of the installation, who starts htm ui without "
            "--user and --read-only",
        )
    after = visit.query.get("after")

    async def count(memory: Memory) -> TenantSizes:
        """The tenants of this page."""
        return await asyncio.to_thread(
            lambda: read.tenant_sizes(memory._engine, after=after, limit=ROWS + 1)
        )

    counted = await visit.counted("tenants", count, after)
    tenants = counted.value.shown if counted else []
    return visit.page(
        "tenants.html",
        counted=counted,
        rows=tenants[:ROWS],
        after=after,
        onward=tenants[ROWS - 1].tenant if len(tenants) > ROWS else None,
    )
