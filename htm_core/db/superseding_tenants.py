"""Superseding tenants: where something was superseded, so that recall looks for it nowhere else."""

from __future__ import annotations

import threading
import time


class SupersedingTenants:
    """Tenants that have any edge, as this process knows: where there is none, recall looks for none.

    That a tenant has some is never forgotten; that it has none is asked again after `SECONDS`, since other processes make edges.
    """

    SECONDS = 5.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._some: set[str] = set()
        self._none: dict[str, float] = {}

    def known(self, tenant: str) -> bool | None:
        """True if a tenant has edges; None when that is to be asked."""
        with self._lock:
            if tenant in self._some:
                return True
            asked = self._none.get(tenant)
            return False if asked is not None and time.monotonic() - asked < self.SECONDS else None

    def learn(self, tenant: str, *, there: bool) -> None:
        """Note whether a tenant has edges."""
        with self._lock:
            if there:
                self._some.add(tenant)
                self._none.pop(tenant, None)
            else:
                self._none[tenant] = time.monotonic()
