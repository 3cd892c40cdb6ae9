"""Plans of adding items, worked out before anything changes: what comes in, what leaves, what is
refused and why.

An outstanding plan has a claim: the room that it holds, the items that it evicts and those that it
brings.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Literal

from ..base.types import Eviction, Item
from .eviction_policies import Key, Ranking

Reason = Literal["oversize", "moving", "no room", "policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An item that working memory does not hold; it stays in long-term memory.

    `reason` is "oversize" (larger than the whole budget), "moving" (another plan is evicting or
    resizing it), "no room" (everything that could leave is claimed by other plans), or "policy" (a
    caller's policy failed).
    """

    item: Item
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """The changes that `apply` makes once the caller has committed them: `admitted` come in,
    `victims` leave.

    A victim that is also admitted left and came back within the plan: delete it first, then insert
    it. `reserved` is the room in tokens that the plan holds beyond what its victims give.
    """

    admitted: tuple[Item, ...]
    refused: tuple[Refusal, ...]
    victims: tuple[Eviction, ...]
    reserved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Working memory as a plan sees it: `room` is the free tokens; `leaving` and `wanted` are
    claimed by other plans.
    """

    held: Mapping[str, Item]
    ranking: Ranking
    leaving: Container[str]
    wanted: Container[str]
    budget: int
    room: int


class PlanBuilder:
    """Work out, without changing anything, what adding items one by one would do.

    Later items can evict earlier ones. The policy's eviction order is read once, however many items
    are added, and only as far as room must be made.
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

    def known(self, id: str) -> Item | None:
        """The item as this plan has it so far, if it is held."""
        if id in self.incoming:
            return self.incoming[id]
        return None if id in self.leaving else self.view.held.get(id)

    def admit_all(self, items: Iterable[Item]) -> None:
        """Add items one by one: evict the lowest keep-scores until there is room for each, or
        refuse it.
        """
        for item in items:
            if item.id in self.view.leaving:
                self.refused.append(Refusal(item=item, reason="moving"))
                continue
            known = self.known(item.id)
            if known is not None:
                item = self._renewed(item, known)
            if item.tokens > self.view.budget:
                self._refuse(item, known, reason="oversize")
                continue
            deficit = item.tokens - self.room - (known.tokens if known else 0)
            victims = self._candidates.covering(deficit, besides=item.id) if deficit > 0 else []
            if victims is None:
                self._refuse(item, known, reason="no room")
                continue
            for key in victims:
                self._evict(key)
            self._take(item, known)

    def admit_by_rank(self, items: Sequence[Item]) -> None:
        """Let items come in anew, the best first, held or not: rank decides among them, the policy
        about all others.

        None evicts another. The first makes room as any item does; each later one evicts only what
        has a lower keep-score than itself. From the first that finds no room on, all stay out, and
        leave if they were held. What stays is not in the plan.
        """
        view, key = self.view, self.view.ranking.key
        self.refused += [
            Refusal(item=item, reason="moving") for item in items if item.id in view.leaving
        ]
        free = [
            i
            for i in items
            if i.id not in view.leaving and not (i.id in view.held and i.id in view.wanted)
        ]
        known = {item.id: held for item in free if (held := self._withdraw(item.id))}
        sizes = {item.id: known.get(item.id, item).tokens for item in free}
        self.refused += [
            Refusal(item=item, reason="oversize") for item in free if sizes[item.id] > view.budget
        ]
        fitting = [item for item in free if sizes[item.id] <= view.budget]
        came = 0
        for item in fitting:
            deficit = sizes[item.id] - self.room
            below = key(item, self.now) if came and deficit > 0 else None
            victims = self._candidates.covering(deficit, besides=None, below=below)
            if victims is None:
                break
            for victim in victims:
                self._evict(victim)
            self.room -= sizes[item.id]
            came += 1
        self.refused += [Refusal(item=item, reason="no room") for item in fitting[came:]]
        for item in fitting[:came]:
            if item.id in known:
                self.leaving.remove(item.id)
            else:
                self.incoming[item.id] = item
        for item in fitting[came:]:
            if (held := known.get(item.id)) is not None:
                policy, score = view.ranking.name, key(held, self.now)[0]
                self.victims.append(Eviction(item=held, policy=policy, score=score, at=self.now))

    def fill(self, items: Iterable[Item]) -> None:
        """Add all items, then evict the lowest keep-scores of the whole until it fits; an oversize
        item leaves too.
        """
        for item in items:
            arriving = item.id in self.view.wanted and item.id not in self.view.held
            if arriving or item.id in self.view.leaving:
                self.refused.append(Refusal(item=item, reason="moving"))
                continue
            known = self.known(item.id)
            if known is not None:
                item = self._renewed(item, known)
            self._take(item, known)
            if item.tokens > self.view.budget:
                self._evict(self.view.ranking.key(item, self.now))
        for key in self._candidates.covering(-self.room, besides=None) or ():
            self._evict(key)

    def _renewed(self, item: Item, known: Item) -> Item:
        """The item with what is known of it carried over."""
        if item.id in self.view.wanted:  # other plans count on its size
            item = replace(item, content=known.content, tokens=known.tokens)
        return renewed(known, item)

    def _refuse(self, item: Item, known: Item | None, *, reason: Reason) -> None:
        """Refuse an item; an older form of it leaves, since it is out of date."""
        self.refused.append(Refusal(item=item, reason=reason))
        if known is not None and item.id not in self.view.wanted:
            self._evict(self.view.ranking.key(known, self.now))

    def _take(self, item: Item, known: Item | None) -> None:
        if known is not None:
            self._withdraw(item.id)
        self.incoming[item.id] = item
        self.room -= item.tokens
        if item.id not in self.view.wanted:
            self._candidates.unscored.append(item.id)

    def _evict(self, key: Key) -> None:
        item = self._withdraw(key[-1])
        if item is not None:
            self.victims.append(
                Eviction(item=item, policy=self.view.ranking.name, score=key[0], at=self.now)
            )

    def _withdraw(self, id: str) -> Item | None:
        item = self.known(id)
        if item is None:
            return None
        if self.incoming.pop(id, None) is None:
            self.leaving.add(id)
        self.room += item.tokens
        return item


