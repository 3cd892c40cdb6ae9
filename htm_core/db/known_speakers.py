"""Known speakers: which names this process has found to be speakers', so that recall need not ask
before it embeds a question.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from ..base.last_used import LastUsed

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
