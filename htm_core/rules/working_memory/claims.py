"""The plans that are outstanding: the room they hold, whom they evict, and whom they bring."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import InvalidInput
from ...types import Eviction, Item
from .plan import Draft, Plan


@dataclass(slots=True, eq=False)
class Claim:
    """What an outstanding plan has claimed: items to bring, held ids to let go, and the tokens of both.

    `pinned` are held items that it brings again at the same size: they take no new room, and several plans may pin
    them. `returned` are held items that left within the plan and came back as new ones. `struck` have been removed for
    good since it was planned.
    """

    incoming: dict[str, Item]
    leaving: set[str]
    pinned: set[str]
    returned: set[str]
    victims: tuple[Eviction, ...]
    inflow: int
    outflow: int
    struck: set[str] = field(default_factory=set)

    @property
    def receipts(self) -> tuple[Eviction, ...]:
        """The victims, but for those that were removed before the plan could evict them."""
        return tuple(victim for victim in self.victims if victim.item.id not in self.struck)

    @property
    def growth(self) -> int:
        """The tokens by which applying may grow working memory; what victims give beyond it is free only afterwards."""
        return max(0, self.inflow - self.outflow)


def claim_of(draft: Draft) -> Claim:
    """Turn a finished draft into a claim."""
    held = draft.view.held
    again = draft.leaving & draft.incoming.keys()
    returned = again & {victim.item.id for victim in draft.victims}
    pinned = {name for name in again - returned if draft.incoming[name].tokens == held[name].tokens}
    leaving = draft.leaving - pinned
    return Claim(
        incoming=dict(draft.incoming),
        leaving=leaving,
        pinned=pinned,
        returned=returned,
        victims=tuple(draft.victims),
        inflow=sum(item.tokens for name, item in draft.incoming.items() if name not in pinned),
        outflow=sum(held[name].tokens for name in leaving),
    )


class Ledger:
    """Keep the outstanding claims and the sum of their growth, `reserved`, in O(1) per item claimed.

    An id is brought by any number of claims or taken by exactly one, never both unless that one resizes it: so it does
    not matter in which order plans commit. Not thread-safe: working memory's lock is around it.
    """

    def __init__(self) -> None:
        self.reserved = 0
        self.leaving: dict[str, Claim] = {}
        self.wanted: dict[str, int] = {}
        self._claims: dict[Plan, Claim] = {}

    def open(self, plan: Plan, claim: Claim) -> None:
        """Reserve what a plan has claimed, until it is closed."""
        self._claims[plan] = claim
        self.reserved += claim.growth
        self.leaving.update(dict.fromkeys(claim.leaving, claim))
        for name in claim.incoming:
            self.wanted[name] = self.wanted.get(name, 0) + 1

    def close(self, plan: Plan) -> Claim | None:
        """Free what a plan has claimed, and hand it over; None for a plan that is not outstanding."""
        claim = self._claims.pop(plan, None)
        if claim is None:
            return None
        self.reserved -= claim.growth
        for name in claim.leaving:
            del self.leaving[name]
        for name in claim.incoming:
            self._unwant(name)
        return claim

    def settle(self, plan: Plan) -> Claim:
        """Close a plan that is to be applied; one that is not outstanding raises `InvalidInput`."""
        claim = self.close(plan)
        if claim is None:
            raise InvalidInput(
                "a plan must be outstanding in the working memory that made it; this one was applied or released "
                "already, or comes from another. Make a new one with plan(items, now=...)."
            )
        return claim

    def cancel(self, name: str, *, held: Item | None) -> None:
        """Strike an item that leaves for good from every claim: none brings it back, or counts on its room."""
        for claim in self._claims.values():
            self.reserved -= claim.growth
            self._strike(claim, name, held)
            self.reserved += claim.growth

    def _strike(self, claim: Claim, name: str, held: Item | None) -> None:
        claim.struck.add(name)
        item = claim.incoming.pop(name, None)
        if item is not None:
            self._unwant(name)
            claim.inflow -= 0 if name in claim.pinned else item.tokens
            claim.pinned.discard(name)
        if held is not None and name in claim.leaving:
            claim.leaving.remove(name)
            claim.outflow -= held.tokens
            del self.leaving[name]

    def _unwant(self, name: str) -> None:
        self.wanted[name] -= 1
        if not self.wanted[name]:
            del self.wanted[name]
