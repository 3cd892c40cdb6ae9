"""Keys in ascending order, for what is ranked by a value that time alone does not change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain

# (keep-score, the policy's own tie-break, added_at, id): lowest leaves first, and among equals the oldest added.
Key = tuple[float, float, float, str]

CHUNK = 512


class Ordered:
    """Keep keys sorted under additions and removals anywhere.

    A list of sorted chunks, found by their highest keys: O(log n) comparisons per change plus a shift within one chunk
    of at most 1,024 pointers, and O(1) to the lowest. Unlike a heap with lazy deletion it holds nothing stale, so that
    iterating is exact, changes nothing, and never pays for earlier removals.
    """

    __slots__ = ("_chunks", "_highest")

    def __init__(self) -> None:
        self._chunks: list[list[Key]] = []
        self._highest: list[Key] = []

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def __iter__(self) -> Iterator[Key]:
        return chain.from_iterable(self._chunks)

    def add(self, key: Key) -> None:
        """Put a key in its place."""
        if not self._chunks:
            self._chunks, self._highest = [[key]], [key]
            return
        place = min(bisect_left(self._highest, key), len(self._chunks) - 1)
        chunk = self._chunks[place]
        insort(chunk, key)
        self._highest[place] = chunk[-1]
        if len(chunk) > 2 * CHUNK:
            self._split(place)

    def discard(self, key: Key) -> None:
        """Take a key out; one that is not here is ignored."""
        place = bisect_left(self._highest, key)
        if place == len(self._chunks):
            return
        chunk = self._chunks[place]
        at = bisect_left(chunk, key)
        if chunk[at] == key:
            del chunk[at]
            self._shrink(place)

    def _split(self, place: int) -> None:
        chunk = self._chunks[place]
        self._chunks[place : place + 1] = [chunk[:CHUNK], chunk[CHUNK:]]
        self._highest[place : place + 1] = [chunk[CHUNK - 1], chunk[-1]]

    def _shrink(self, place: int) -> None:
        chunk = self._chunks[place]
        if chunk:
            self._highest[place] = chunk[-1]
        else:
            del self._chunks[place], self._highest[place]
