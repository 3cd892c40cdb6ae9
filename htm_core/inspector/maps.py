"""Maps that were drawn in this process: one is drawn again only where it would show
other memories.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from ..serve.contents import MemoryMap
from .counting import Key

# points of all maps that are kept; the map that was asked for least lately goes first
MOST = 40_000


class Maps:
    """The maps that are kept, by whose they are and what was asked. Safe for threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, MemoryMap] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Key, draw: Callable[[MemoryMap | None], MemoryMap]) -> MemoryMap:
        """Return what `draw` makes of the map that is kept, or of None."""
        with self._lock:
            known = self._kept.get(key)
        made = draw(known)
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while (
                sum(len(each.points) for each in self._kept.values()) > MOST and len(self._kept) > 1
            ):
                self._kept.popitem(last=False)
        return made
