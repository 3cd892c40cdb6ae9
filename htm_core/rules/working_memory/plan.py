"""What adding items would do, worked out before anything changes: who comes in, who leaves, what is refused and why."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Literal

from ...types import Eviction, Item
from .policies import Ranking
from .sorted_keys import Key

Reason = Literal["oversize", "moving", "no room"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An item that working memory does not hold; it stays in long-term memory.

    `reason` is "oversize" (larger than the whole budget), "moving" (another plan is just evicting or resizing it), or
    "no room" (all that could leave is doomed or wanted by other plans).
    """

    item: Item
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What `apply` will do: `admitted` come in, `victims` have left, after the commit in between.

    A victim that is also admitted left and came back within the plan: delete first, then insert. `reserved` is the room
    in tokens that the plan holds beyond what its victims give.
    """

    admitted: tuple[Item, ...]
    refused: tuple[Refusal, ...]
    victims: tuple[Eviction, ...]
    reserved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Working memory as a draft sees it: `room` in tokens is free; what other plans evict or bring is out of reach."""

    held: Mapping[str, Item]
    ranking: Ranking
    leaving: Container[str]
    wanted: Container[str]
    budget: int
    room: int


class Draft:
    """Work out, without changing anything, what adding items one by one would do.

    Items admitted earlier in the draft can be evicted by later ones. Lowest keep-scores are drawn from the policy's
    order once, in ascending order, however many items are added, and only when room has to be made.
    """

    def __init__(self, view: View, *, now: float) -> None:
        self.view = view
        self.now = now
        self.room = view.room
        self.incoming: dict[str, Item] = {}
        self.leaving: set[str] = set()  # held ids that go, or make way for a new form of themselves
        self.victims: list[Eviction] = []
        self.refused: list[Refusal] = []
        self._candidates = _Candidates(self)

    def known(self, name: str) -> Item | None:
        """The item as it stands in this draft, if it is held."""
        if name in self.incoming:
            return self.incoming[name]
        return None if name in self.leaving else self.view.held.get(name)

    def admit(self, item: Item) -> None:
        """Add an item, evicting the lowest keep-scores until the deficit is covered, or refuse it."""
        if item.id in self.view.leaving:
            self.refused.append(Refusal(item=item, reason="moving"))
            return
        item, known = self._renewed(item)
        if item.tokens > self.view.budget:
            self._refuse(item, known, reason="oversize")
            return
        spare = self.room + (known.tokens if known else 0)
        victims = self._candidates.covering(item.tokens - spare, besides=item.id)
        if victims is None:
            self._refuse(item, known, reason="no room")
            return
        for key in victims:
            self._evict(key)
        self._take(item)

    def fill(self, items: Iterable[Item]) -> None:
        """Add all items, then evict the lowest keep-scores of the whole until it fits; an oversize item leaves too."""
        for item in items:
            self._load(item)
        for key in self._candidates.covering(-self.room, besides=None) or ():
            self._evict(key)

    def _load(self, item: Item) -> None:
        arriving = item.id in self.view.wanted and item.id not in self.view.held
        if arriving or item.id in self.view.leaving:
            self.refused.append(Refusal(item=item, reason="moving"))
            return
        item, _ = self._renewed(item)
        self._take(item)
        if item.tokens > self.view.budget:
            self._evict(self.view.ranking.key(item, self.now))

    def _renewed(self, item: Item) -> tuple[Item, Item | None]:
        known = self.known(item.id)
        if known is None:
            return item, None
        if item.id in self.view.wanted:  # other plans count on its size
            item = replace(item, content=known.content, tokens=known.tokens)
        return renewed(known, item), known

    def _refuse(self, item: Item, known: Item | None, *, reason: Reason) -> None:
        """Refuse an item; a former form of it leaves, for it is no longer true."""
        self.refused.append(Refusal(item=item, reason=reason))
        if known is not None and item.id not in self.view.wanted:
            self._evict(self.view.ranking.key(known, self.now))

    def _take(self, item: Item) -> None:
        self._withdraw(item.id)
        self.incoming[item.id] = item
        self.room -= item.tokens
        if item.id not in self.view.wanted:
            self._candidates.await_score(item.id)

    def _evict(self, key: Key) -> None:
        item = self._withdraw(key[-1])
        if item is not None:
            self.victims.append(Eviction(item=item, policy=self.view.ranking.name, score=key[0], at=self.now))

    def _withdraw(self, name: str) -> Item | None:
        item = self.known(name)
        if item is None:
            return None
        if self.incoming.pop(name, None) is None:
            self.leaving.add(name)
        self.room += item.tokens
        return item


class _Candidates:
    """Those that could leave, lowest keep-score first: the held ones, drawn one by one, and what the draft admitted."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._waiting: list[str] = []
        self._heap: list[Key] = []
        self._valid: dict[str, Key] = {}
        self._held: Iterator[Key] | None = None
        self._head: Key | None = None  # of the held ones; it stands in the heap, and draws the next when it leaves

    def await_score(self, name: str) -> None:
        """Offer an admitted item, scored only once room has to be made."""
        self._waiting.append(name)

    def covering(self, deficit: int, *, besides: str | None) -> list[Key] | None:
        """Take the lowest until their tokens cover the deficit; None, and none is taken, when all together do not."""
        taken: list[Key] = []
        while deficit > 0:
            key = self._lowest(besides)
            item = self._draft.known(key[-1]) if key else None
            if key is None or item is None:
                for each in taken:
                    self._offer(each)
                return None
            taken.append(key)
            deficit -= item.tokens
        return taken

    def _lowest(self, besides: str | None) -> Key | None:
        self._score_waiting()
        if self._held is None:
            self._held = self._draft.view.ranking.lowest(self._draft.now)
            self._draw()
        while self._heap:
            key = heappop(self._heap)
            if key is self._head:
                self._draw()
            if self._valid.get(key[-1]) is key and self._draft.known(key[-1]):
                del self._valid[key[-1]]
                if key[-1] != besides:
                    return key
        return None

    def _score_waiting(self) -> None:
        for name in self._waiting:
            item = self._draft.incoming.get(name)
            if item is not None:
                self._offer(self._draft.view.ranking.key(item, self._draft.now))
        self._waiting.clear()

    def _offer(self, key: Key) -> None:
        self._valid[key[-1]] = key
        heappush(self._heap, key)

    def _draw(self) -> None:
        """Bring the next held item that this draft has not touched and no other plan evicts or brings."""
        draft, view = self._draft, self._draft.view
        for key in self._held or ():
            name = key[-1]
            untouched = name not in draft.leaving and name not in draft.incoming
            if untouched and name not in view.leaving and name not in view.wanted:
                self._head = key
                self._offer(key)
                return
        self._head = None


def renewed(known: Item, item: Item) -> Item:
    """Carry over what working memory knows of an item that is added again: when it came, and how it was used."""
    return replace(
        item,
        added_at=known.added_at,
        access_count=max(known.access_count, item.access_count),
        accessed_at=max(known.accessed_at, item.accessed_at),
    )
