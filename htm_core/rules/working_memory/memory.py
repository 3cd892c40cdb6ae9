"""Working memory: what a robot has in mind, within a budget of tokens, shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from threading import RLock

from ...types import Eviction, Item
from .claims import Claim, Ledger, claim_of
from .measures import moment, sound, token_budget
from .plan import Draft, Plan, Refusal, View, renewed
from .policies import Policy, ranking

__all__ = ["Plan", "Refusal", "WorkingMemory"]


class WorkingMemory:
    """Hold items within a token budget, letting those of the lowest keep-score go when room is needed.

    Changes that must agree with storage are made in three steps, so that no lock is held during a commit: `plan`
    reserves room and picks victims, the caller commits, `apply` (or `release`, when the commit failed) follows. At
    every moment `tokens + reserved <= budget`, where `tokens` is the sum of `items`, and `reserved` the room that
    outstanding plans hold beyond what their victims will give. Any number of threads may call anything; times are UTC
    epoch seconds.

    `on_remove` stands in for `drop` when `remove` or `clear` let items go: outside the lock it writes that down, drops them
    itself once that is so, and answers what was held; when it raises, nothing is removed.
    """

    def __init__(
        self,
        *,
        budget: int,
        policy: Policy | str = "importance",
        on_remove: Callable[[tuple[Item, ...]], tuple[Item, ...]] | None = None,
    ) -> None:
        self._budget = token_budget(budget)
        self._policy = policy
        self._on_remove = on_remove
        self.renew()

    def renew(self) -> None:
        """Begin again, holding nothing: in a forked child, since another thread may have been about to change it."""
        self._lock = RLock()  # re-entrant, so that a policy of the caller's may read the memory that asks it
        self._ranking = ranking(self._policy)
        self._held: dict[str, Item] = {}
        self._tokens = 0
        self._ledger = Ledger()
        self._latest = 0.0

    @property
    def budget(self) -> int:
        """The tokens that may be held at most."""
        return self._budget

    @property
    def policy(self) -> str:
        """The name of the policy that says who leaves first."""
        return self._ranking.name

    @property
    def items(self) -> tuple[Item, ...]:
        """What is held now, oldest added first."""
        with self._lock:
            held = list(self._held.values())
        return tuple(sorted(held, key=_arrival))

    @property
    def tokens(self) -> int:
        """The tokens of all items held."""
        return self._tokens

    @property
    def reserved(self) -> int:
        """The tokens that outstanding plans will need beyond what their victims give."""
        return self._ledger.reserved

    @property
    def free(self) -> int:
        """The tokens that are neither held nor reserved, never below 0; read in one step, unlike the other two."""
        with self._lock:
            return self._budget - self._tokens - self._ledger.reserved

    @property
    def utilization(self) -> float:
        """The share of the budget that is held, from 0 to 1."""
        return self._tokens / self._budget

    @property
    def entered(self) -> bool:
        """Whether the calling thread is inside already: a policy that reads the memory which asks it."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]  # as threading.Condition asks it

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, id: object) -> bool:
        return id in self._held

    def get(self, id: str) -> Item | None:
        """The item held under an id."""
        return self._held.get(id)

    def plan(self, items: Sequence[Item], *, now: float) -> Plan:
        """Reserve room for items and pick those that leave for it, as if they were added one by one.

        Only the deficit is evicted, lowest keep-score first; a later item may push out an earlier one. Until the plan
        is applied or released its victims stay, and no other plan touches its items or its victims: what would need
        them is refused. A policy that raises, or answers no number (`InvalidInput`), leaves everything as it was.
        Cost per victim: O(log n) for named policies, and O(n) once per plan for a callable.
        """
        with self._lock:
            draft = self._draft(now)
            for item in items:
                draft.admit(sound(item))
            return self._claim(draft)

    def apply(self, plan: Plan, *, now: float) -> tuple[Eviction, ...]:
        """Carry out a committed plan: victims out, items in; the answer is the victims' receipts.

        A plan that is not outstanding raises `InvalidInput`. What was removed since it was planned stays away.
        """
        with self._lock:
            at = self._moment(now)
            claim = self._ledger.settle(plan)
            for id in claim.leaving - claim.incoming.keys():
                self._let_go(id)
            for item in claim.incoming.values():
                self._put(self._arrived(item, claim))
            return tuple(replace(victim, at=at) for victim in claim.receipts)

    def release(self, plan: Plan) -> None:
        """Give up a plan whose commit failed: nothing changes, and its victims are available again."""
        with self._lock:
            self._ledger.close(plan)

    def add(self, item: Item, *, now: float) -> tuple[Eviction, ...]:
        """Hold an item, evicting what must leave for it: `plan` and `apply` in one, where there is nothing to commit.

        An id that is held keeps its arrival and access count, and its tokens count once. An item larger than the whole
        budget is not held.
        """
        with self._lock:
            return self.apply(self.plan((item,), now=now), now=now)

    def load(self, items: Iterable[Item], *, now: float) -> tuple[Eviction, ...]:
        """Fill from the table on first use: hold all items, then evict the lowest keep-scores until the budget holds.

        Unlike adding them one by one this keeps the best of them all. An item larger than the budget is evicted, too.
        """
        with self._lock:
            return self.apply(self.plan_load(items, now=now), now=now)

    def plan_load(self, items: Iterable[Item], *, now: float) -> Plan:
        """Plan to hold all items, those of the lowest keep-scores of the whole leaving until the budget holds.

        What outstanding plans are about to bring or evict is refused as "moving".
        """
        with self._lock:
            draft = self._draft(now)
            draft.fill(sorted(map(sound, items), key=_arrival))
            return self._claim(draft)

    def align(self, items: Iterable[Item]) -> None:
        """Take over from storage when held items came, their importance, and accesses that others have counted."""
        with self._lock:
            for item in items:
                known = self._held.get(item.id)
                if known is not None:
                    renew = renewed(known, replace(item, content=known.content, tokens=known.tokens))
                    self._put(replace(renew, added_at=item.added_at))

    def leave(self, ids: Iterable[str]) -> bool:
        """Let go of what storage has let go, but for what outstanding plans are moving; say whether none of them was."""
        with self._lock:
            gone = list(ids)
            moving = self._moving(gone)
            self.drop(id for id in gone if id in self._held and id not in moving)
            return not moving

    def concerns(self, ids: Iterable[str]) -> bool:
        """Whether one of them is held, or outstanding plans are moving it."""
        with self._lock:
            asked = list(ids)
            return bool(self._moving(asked)) or any(id in self._held for id in asked)

    def _moving(self, ids: Iterable[str]) -> set[str]:
        return {id for id in ids if id in self._ledger.leaving or id in self._ledger.wanted}

    def touch(self, ids: Iterable[str], *, now: float) -> None:
        """Count an access to each item and note when it was, O(1) each; ids that are not held are ignored."""
        with self._lock:
            at = self._moment(now)
            # In order of arrival, so that equal times come in the order of their keys, and are appended.
            for id in sorted((id for id in ids if id in self._held), key=lambda id: _arrival(self._held[id])):
                item = self._held[id]
                self._put(replace(item, access_count=item.access_count + 1, accessed_at=max(item.accessed_at, at)))

    def update(self, item: Item, *, now: float | None = None) -> tuple[Eviction, ...]:
        """Take a new importance, size or text for an item that is held; one that is not held is ignored.

        It keeps its arrival and its access count. Growing may evict others, whose receipts are the answer; while a plan
        is evicting the item its size stays. `now` is the latest moment this memory was given, unless it is passed.
        """
        with self._lock:
            known = self._held.get(item.id)
            if known is None:
                return ()
            if item.id in self._ledger.leaving:
                self._put(renewed(known, replace(sound(item), content=known.content, tokens=known.tokens)))
                return ()
            return self.add(item, now=self._latest if now is None else now)

    def remove(self, id: str) -> bool:
        """Let an item go now, whoever planned with it; say whether it was held."""
        item = self.get(id)
        return bool(self._removed((item,))) if item is not None else bool(self.drop((id,)))

    def clear(self) -> tuple[Item, ...]:
        """Let go of everything that is held, and hand it back, oldest added first."""
        return self._removed(self.items)

    def _removed(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        if items and self._on_remove is not None:
            return self._on_remove(items)
        return self.drop(item.id for item in items)

    def drop(self, ids: Iterable[str]) -> tuple[Item, ...]:
        """Let go of what storage has let go already, such as what was forgotten; `on_remove` is not called.

        Outstanding plans do not bring it back.
        """
        with self._lock:
            gone = []
            for id in ids:
                self._ledger.cancel(id, held=self._held.get(id))
                gone.append(self._let_go(id))
        return tuple(item for item in gone if item is not None)

    def _draft(self, now: float) -> Draft:
        view = View(
            held=self._held,
            ranking=self._ranking,
            leaving=self._ledger.leaving,
            wanted=self._ledger.wanted,
            budget=self._budget,
            room=self.free,
        )
        return Draft(view, now=self._moment(now))

    def _claim(self, draft: Draft) -> Plan:
        claim = claim_of(draft)
        plan = Plan(
            admitted=tuple(claim.incoming.values()),
            refused=tuple(draft.refused),
            victims=tuple(draft.victims),
            reserved=claim.growth,
        )
        self._ledger.open(plan, claim)
        return plan

    def _arrived(self, item: Item, claim: Claim) -> Item:
        """The item as it comes in, with the accesses counted, and at the size agreed, since it was planned."""
        known = self._held.get(item.id)
        if known is None or item.id in claim.returned:
            return item
        if item.id in claim.pinned:
            item = replace(item, content=known.content, tokens=known.tokens)
        return renewed(known, item)

    def _put(self, item: Item) -> None:
        known = self._held.get(item.id)
        if known is None:
            self._ranking.put(item)
        else:
            self._ranking.renew(known, item)
        self._held[item.id] = item
        self._tokens += item.tokens - (known.tokens if known else 0)

    def _let_go(self, id: str) -> Item | None:
        item = self._held.pop(id, None)
        if item is not None:
            self._ranking.drop(item)
            self._tokens -= item.tokens
        return item

    def _moment(self, now: float) -> float:
        self._latest = max(self._latest, moment(now))
        return float(now)


def _arrival(item: Item) -> tuple[float, str]:
    return (item.added_at, item.id)
