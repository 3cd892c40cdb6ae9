"""Working memory: the items a robot holds within a budget of tokens, shared by threads."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from threading import RLock

from ..base.errors import InvalidInput
from ..base.types import Eviction, Item
from ..base.validation import check_budget, check_epoch_seconds
from .eviction_policies import Policy, PolicyFailed, ranking
from .plan import Claim, Claims, Plan, PlanBuilder, Refusal, View, claim_of, renewed

__all__ = ["Plan", "Refusal", "WorkingMemory"]

_log = logging.getLogger("htm.working_sets")


class WorkingMemory:
    """Hold items within a token budget and evict those of the lowest keep-score when room is
    needed.

    Changes that must agree with storage are made in three steps, so that no lock is held during a
    commit: `plan` reserves room and picks victims, the caller commits, and `apply` follows (or
        `release`, when the commit failed). At
    every moment `tokens + reserved <= budget`. `tokens` is the sum of `items`, and `reserved` is
    the room that outstanding plans hold beyond what their victims will give. Every method is
    thread-safe; times are UTC epoch seconds.

    `on_remove` is called by `remove` and `clear` instead of `drop`, outside the lock. It stores the
    removal, calls `drop` itself, and returns the items that were held. If it raises, nothing is
    removed.
    """

    def __init__(
        self,
        *,
        budget: int,
        policy: Policy | str = "importance",
        on_remove: Callable[[tuple[Item, ...]], tuple[Item, ...]] | None = None,
    ) -> None:
        self._budget = check_budget(budget)
        self._policy = policy
        self._on_remove = on_remove
        self.renew()

    def renew(self) -> None:
        """Start again with no items and a new lock: in a forked child, where another thread may
        have held the old lock.
        """
        # re-entrant, so that a caller's policy may read the memory that calls it
        self._lock = RLock()
        self._ranking = ranking(self._policy)
        self._held: dict[str, Item] = {}
        self._tokens = 0
        self._claims = Claims()
        self._latest = 0.0

    @property
    def budget(self) -> int:
        """The most tokens that may be held."""
        return self._budget

    @property
    def policy(self) -> str:
        """The name of the policy that decides which item leaves first."""
        return self._ranking.name

    @property
    def items(self) -> tuple[Item, ...]:
        """The items held now, oldest added first."""
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
        return self._claims.reserved

    @property
    def free(self) -> int:
        """The tokens that are neither held nor reserved, never below 0; both are read under one
        lock.
        """
        with self._lock:
            return self._budget - self._tokens - self._claims.reserved

    @property
    def utilization(self) -> float:
        """The share of the budget that is held, from 0 to 1."""
        return self._tokens / self._budget

    @property
    def entered(self) -> bool:
        """True if the calling thread holds the lock already: a policy that reads the memory which
        called it.
        """
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]  # threading.Condition uses it, too

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, id: object) -> bool:
        return id in self._held

    def get(self, id: str) -> Item | None:
        """The item held under an id."""
        return self._held.get(id)

    def plan(self, items: Sequence[Item], *, now: float) -> Plan:
        """Reserve room for items and pick the victims that leave for it, as if the items were added
        one by one.

        Only as much is evicted as is needed, lowest keep-score first; a later item may evict an
        earlier one. Until the plan is applied or released its victims stay, and no other plan
        touches its items or its victims: items that would need them are refused. If a caller's
        policy raises or returns no number, all items are refused, with a warning in the log. Cost
        per victim: O(log n) for named policies, and O(n) once per plan for a callable.
        """
        return self._planned(list(map(_checked, items)), PlanBuilder.admit_all, now=now)

    def plan_by_rank(self, items: Sequence[Item], *, now: float) -> Plan:
        """Plan to hold what one recall has found, the best first, as `plan` does; those that are
        held already count among them.

        When not all of them fit, the best stay, whichever were held before, and the rest leaves.
        None evicts a better one.
        """
        return self._planned(list(map(_checked, items)), PlanBuilder.admit_by_rank, now=now)

    def _planned(
        self,
        items: Sequence[Item],
        bring: Callable[[PlanBuilder, Sequence[Item]], None],
        *,
        now: float,
    ) -> Plan:
        """Reserve what a builder makes of items; a policy that fails makes it refuse them all."""
        with self._lock:
            at = self._checked_now(now)
            view = View(
                held=self._held,
                ranking=self._ranking,
                leaving=self._claims.leaving,
                wanted=self._claims.wanted,
                budget=self._budget,
                room=self._budget - self._tokens - self._claims.reserved,
            )
            builder = PlanBuilder(view, now=at)
            try:
                bring(builder, items)
            except PolicyFailed as error:
                _log.warning(
                    "%d memories are stored and not held in working memory: %s", len(items), error
                )
                builder = PlanBuilder(view, now=at)
                builder.refused = [Refusal(item=item, reason="policy") for item in items]
            claim = claim_of(builder)
            plan = Plan(
                admitted=tuple(claim.incoming.values()),
                refused=tuple(builder.refused),
                victims=claim.victims,
                reserved=claim.growth,
            )
            self._claims.reserve(plan, claim)
            return plan

    def apply(self, plan: Plan, *, now: float) -> tuple[Eviction, ...]:
        """Carry out a committed plan: victims leave, items come in; returns one `Eviction` per
        victim.

        A plan that is not outstanding raises `InvalidInput`. An item that was removed since the
        plan was made stays away.
        """
        with self._lock:
            at = self._checked_now(now)
            claim = self._claims.free(plan)
            if claim is None:
                raise InvalidInput(
                    "a plan must be outstanding in the working memory that made it; this one was "
                    "applied or released "
                    "already, or comes from another. Make a new one with plan(items, now=...)."
                )
            for id in claim.leaving - claim.incoming.keys():
                self._let_go(id)
            for item in claim.incoming.values():
                self._put(self._arrived(item, claim))
            # Whoever was removed before the plan could evict it has no receipt.
            return tuple(
                replace(victim, at=at)
                for victim in claim.victims
                if victim.item.id not in claim.removed
            )

    def release(self, plan: Plan) -> None:
        """Give up a plan whose commit failed: nothing changes, and its victims are
        available again.
        """
        with self._lock:
            self._claims.free(plan)

    def add(self, item: Item, *, now: float) -> tuple[Eviction, ...]:
        """Hold an item and evict what must leave for it: `plan` and `apply` in one, where there is
        nothing to commit.

        An id that is held keeps its arrival and access count, and its tokens count once. An item
        larger than the whole budget is not held.
        """
        with self._lock:
            return self.apply(self.plan((item,), now=now), now=now)

    def load(self, items: Iterable[Item], *, now: float) -> tuple[Eviction, ...]:
        """Fill from the table on first use: hold all items, then evict the lowest keep-scores down
        to the budget.

        Unlike adding them one by one this keeps the best of them all. An item larger than the
        budget is evicted, too.
        """
        with self._lock:
            return self.apply(self.plan_load(items, now=now), now=now)

    def plan_load(self, items: Iterable[Item], *, now: float) -> Plan:
        """Plan to hold all items and to evict the lowest keep-scores of the whole down to the
        budget.

        Items that outstanding plans bring or evict are refused as "moving". If a caller's policy
        fails, all are refused.
        """
        return self._planned(sorted(map(_checked, items), key=_arrival), PlanBuilder.fill, now=now)

    def align(self, items: Iterable[Item]) -> None:
        """Take over from storage the arrival, the importance and the accesses of held items, as
        others have set them.
        """
        with self._lock:
            for item in items:
                known = self._held.get(item.id)
                if known is not None:
                    renew = renewed(item, replace(known, importance=item.importance))
                    self._put(renew)

    def leave(self, ids: Iterable[str]) -> bool:
        """Drop what storage has dropped, except what outstanding plans are moving; returns whether
        there was none of these.
        """
        with self._lock:
            gone = list(ids)
            moving = self.moving(gone)
            self.drop(id for id in gone if id in self._held and id not in moving)
            return not moving

    def concerns(self, ids: Iterable[str]) -> bool:
        """True if one of these ids is held, or an outstanding plan is moving it."""
        with self._lock:
            wanted = list(ids)
            return bool(self.moving(wanted)) or any(id in self._held for id in wanted)

    def moving(self, ids: Iterable[str]) -> set[str]:
        """Return those of these ids that outstanding plans are moving."""
        with self._lock:
            return {id for id in ids if id in self._claims.leaving or id in self._claims.wanted}

    def touch(self, ids: Iterable[str], *, now: float) -> None:
        """Count an access to each item at the time `now`, O(1) each; ids that are not held are
        ignored.
        """
        with self._lock:
            at = self._checked_now(now)
            # In order of arrival: then equal times come in the order of their keys, and each is
            # appended in O(1).
            for id in sorted(
                (id for id in ids if id in self._held), key=lambda id: _arrival(self._held[id])
            ):
                item = self._held[id]
                self._put(
                    replace(
                        item,
                        access_count=item.access_count + 1,
                        accessed_at=max(item.accessed_at, at),
                    )
                )

    def update(self, item: Item, *, now: float | None = None) -> tuple[Eviction, ...]:
        """Take a new importance, size or text for an item that is held; one that is not held is
        ignored.

        It keeps its arrival and its access count. Growing may evict others, which are returned;
        while a plan is evicting the item its size stays. `now` defaults to the latest time that
        this memory was given.
        """
        with self._lock:
            known = self._held.get(item.id)
            if known is None:
                return ()
            if item.id in self._claims.leaving:
                self._put(
                    renewed(
                        known, replace(_checked(item), content=known.content, tokens=known.tokens)
                    )
                )
                return ()
            return self.add(item, now=self._latest if now is None else now)

    def remove(self, id: str) -> bool:
        """Remove an item now, also from outstanding plans; returns whether it was held."""
        item = self.get(id)
        return bool(self._removed((item,))) if item is not None else bool(self.drop((id,)))

    def clear(self) -> tuple[Item, ...]:
        """Remove everything that is held; returns it, oldest added first."""
        return self._removed(self.items)

    def _removed(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        if items and self._on_remove is not None:
            return self._on_remove(items)
        return self.drop(item.id for item in items)

    def drop(self, ids: Iterable[str]) -> tuple[Item, ...]:
        """Remove what storage has removed already, such as what was forgotten; `on_remove` is not
        called.

        Outstanding plans do not bring it back.
        """
        with self._lock:
            gone = []
            for id in ids:
                self._claims.cancel(id, held=self._held.get(id))
                gone.append(self._let_go(id))
        return tuple(item for item in gone if item is not None)

    def _arrived(self, item: Item, claim: Claim) -> Item:
        """The item as it comes in: with accesses that were counted since it was planned, and at the
        size that was planned.
        """
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
            self._ranking.replace(known, item)
        self._held[item.id] = item
        self._tokens += item.tokens - (known.tokens if known else 0)

    def _let_go(self, id: str) -> Item | None:
        item = self._held.pop(id, None)
        if item is not None:
            self._ranking.drop(item)
            self._tokens -= item.tokens
        return item

    def _checked_now(self, now: float) -> float:
        self._latest = max(self._latest, check_epoch_seconds(now))
        return float(now)


def _arrival(item: Item) -> tuple[float, str]:
    return (item.added_at, item.id)


def _checked(item: Item) -> Item:
    """Check that an item can be ranked and counted: whole tokens and accesses, finite importance
    and times.
    """
    whole = isinstance(item.tokens, int) and isinstance(item.access_count, int)
    # The sum is finite only if all three are.
    finite = math.isfinite(item.importance + item.added_at + item.accessed_at)
    if whole and finite and item.tokens >= 0 and item.access_count >= 0:
        return item
    raise InvalidInput(
        f"item {item.id!r} must have whole tokens and access_count, 0 or more, and a finite "
        "importance, added_at and "
        f"accessed_at; got tokens={item.tokens!r}, access_count={item.access_count!r}, "
        f"importance={item.importance!r}, "
        f"added_at={item.added_at!r}, accessed_at={item.accessed_at!r}. Count its tokens and pass "
        "epoch seconds."
    )
