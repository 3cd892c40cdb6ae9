"""Working memory compared with a naive model that sorts everything each time, under any sequence of operations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from htm_core.base.types import Item
from htm_core.working.memory import Plan, WorkingMemory

BUDGET = 20


def whim(item: Item, now: float) -> float:
    """A policy with scores without any pattern."""
    return (item.tokens * 7 + item.access_count * 3 + int(now / 100)) % 5


def lfu_lru(item: Item, now: float) -> float:
    return log(1 + item.access_count) + 1 / (1 + max(0.0, now - item.accessed_at) / 3600)


SCORES: dict[Any, Any] = {
    "importance": lambda item, now: item.importance,
    "lfu_lru": lfu_lru,
    "lru": lambda item, now: item.accessed_at,
    "fifo": lambda item, now: item.added_at,
    whim: whim,
}


@dataclass(eq=False)
class NaivePlan:
    incoming: dict[str, Item]
    pinned: set[str]
    returned: set[str]
    leaving: set[str]
    receipts: list[tuple[str, float]]
    refused: list[tuple[str, str]]


@dataclass
class Naive:
    """Working memory without any clever data structure: only sums and full sorts."""

    policy: Any
    held: dict[str, Item] = field(default_factory=dict)
    plans: list[NaivePlan] = field(default_factory=list)

    def key(self, item: Item, now: float) -> tuple[Any, ...]:
        tie = item.accessed_at if self.policy == "lfu_lru" else 0
        return (round(SCORES[self.policy](item, now), 9), tie, item.added_at, item.id)

    def growth(self, plan: NaivePlan) -> int:
        new = sum(item.tokens for item in plan.incoming.values() if item.id not in plan.pinned)
        return max(0, new - sum(self.held[id].tokens for id in plan.leaving))

    def tokens(self) -> int:
        return sum(item.tokens for item in self.held.values())

    def free(self) -> int:
        return BUDGET - self.tokens() - sum(map(self.growth, self.plans))

    def plan(self, items: list[Item], now: float) -> NaivePlan:
        doomed = {id for plan in self.plans for id in plan.leaving}
        wanted = {id for plan in self.plans for id in plan.incoming}
        standing = {id: item for id, item in self.held.items() if id not in doomed}
        mine, receipts, refused, room = set(), [], [], self.free()
        for item in items:
            known = standing.get(item.id)
            if item.id in doomed:
                refused.append((item.id, "moving"))
                continue
            if known:
                item = carried(known, item, same_size=item.id in wanted)
            pool = [each for each in standing.values() if each.id not in wanted | {item.id}]
            pool.sort(key=lambda each: self.key(each, now))
            spare, victims = room + (known.tokens if known else 0), []
            while spare < item.tokens and pool and item.tokens <= BUDGET:
                victims.append(pool.pop(0))
                spare += victims[-1].tokens
            fits = spare >= item.tokens and item.tokens <= BUDGET
            if not fits:
                refused.append((item.id, "oversize" if item.tokens > BUDGET else "no room"))
                victims = [known] if known and item.id not in wanted else []
            for victim in victims:
                receipts.append((victim.id, self.key(victim, now)[0]))
                room += standing.pop(victim.id).tokens
                mine.discard(victim.id)
            if fits:
                room += (known.tokens if known else 0) - item.tokens
                standing[item.id] = item
                mine.add(item.id)
        incoming = {id: standing[id] for id in mine}
        returned = mine & self.held.keys() & {id for id, _ in receipts}
        again = mine & self.held.keys() - returned
        pinned = {id for id in again if self.held[id].tokens == incoming[id].tokens}
        stay = (standing.keys() - mine) | pinned | doomed
        plan = NaivePlan(incoming, pinned, returned, self.held.keys() - stay, receipts, refused)
        self.plans.append(plan)
        return plan

    def apply(self, plan: NaivePlan) -> list[tuple[str, float]]:
        self.plans.remove(plan)
        arrived = {
            id: carried(self.held[id], item, same_size=id in plan.pinned)
            if id in self.held and id not in plan.returned
            else item
            for id, item in plan.incoming.items()
        }
        self.held = {id: item for id, item in self.held.items() if id not in plan.leaving} | arrived
        return plan.receipts

    def touch(self, id: str, now: float) -> None:
        if item := self.held.get(id):
            times = max(item.accessed_at, now)
            self.held[id] = replace(item, access_count=item.access_count + 1, accessed_at=times)

    def remove(self, id: str) -> bool:
        for plan in self.plans:
            plan.incoming.pop(id, None)
            plan.pinned.discard(id)
            plan.leaving.discard(id)
            plan.receipts = [receipt for receipt in plan.receipts if receipt[0] != id]
        return self.held.pop(id, None) is not None

    def update(self, item: Item, now: float) -> list[tuple[str, float]]:
        known = self.held.get(item.id)
        if known and any(item.id in plan.leaving for plan in self.plans):
            self.held[item.id] = carried(known, item, same_size=True)
            return []
        return self.apply(self.plan([item], now)) if known else []


def carried(known: Item, item: Item, *, same_size: bool) -> Item:
    if same_size:
        item = replace(item, tokens=known.tokens, content=known.content)
    count, accessed = (
        max(known.access_count, item.access_count),
        max(known.accessed_at, item.accessed_at),
    )
    return replace(item, added_at=known.added_at, access_count=count, accessed_at=accessed)


IDS = st.sampled_from("abcdefgh")
TIMES = st.integers(0, 30).map(lambda step: step * 600.0)
ITEMS = st.builds(
    Item,
    id=IDS,
    content=st.just(""),
    tokens=st.sampled_from([0, 1, 2, 3, 3, 4, 5, 9, BUDGET, BUDGET + 1]),
    importance=st.sampled_from([1.0, 2.0, 3.0]),
    access_count=st.integers(0, 4),
    added_at=TIMES,
    accessed_at=TIMES,
)
PAIR = tuple[Plan, NaivePlan]


class BesideTheModel(RuleBasedStateMachine):
    """Every operation changes working memory as it changes the model, and the budget is kept at every moment."""

    outstanding = Bundle("outstanding")
    policy: Any = "importance"

    def __init__(self) -> None:
        super().__init__()
        self.memory, self.model = (
            WorkingMemory(budget=BUDGET, policy=self.policy),
            Naive(self.policy),
        )

    @initialize(items=st.lists(ITEMS, max_size=8, unique_by=lambda item: item.id))
    def begin(self, items: list[Item]) -> None:
        for item in items:
            self.add(item, now=item.added_at)

    @rule(target=outstanding, items=st.lists(ITEMS, max_size=8), now=TIMES)
    def plan(self, items: list[Item], now: float) -> PAIR:
        before = self.standing()
        plan, naive = self.memory.plan(items, now=now), self.model.plan(items, now)
        assert [(each.item.id, each.reason) for each in plan.refused] == naive.refused
        assert {item.id: item for item in plan.admitted} == naive.incoming
        assert receipts(plan.victims) == naive.receipts
        assert plan.reserved == self.model.growth(naive)
        if len(items) == 1 and plan.admitted:
            self.check_victims(plan, before, now)
        return plan, naive

    def standing(self) -> dict[str, Item]:
        claimed = {id for plan in self.model.plans for id in plan.leaving | plan.incoming.keys()}
        return {item.id: item for item in self.memory.items if item.id not in claimed}

    def check_victims(self, plan: Plan, before: dict[str, Item], now: float) -> None:
        """No item that stays has a lower keep-score than a victim, and without the last victim there was no room."""
        named = {item.id for item in plan.admitted}
        went = [victim.item.id for victim in plan.victims]
        stayed = [item for id, item in before.items() if id not in named and id not in went]
        worst = max((victim.score for victim in plan.victims), default=float("-inf"))
        assert all(SCORES[self.model.policy](item, now) >= worst - 1e-9 for item in stayed)
        if plan.victims:
            assert self.memory.free < plan.victims[-1].item.tokens

    @rule(pair=consumes(outstanding), now=TIMES)
    def apply(self, pair: PAIR, now: float) -> None:
        went = self.memory.apply(pair[0], now=now)
        assert receipts(went) == self.model.apply(pair[1])
        assert all(each.at == now for each in went)

    @rule(pair=consumes(outstanding))
    def release(self, pair: PAIR) -> None:
        self.memory.release(pair[0])
        self.model.plans.remove(pair[1])

    @rule(item=ITEMS, now=TIMES)
    def add(self, item: Item, now: float) -> None:
        assert receipts(self.memory.add(item, now=now)) == self.model.apply(
            self.model.plan([item], now)
        )

    @rule(item=ITEMS, now=TIMES)
    def update(self, item: Item, now: float) -> None:
        assert receipts(self.memory.update(item, now=now)) == self.model.update(item, now)

    @rule(ids=st.lists(IDS, max_size=4), now=TIMES)
    def touch(self, ids: list[str], now: float) -> None:
        self.memory.touch(ids, now=now)
        for id in ids:
            self.model.touch(id, now)

    @rule(id=IDS)
    def remove(self, id: str) -> None:
        assert self.memory.remove(id) == self.model.remove(id)

    @rule()
    def clear(self) -> None:
        assert {item.id for item in self.memory.clear()} == set(self.model.held)
        for id in list(self.model.held):
            self.model.remove(id)

    @rule(target=outstanding, item=ITEMS, now=TIMES)
    def two_plans_of_one_item(self, item: Item, now: float) -> Any:
        return multiple(
            *[(self.memory.plan([item], now=now), self.model.plan([item], now)) for _ in range(2)]
        )

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert {item.id: item for item in self.memory.items} == self.model.held
        assert self.memory.tokens == self.model.tokens()
        assert self.memory.free == self.model.free()

    @invariant()
    def keeps_the_budget(self) -> None:
        assert 0 <= self.memory.tokens + self.memory.reserved <= BUDGET
        assert sum(item.tokens for item in self.memory.items) == self.memory.tokens


def receipts(evictions: Any) -> list[tuple[str, float]]:
    return [(each.item.id, round(each.score, 9)) for each in evictions]


@pytest.mark.parametrize("policy", SCORES, ids=lambda policy: getattr(policy, "__name__", policy))
def test_any_sequence_of_operations_does_what_a_model_that_sorts_everything_does(
    policy: Any,
) -> None:
    """For every policy: the same victims with the same scores, the same items held, and the budget at every moment."""
    machine = type(
        "Machine",
        (BesideTheModel,),
        {"policy": staticmethod(policy) if callable(policy) else policy},
    )
    run_state_machine_as_test(
        machine, settings=settings(max_examples=30, stateful_step_count=30, deadline=None)
    )
