"""Who leaves working memory first: the policies, each with the order that finds its lowest keep-score fast.

    importance   the least important first
    lfu_lru      ln(1 + access_count) + 1 / (1 + hours since access), the lowest first
    lru          the least recently accessed first
    fifo         the first added first
    a callable   (item, now) -> keep-score, the lowest first; infinities are allowed

Among equals the oldest added leaves first, then the lower id; under `lfu_lru` the least recently accessed before both.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from math import log1p
from typing import Protocol

from ...errors import InvalidInput
from ...types import Item
from .measures import Score, hours, scored
from .recency import Recency
from .sorted_keys import Key, Ordered

Policy = Score


class Ranking(Protocol):
    """The items that a policy ranks. One caller at a time: working memory's lock is around it."""

    name: str

    def key(self, item: Item, now: float) -> Key:
        """The item's place in the order: (keep-score, tie-break, added_at, id)."""

    def put(self, item: Item) -> None:
        """Rank an item."""

    def drop(self, item: Item) -> None:
        """Rank it no longer."""

    def renew(self, old: Item, new: Item) -> None:
        """Rank an item in its new form."""

    def lowest(self, now: float) -> Iterator[Key]:
        """The keys of all items, lowest first, found as they are asked for; nothing may change meanwhile."""


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

    One item is found, put or dropped in O(log n); with a `Recency` as `line`, in O(1) for values that come in order.
    """

    def __init__(self, name: str, *, value: Callable[[Item], float], line: Ordered | Recency) -> None:
        self.name = name
        self._value = value
        self._line = line

    def key(self, item: Item, now: float) -> Key:  # noqa: ARG002 - the order of values does not depend on the time
        """The item's value, then the oldest added first."""
        return self._key(item)

    def put(self, item: Item) -> None:
        """Rank an item."""
        self._line.add(self._key(item))

    def drop(self, item: Item) -> None:
        """Rank it no longer."""
        self._line.discard(self._key(item))

    def renew(self, old: Item, new: Item) -> None:
        """Rank an item in its new form; nothing moves while its value is the same."""
        if self._key(old) != self._key(new):
            self.drop(old)
            self.put(new)

    def lowest(self, now: float) -> Iterator[Key]:  # noqa: ARG002
        """The keys of all items, lowest first."""
        return iter(self._line)

    def _key(self, item: Item) -> Key:
        return (self._value(item), 0.0, item.added_at, item.id)


class ByUse:
    """Rank by use, `ln(1 + access_count) + 1 / (1 + hours since access)`: rarely and long ago used leaves first.

    The score decays with time, so no order by score stays true. But among items of one access count the least recently
    accessed always has the lowest score: one recency list per count, of which only heads are compared. A list whose
    floor ln(1 + count) is above the lowest head cannot hold a lower one and is not even opened, so that an eviction
    looks at the lists from the lowest count c up to e × (1 + c), however many there are. Put and drop are O(1) for
    accesses that come in order of time.
    """

    name = "lfu_lru"

    def __init__(self) -> None:
        self._lists: dict[int, Recency] = {}
        self._counts: list[int] = []

    def key(self, item: Item, now: float) -> Key:
        """The item's score, then the least recently accessed, then the oldest added first."""
        score = log1p(item.access_count) + 1.0 / (1.0 + hours(item.accessed_at, now))
        return (score, item.accessed_at, item.added_at, item.id)

    def put(self, item: Item) -> None:
        """Rank an item among those of its access count."""
        if item.access_count not in self._lists:
            self._lists[item.access_count] = Recency()
            insort(self._counts, item.access_count)
        self._lists[item.access_count].add(_accessed(item))

    def drop(self, item: Item) -> None:
        """Rank it no longer."""
        recency = self._lists[item.access_count]
        recency.discard(_accessed(item))
        if not recency:
            del self._lists[item.access_count]
            del self._counts[bisect_left(self._counts, item.access_count)]

    def renew(self, old: Item, new: Item) -> None:
        """Rank an item in its new form: one access more moves it to the newest end of the next list."""
        self.drop(old)
        self.put(new)

    def lowest(self, now: float) -> Iterator[Key]:
        """The keys of all items, lowest first: the lists merged, each opened once its floor is reached."""
        heads: list[tuple[Key, Iterator[Key]]] = []
        unopened = iter(self._counts)
        count = next(unopened, None)
        while heads or count is not None:
            while count is not None and not (heads and heads[0][0][0] < log1p(count)):
                _push_next(heads, self._opened(count, now))
                count = next(unopened, None)
            key, rest = heappop(heads)
            _push_next(heads, rest)
            yield key

    def _opened(self, count: int, now: float) -> Iterator[Key]:
        floor = log1p(count)
        for accessed_at, _, added_at, name in self._lists[count]:
            yield (floor + 1.0 / (1.0 + hours(accessed_at, now)), accessed_at, added_at, name)


class ByScore:
    """Rank by a callable (item, now) -> keep-score, asked about every item each time room has to be made: O(n).

    It is called under working memory's lock: keep it short, and do not change the memory in it.
    """

    def __init__(self, policy: Policy) -> None:
        self.name: str = getattr(policy, "__name__", type(policy).__name__)
        self._policy = policy
        self._items: dict[str, Item] = {}

    def key(self, item: Item, now: float) -> Key:
        """What the callable answers, checked, then the oldest added first."""
        return (scored(self._policy, item, now), 0.0, item.added_at, item.id)

    def put(self, item: Item) -> None:
        """Rank an item."""
        self._items[item.id] = item

    def drop(self, item: Item) -> None:
        """Rank it no longer."""
        self._items.pop(item.id, None)

    def renew(self, old: Item, new: Item) -> None:  # noqa: ARG002
        """Rank an item in its new form."""
        self._items[new.id] = new

    def lowest(self, now: float) -> Iterator[Key]:
        """The keys of all items, lowest first; every item is scored before the first is given."""
        keys = [self.key(item, now) for item in list(self._items.values())]
        heapify(keys)
        while keys:
            yield heappop(keys)


def _accessed(item: Item) -> Key:
    return (item.accessed_at, 0.0, item.added_at, item.id)


def _push_next(heads: list[tuple[Key, Iterator[Key]]], keys: Iterator[Key]) -> None:
    key = next(keys, None)
    if key is not None:
        heappush(heads, (key, keys))  # ids differ between keys, so iterators are never compared


POLICIES: dict[str, Callable[[], Ranking]] = {
    "importance": lambda: ByValue("importance", value=lambda item: item.importance, line=Ordered()),
    "lfu_lru": ByUse,
    "lru": lambda: ByValue("lru", value=lambda item: item.accessed_at, line=Recency()),
    "fifo": lambda: ByValue("fifo", value=lambda item: item.added_at, line=Recency()),
}
