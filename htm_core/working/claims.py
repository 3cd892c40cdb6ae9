"""Claims of outstanding plans: the room they hold, the items they evict and the items they bring."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..base.types import Eviction, Item
from .plan import Plan, PlanBuilder


@dataclass(slots=True, eq=False)
class Claim:
    """The claim of an outstanding plan: items to bring, held ids to let go, and the tokens of both.

    `pinned` are held items that it brings again at the same size: they take no new room, and several plans may pin
    them. `returned` are held items that left within the plan and came back as new ones. `removed` are ids that were
    removed for good since the plan was made.
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
    def receipts(self) -> tuple[Eviction, ...]:
        """The victims without those that were removed before the plan could evict them."""
        return tuple(victim for victim in self.victims if victim.item.id not in self.removed)

    @property
    def growth(self) -> int:
        """The tokens by which applying may grow working memory; what victims give beyond that is free only afterwards."""
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
    """Keep the outstanding claims and the sum of their growth, `reserved`, in O(1) per item claimed.

    An id is brought by any number of claims or taken by exactly one, and never both unless that one changes its size. So
    plans may commit in any order. Not thread-safe: working memory's lock is around it.
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
        """Take an item that leaves for good out of every claim: no plan brings it back or counts on its room."""
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
