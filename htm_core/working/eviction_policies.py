"""Eviction policies: what leaves working memory first, each with the order that finds its lowest
keep-score fast.

    importance   the least important first
    lfu_lru      ln(1 + access_count) + 1 / (1 + hours since access), the lowest first
    lru          the least recently accessed first
    fifo         the first added first
    a callable   (item, now) -> keep-score, the lowest first; infinities are allowed

Among equals the oldest added leaves first, then the lower id; under `lfu_lru` the least recently
accessed before both.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, merge
from itertools import chain
from math import isnan, log1p, nan
from numbers import Real
from typing import Protocol

from ..base.errors import InvalidInput
from ..base.types import Item

Score = Callable[[Item, float], float]
Policy = Score
# (keep-score, the policy's own tie-break, added_at, id): the lowest leaves first, and among equals
# the oldest added.
Key = tuple[float, float, float, str]

CHUNK = 512  # keys of a sorted list, which is divided at twice as many


class PolicyFailed(Exception):
    """A caller's policy raised an error, or returned no number."""


class Ranking(Protocol):
    """The items that a policy ranks. It is not thread-safe: working memory's lock is around it."""

    name: str

    def key(self, item: Item, now: float) -> Key:
        """The item's place in the order: (keep-score, tie-break, added_at, id)."""

    def put(self, item: Item) -> None:
        """Rank an item."""

    def drop(self, item: Item) -> None:
        """Stop ranking an item."""

    def replace(self, old: Item, new: Item) -> None:
        """Rank the new form of an item instead of the old one."""

    def eviction_order(self, now: float) -> Iterator[Key]:
        """The keys of all items, lowest first, found one by one; nothing may change during the
        iteration.
        """


def ranking(policy: Policy | str) -> Ranking:
    """Make the empty order of a policy, by name or from a callable (item, now) -> keep-score.

    An unknown name raises `InvalidInput`, naming the known ones.
    """
    if isinstance(policy, str) and policy in POLICIES:
        return POLICIES[policy]()
    if callable(policy):
        return ByScore(policy)
    known = ", ".join(f'"{name}"' for name in POLICIES)
    raise InvalidInput(
        f"policy must be one of {known}, or a callable (item, now) -> keep-score; got {policy!r}. "
        'Pass for example policy="importance".'
    )


class ByValue:
    """Rank by a value that time alone does not change: importance, last access or arrival.

    One item is found, put or dropped in O(log n); with `Recency` as its keys, in O(1) for values
    that come in order.
    """

    def __init__(
        self, name: str, *, value: Callable[[Item], float], keys: SortedKeys | Recency
    ) -> None:
        self.name = name
        self._value = value
        self._keys = keys

    def key(self, item: Item, now: float) -> Key:  # noqa: ARG002 - the order of values does not depend on the time
        """The item's value, then the oldest added first."""
        return self._key(item)

    def put(self, item: Item) -> None:
        """Rank an item."""
        self._keys.add(self._key(item))

    def drop(self, item: Item) -> None:
        """Stop ranking an item."""
        self._keys.discard(self._key(item))

    def replace(self, old: Item, new: Item) -> None:
        """Rank the new form of an item; it moves only if its key changed."""
        if self._key(old) != self._key(new):
            self.drop(old)
            self.put(new)

    def eviction_order(self, now: float) -> Iterator[Key]:  # noqa: ARG002
        """The keys of all items, lowest first."""
        return iter(self._keys)

    def _key(self, item: Item) -> Key:
        return (self._value(item), 0.0, item.added_at, item.id)


class ByUse:
    """Rank by use, `ln(1 + access_count) + 1 / (1 + hours since access)`: what is used rarely and
    long ago leaves first.

    The score decays with time, so an order by score does not stay right. But among items of one
    access count the least recently accessed always has the lowest score. So there is one recency
    list per count, and only their heads are compared. A list whose floor ln(1 + count) is above the
    lowest head cannot hold a lower key and is not opened: an eviction looks at the lists from the
    lowest count c up to e × (1 + c) only. Put and drop are O(1) for accesses that come in order of
    time.
    """

    name = "lfu_lru"

    def __init__(self) -> None:
        self._lists: dict[int, Recency] = {}
        self._counts: list[int] = []

    def key(self, item: Item, now: float) -> Key:
        """The item's score, then the least recently accessed, then the oldest added first."""
        score = log1p(item.access_count) + 1.0 / (1.0 + hours_since(item.accessed_at, now))
        return (score, item.accessed_at, item.added_at, item.id)

    def put(self, item: Item) -> None:
        """Rank an item among those of its access count."""
        if item.access_count not in self._lists:
            self._lists[item.access_count] = Recency()
            insort(self._counts, item.access_count)
        self._lists[item.access_count].add(_accessed(item))

    def drop(self, item: Item) -> None:
        """Stop ranking an item."""
        recency = self._lists[item.access_count]
        recency.discard(_accessed(item))
        if not recency:
            del self._lists[item.access_count]
            del self._counts[bisect_left(self._counts, item.access_count)]

    def replace(self, old: Item, new: Item) -> None:
        """Rank the new form of an item: one access more moves it to the newest end of the next
        list.
        """
        self.drop(old)
        self.put(new)

    def eviction_order(self, now: float) -> Iterator[Key]:
        """The keys of all items, lowest first: the lists merged, each opened once its floor is
        reached.
        """
        heads: list[tuple[Key, Iterator[Key]]] = []
        unopened = iter(self._counts)
        count = next(unopened, None)
        while heads or count is not None:
            while count is not None and not (heads and heads[0][0][0] < log1p(count)):
                _push_next(heads, self._scored_keys(count, now))
                count = next(unopened, None)
            key, rest = heappop(heads)
            _push_next(heads, rest)
            yield key

    def _scored_keys(self, count: int, now: float) -> Iterator[Key]:
        floor = log1p(count)
        for accessed_at, _, added_at, name in self._lists[count]:
            yield (floor + 1.0 / (1.0 + hours_since(accessed_at, now)), accessed_at, added_at, name)


