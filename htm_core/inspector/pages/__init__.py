"""The pages: each reads through the verbs of a memory, at most so much that its time does not grow
with the memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from ..visit import Visit
from . import (
    graph,
    growth,
    health,
    jobs,
    memories,
    memory,
    memory_map,
    palace,
    recall,
    sessions,
    tags,
    tenants,
    to_palace,
    users,
    working,
)

Page = Callable[[Visit], Awaitable[Response]]

PAGES: tuple[tuple[str, str, Page], ...] = (
    ("GET", "/", recall.show),
    ("GET", "/memories", memories.show),
    ("GET", "/key", memory.of_key),
    ("GET", "/memory/{id}", memory.show),
    ("GET", "/memory/{id}/graph", graph.of_memory),
    ("GET", "/memory/{id}/forget", memory.ask_forget),
    ("POST", "/memory/{id}/forget", memory.forget),
    ("GET", "/memory/{id}/restore", memory.ask_restore),
    ("POST", "/memory/{id}/restore", memory.restore),
    ("GET", "/memory/{id}/revise", memory.ask_revise),
    ("POST", "/memory/{id}/revise", memory.revise),
    ("GET", "/memory/{id}/palace", to_palace.ask),
    ("POST", "/memory/{id}/palace", to_palace.file),
    ("GET", "/sessions", sessions.show),
    ("GET", "/timeline", sessions.timeline),
    ("GET", "/working", working.show),
    ("GET", "/palace", palace.show),
    ("GET", "/tags", tags.show),
    ("GET", "/tags/graph", graph.of_tags),
    ("GET", "/map", memory_map.show),
    ("GET", "/jobs", jobs.show),
    ("POST", "/jobs/retry", jobs.retry),
    ("GET", "/growth", growth.show),
    ("GET", "/users", users.show),
    ("GET", "/tenants", tenants.show),
    ("GET", "/health", health.show),
)
