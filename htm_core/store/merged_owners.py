"""Owners of whom nothing is merged, as this process last saw it, so that their recalls need not ask."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

SECONDS = 60.0  # for which it is believed: another process may have merged something
READERS = 1_000

_Reader = tuple[str, tuple[str, ...] | None]


class MergedOwners:
    """Who was found to have nothing that is merged. Where that is out of date, a memory is shown twice for a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._none: OrderedDict[_Reader, float] = OrderedDict()

    def has_none(self, tenant: str, owners: Sequence[str] | None) -> bool:
        """Whether nothing of these owners was merged within the last minute."""
        until = self._none.get(_reader(tenant, owners))
        return until is not None and time.monotonic() < until

    def found_none(self, tenant: str, owners: Sequence[str] | None) -> None:
        """Note that nothing of these owners is merged."""
        with self._lock:
            self._none[_reader(tenant, owners)] = time.monotonic() + SECONDS
            if len(self._none) > READERS:
                self._none.popitem(last=False)

    def changed(self, tenant: str) -> None:
        """Ask again for everybody in a tenant: this process has merged something."""
        with self._lock:
            for reader in [reader for reader in self._none if reader[0] == tenant]:
                del self._none[reader]


def _reader(tenant: str, owners: Sequence[str] | None) -> _Reader:
    return tenant, None if owners is None else tuple(owners)