@dataclass(slots=True, eq=False)
class _Candidates:
    """The items that could leave, lowest keep-score first: the held ones, read one by one, and
    those just admitted.
    """

    _builder: PlanBuilder
    # admitted ids, which are scored only once room must be made
    unscored: list[str] = field(default_factory=list)
    _heap: list[Key] = field(default_factory=list)
    _valid: dict[str, Key] = field(default_factory=dict)
    _held: Iterator[Key] | None = None
    # the held item in the heap; when it leaves the heap, the next one is read
    _head: Key | None = None

    def covering(
        self, deficit: int, *, besides: str | None, below: Key | None = None
    ) -> list[Key] | None:
        """Take the lowest, all `below` a key, until their tokens cover the deficit; None, with none
        taken, if they do not.
        """
        taken: list[Key] = []
        while deficit > 0:
            key = self._lowest(besides)
            item = self._builder.known(key[-1]) if key else None
            if key is not None:
                taken.append(key)
            if key is None or item is None or (below is not None and key > below):
                for candidate in taken:
                    self._offer(candidate)
                return None
            deficit -= item.tokens
        return taken

    def _lowest(self, besides: str | None) -> Key | None:
        builder = self._builder
        for id in self.unscored:
            if (item := builder.incoming.get(id)) is not None:
                self._offer(builder.view.ranking.key(item, builder.now))
        self.unscored.clear()
        if self._held is None:
            self._held = builder.view.ranking.eviction_order(builder.now)
            self._read_next_held()
        while self._heap:
            key = heappop(self._heap)
            if key is self._head:
                self._read_next_held()
            if self._valid.get(key[-1]) is key and builder.known(key[-1]):
                del self._valid[key[-1]]
                if key[-1] != besides:
                    return key
        return None

    def _offer(self, key: Key) -> None:
        self._valid[key[-1]] = key
        heappush(self._heap, key)

    def _read_next_held(self) -> None:
        """Offer the next held item that neither this plan has touched nor another plan
        has claimed.
        """
        builder, view = self._builder, self._builder.view
        for key in self._held or ():
            id = key[-1]
            untouched = id not in builder.leaving and id not in builder.incoming
            if untouched and id not in view.leaving and id not in view.wanted:
                self._head = key
                self._offer(key)
                return
        self._head = None


