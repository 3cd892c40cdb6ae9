"""When a tenant has grown so much that its words are worth counting again."""

from __future__ import annotations

import threading

FIRST_COUNT = 500  # new nodes of a tenant, after which its words are counted for the first time


class Growth:
    """Numbers of nodes that this process has added to each tenant since it last asked for a count of words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: dict[str, tuple[int, int]] = {}

    def grew(self, tenant: str, new: int) -> bool:
        """Note new nodes, and say whether it is time to count: after 500 more, or a fifth more than were added before."""
        with self._lock:
            total, since = self._added.get(tenant, (0, 0))
            total, since = total + new, since + new
            due = since >= max(FIRST_COUNT, total // 5)
            self._added[tenant] = (total, 0 if due else since)
            return due
