"""Keys in order of time, with O(1) moves to the newest end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from heapq import merge

from .sorted_keys import Key, Ordered


class Recency:
    """Keep keys of moments sorted, where nearly every new key is the newest.

    What comes in order of time is appended to a linked list and leaves it anywhere, both O(1). What comes late (loaded
    from the table, or from a thread that read its clock earlier) goes to a sorted side list in O(log n). Iterating
    merges the two, so that the order is exact in either case.
    """

    __slots__ = ("_late", "_line")

    def __init__(self) -> None:
        self._line: OrderedDict[Key, None] = OrderedDict()
        self._late = Ordered()

    def __bool__(self) -> bool:
        return bool(self._line) or bool(self._late)

    def __iter__(self) -> Iterator[Key]:
        return merge(self._line, self._late) if self._late else iter(self._line)

    def add(self, key: Key) -> None:
        """Put a key in its place: the newest end, or among the late ones."""
        if not self._line or key > next(reversed(self._line)):
            self._line[key] = None
        else:
            self._late.add(key)

    def discard(self, key: Key) -> None:
        """Take a key out; one that is not here is ignored."""
        if key in self._line:
            del self._line[key]
        else:
            self._late.discard(key)
