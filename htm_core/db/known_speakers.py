"""Facts about tenants that this process has without asking: the names that are speakers', and whether
anything was superseded, so that recall looks for it nowhere else.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence

from ..base.last_used import LastUsed


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


READERS = 1_000  # that are kept in mind, each a tenant with the owners that are asked for
NAMES = 100  # of one reader


class KnownSpeakers:
    """The names that recall found to be speakers', by who asked.

    A guess, never the truth: each recall says which names the database knows, and is repeated where
    the guess was another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names = LastUsed[tuple[str, tuple[str, ...] | None], dict[str, None]](READERS)

    def guess(self, tenant: str, owners: Sequence[str] | None, forms: Iterable[str]) -> list[str]:
        """Return those of these forms of a name that were a speaker's when this
        process last asked.
        """
        names = self._names.get(_reader(tenant, owners)) or {}
        return [form for form in forms if form in names]

    def learn(
        self, tenant: str, owners: Sequence[str] | None, forms: Iterable[str], known: Iterable[str]
    ) -> None:
        """Note which of these forms are a speaker's, and that the others are nobody's."""
        reader, known = _reader(tenant, owners), list(known)
        with self._lock:
            names = dict.fromkeys(self._names.get(reader) or ())
            for form in forms:
                names.pop(form, None)
            names.update(dict.fromkeys(known))
            self._names[reader] = dict.fromkeys(list(names)[-NAMES:])


def _reader(tenant: str, owners: Sequence[str] | None) -> tuple[str, tuple[str, ...] | None]:
    return tenant, None if owners is None else tuple(owners)