class ByScore:
    """Rank by a callable (item, now) -> keep-score, called for every item each time room must be
    made: O(n).

    It is called under working memory's lock: it must be short and must not change the memory.
    """

    def __init__(self, policy: Policy) -> None:
        self.name: str = getattr(policy, "__name__", type(policy).__name__)
        self._policy = policy
        self._items: dict[str, Item] = {}

    def key(self, item: Item, now: float) -> Key:
        """The callable's answer, checked, then the oldest added first. Raises `PolicyFailed` where
        there is none.
        """
        try:
            return (checked_score(self._policy, item, now), 0.0, item.added_at, item.id)
        except Exception as error:
            raise PolicyFailed(f"the eviction policy {self.name} failed: {error!r}") from error

    def put(self, item: Item) -> None:
        """Rank an item."""
        self._items[item.id] = item

    def drop(self, item: Item) -> None:
        """Stop ranking an item."""
        self._items.pop(item.id, None)

    def replace(self, old: Item, new: Item) -> None:  # noqa: ARG002
        """Rank the new form of an item instead of the old one."""
        self._items[new.id] = new

    def eviction_order(self, now: float) -> Iterator[Key]:
        """The keys of all items, lowest first; every item is scored before the first
        key is given.
        """
        keys = [self.key(item, now) for item in list(self._items.values())]
        heapify(keys)
        while keys:
            yield heappop(keys)


def checked_score(score: Score, item: Item, now: float) -> float:
    """Score an item with a caller's function; infinities are allowed, NaN and anything but a number
    are refused.
    """
    answer: object = score(item, now)
    # the usual answer, and twice as fast as the general check
    if type(answer) is float and answer == answer:
        return answer
    value = float(answer) if isinstance(answer, Real) else nan
    if isnan(value):
        name = getattr(score, "__name__", type(score).__name__)
        raise InvalidInput(
            f"{name} must return a number for every item; it returned {answer!r} for item "
            f"{item.id!r}. "
            "Nothing was changed. Return a float, for example item.importance."
        )
    return value


def hours_since(start: float, now: float) -> float:
    """The hours from a time until now; 0 for a time ahead of now, which another thread's clock may
    have given.
    """
    return max(0.0, now - start) / 3600.0


def _accessed(item: Item) -> Key:
    return (item.accessed_at, 0.0, item.added_at, item.id)


def _push_next(heads: list[tuple[Key, Iterator[Key]]], keys: Iterator[Key]) -> None:
    key = next(keys, None)
    if key is not None:
        heappush(heads, (key, keys))  # ids differ between keys, so iterators are never compared


# -- keys in ascending order -----------------------------------------------------------------------


class SortedKeys:
    """Keep keys sorted under additions and removals anywhere.

    A list of sorted chunks, found by their highest keys: O(log n) comparisons per change plus a
    shift within one chunk of at most 1,024 pointers, and O(1) to the lowest. Unlike a heap with
    lazy deletion it holds no removed keys, so iterating is exact and costs nothing for earlier
    removals.
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

    A key that comes in order of time is appended to a linked list and can leave it anywhere, both
    in O(1). A key that comes late (loaded from the table, or from a thread that read its clock
    earlier) goes to a sorted side list in O(log n). Iterating merges the two, so the order is exact
    in either case.
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


POLICIES: dict[str, Callable[[], Ranking]] = {
    "importance": lambda: ByValue(
        "importance", value=lambda item: item.importance, keys=SortedKeys()
    ),
    "lfu_lru": ByUse,
    "lru": lambda: ByValue("lru", value=lambda item: item.accessed_at, keys=Recency()),
    "fifo": lambda: ByValue("fifo", value=lambda item: item.added_at, keys=Recency()),
}
