"""Superseding tenants: where something was superseded, so that recall looks for it nowhere else."""

from __future__ import annotations

import math
import threading
import time


class SupersedingTenants:
    """Tenants that have any edge, as this process knows: where there is none, recall looks for
    none.

    That a tenant has some is never forgotten; that it has none is asked again after `SECONDS`,
    since other processes make edges.
    """

    SECONDS = 5.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[bool, float]] = {}  # and until when that counts

    def known(self, tenant: str) -> bool | None:
        """True if a tenant has edges; None when that is to be asked."""
        there, until = self._known.get(tenant, (None, 0.0))
        return there if time.monotonic() < until else None

    def learn(self, tenant: str, *, there: bool) -> None:
        """Note whether a tenant has edges."""
        with self._lock:
            if not self.known(tenant):
                self._known[tenant] = there, math.inf if there else time.monotonic() + self.SECONDS
