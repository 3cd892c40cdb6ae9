"""How fast tenants grow, so that words are counted anew in time."""

from __future__ import annotations

import threading

FIRST = 500


class Growth:
    """How many nodes this process has added to each tenant since it last asked for a count of words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: dict[str, tuple[int, int]] = {}

    def grew(self, tenant: str, new: int) -> bool:
        """Whether it is time to count again: after 500 more, or a fifth more than all that were added before."""
        with self._lock:
            total, since = self._added.get(tenant, (0, 0))
            total, since = total + new, since + new
            due = since >= max(FIRST, total // 5)
            self._added[tenant] = (total, 0 if due else since)
            return due
