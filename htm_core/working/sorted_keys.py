"""Keys in ascending order: anywhere in O(log n), or in O(1) when nearly every new key is the newest."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator
from heapq import merge
from itertools import chain

# (keep-score, the policy's own tie-break, added_at, id): the lowest leaves first, and among equals the oldest added.
Key = tuple[float, float, float, str]

CHUNK = 512


class SortedKeys:
    """Keep keys sorted under additions and removals anywhere.

    A list of sorted chunks, found by their highest keys: O(log n) comparisons per change plus a shift within one chunk
    of at most 1,024 pointers, and O(1) to the lowest. Unlike a heap with lazy deletion it holds no removed keys, so
    iterating is exact and costs nothing for earlier removals.
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
            self._chunks[place : place + 1] = [chunk[:CHUNK], chunk[CHUNK:]]
            self._highest[place : place + 1] = [chunk[CHUNK - 1], chunk[-1]]

    def discard(self, key: Key) -> None:
        """Take a key out; one that is not here is ignored."""
        place = bisect_left(self._highest, key)
        if place == len(self._chunks):
            return
        chunk = self._chunks[place]
        at = bisect_left(chunk, key)
        if chunk[at] == key:
            del chunk[at]
            if chunk:
                self._highest[place] = chunk[-1]
            else:
                del self._chunks[place], self._highest[place]


class Recency:
    """Keep keys that begin with a time sorted, where nearly every new key is the newest.

    A key that comes in order of time is appended to a linked list and can leave it anywhere, both in O(1). A key that
    comes late (loaded from the table, or from a thread that read its clock earlier) goes to a sorted side list in
    O(log n). Iterating merges the two, so the order is exact in either case.
    """

    __slots__ = ("_in_time", "_late")

    def __init__(self) -> None:
        self._in_time: OrderedDict[Key, None] = OrderedDict()
        self._late = SortedKeys()

    def __bool__(self) -> bool:
        return bool(self._in_time) or bool(self._late)

    def __iter__(self) -> Iterator[Key]:
        return merge(self._in_time, self._late) if self._late else iter(self._in_time)

    def add(self, key: Key) -> None:
        """Put a key in its place: at the newest end, or among the late ones."""
        if not self._in_time or key > next(reversed(self._in_time)):
            self._in_time[key] = None
        else:
            self._late.add(key)

    def discard(self, key: Key) -> None:
        """Take a key out; one that is not here is ignored."""
        if key in self._in_time:
            del self._in_time[key]
        else:
            self._late.discard(key)
