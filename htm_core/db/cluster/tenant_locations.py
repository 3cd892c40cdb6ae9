"""Cells of tenants, as far as this process knows: what the directory said, or the cell that the
tenant has left.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass

import psycopg

from ...base.last_used import LastUsed

HOME = "home"  # the name of the first cell, whose schema has the directory
MOST_KNOWN = 100_000  # tenants, of which those asked for longest ago are forgotten
DEPARTED = "HT002"  # the SQLSTATE of a transaction of a tenant that has left the cell


@dataclass(frozen=True, slots=True)
class Location:
    """The cell that a tenant is in, as of a version that each move makes one more."""

    cell: str
    version: int


class TenantLocations:
    """The locations that this process knows. A newer version replaces an older one, never the other
    way.
    """

    def __init__(self) -> None:
        self._known = LastUsed[str, Location](MOST_KNOWN)
        self._lock = threading.Lock()

    def of(self, tenant: str) -> Location | None:
        """Where a tenant is; None when nobody has asked yet."""
        with self._lock:
            return self._known.get(tenant)

    def learn(self, tenant: str, location: Location) -> bool:
        """Note where a tenant is; say whether that was news."""
        with self._lock:
            known = self._known.get(tenant)
            if known is not None and known.version >= location.version:
                return False
            self._known[tenant] = location
            return True

    def forget(self, tenant: str) -> None:
        """Ask the directory the next time."""
        with self._lock:
            self._known.pop(tenant, None)


def departure(error: BaseException) -> Location | None:
    """Where a tenant went, by the error of a transaction that came too late; None for any other
    error.
    """
    cause = error.__cause__
    if not isinstance(cause, psycopg.Error) or cause.sqlstate != DEPARTED:
        return None
    detail = json.loads(cause.diag.message_detail or "{}")
    return Location(detail["cell"], detail["version"])