def renewed(known: Item, item: Item) -> Item:
    """Carry over what working memory knows of an item that is added again: its arrival, accesses
    and last access.
    """
    return replace(
        item,
        added_at=known.added_at,
        access_count=max(known.access_count, item.access_count),
        accessed_at=max(known.accessed_at, item.accessed_at),
    )


# -- claims ----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Claim:
    """The claim of an outstanding plan: items to bring, held ids to let go, and the tokens of both.

    `pinned` are held items that it brings again at the same size: they take no new room, and
    several plans may pin them. `returned` are held items that left within the plan and came back as
    new ones. `removed` are ids that were removed for good since the plan was made.
    """

    incoming: dict[str, Item]
    leaving: set[str]
    pinned: set[str]
    returned: set[str]
    victims: tuple[Eviction, ...]
    inflow: int
    outflow: int
    removed: set[str] = field(default_factory=set)

    @property
    def growth(self) -> int:
        """The tokens by which applying may grow working memory; what victims give beyond that is
        free only afterwards.
        """
        return max(0, self.inflow - self.outflow)


def claim_of(builder: PlanBuilder) -> Claim:
    """Return the claim of the plan that a builder has worked out."""
    held = builder.view.held
    again = builder.leaving & builder.incoming.keys()
    returned = again & {victim.item.id for victim in builder.victims}
    pinned = {id for id in again - returned if builder.incoming[id].tokens == held[id].tokens}
    leaving = builder.leaving - pinned
    return Claim(
        incoming=dict(builder.incoming),
        leaving=leaving,
        pinned=pinned,
        returned=returned,
        victims=tuple(builder.victims),
        inflow=sum(item.tokens for id, item in builder.incoming.items() if id not in pinned),
        outflow=sum(held[id].tokens for id in leaving),
    )


class Claims:
    """Keep the outstanding claims and the sum of their growth, `reserved`, in O(1) per item
    claimed.

    An id is brought by any number of claims or taken by exactly one, and never both unless that one
    changes its size. So plans may commit in any order. Not thread-safe: working memory's lock is
    around it.
    """

    def __init__(self) -> None:
        self.reserved = 0
        self.leaving: dict[str, Claim] = {}
        self.wanted: dict[str, int] = {}  # how many claims bring an id
        self._by_plan: dict[Plan, Claim] = {}

    def reserve(self, plan: Plan, claim: Claim) -> None:
        """Reserve what a plan has claimed, until it is freed."""
        self._by_plan[plan] = claim
        self.reserved += claim.growth
        self.leaving.update(dict.fromkeys(claim.leaving, claim))
        for id in claim.incoming:
            self.wanted[id] = self.wanted.get(id, 0) + 1

    def free(self, plan: Plan) -> Claim | None:
        """Free what a plan has claimed and return it; None for a plan that is not outstanding."""
        claim = self._by_plan.pop(plan, None)
        if claim is None:
            return None
        self.reserved -= claim.growth
        for id in claim.leaving:
            del self.leaving[id]
        for id in claim.incoming:
            self._unwant(id)
        return claim

    def cancel(self, id: str, *, held: Item | None) -> None:
        """Take an item that leaves for good out of every claim: no plan brings it back or counts on
        its room.
        """
        for claim in self._by_plan.values():
            self.reserved -= claim.growth
            claim.removed.add(id)
            item = claim.incoming.pop(id, None)
            if item is not None:
                self._unwant(id)
                claim.inflow -= 0 if id in claim.pinned else item.tokens
                claim.pinned.discard(id)
            if held is not None and id in claim.leaving:
                claim.leaving.remove(id)
                claim.outflow -= held.tokens
                del self.leaving[id]
            self.reserved += claim.growth

    def _unwant(self, id: str) -> None:
        self.wanted[id] -= 1
        if not self.wanted[id]:
            del self.wanted[id]
