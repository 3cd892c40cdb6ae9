"""Choose the tenants that leave a cell which has too much: the largest that make it more even."""

from __future__ import annotations

from collections.abc import Mapping


def plan_split(tenants: Mapping[str, int], *, target_rows: int) -> list[str]:
    """The tenants that move from a cell into one with `target_rows` rows, so that both have about
    as many; largest first.

    A tenant moves when the target has no more than the source afterwards. So each move makes both
    more even, and few large tenants move instead of many small ones. Those without rows stay.
    """
    left, there, moving = sum(tenants.values()), target_rows, []
    for tenant, rows in sorted(tenants.items(), key=lambda item: (-item[1], item[0])):
        if rows > 0 and there + rows <= left - rows:
            moving.append(tenant)
            left, there = left - rows, there + rows
    return moving
