"""Plan, commit, apply: several plans at once, items removed in between, and many threads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from htm_core.base.errors import InvalidInput
from htm_core.base.types import Eviction, Item
from htm_core.working.eviction_policies import POLICIES
from htm_core.working.memory import Plan, WorkingMemory

NOW = 8_640_000.0


def item(id: str, tokens: int = 10, *, importance: float = 1.0, age: float = 0.0) -> Item:
    """An item that was added and last accessed `age` seconds ago."""
    return Item(
        id=id,
        content=id,
        tokens=tokens,
        importance=importance,
        added_at=NOW - age,
        accessed_at=NOW - age,
    )


def filled(*items: Item, budget: int = 30) -> WorkingMemory:
    memory = WorkingMemory(budget=budget)
    memory.load(items, now=NOW)
    return memory


def ids(items: Sequence[Item]) -> list[str]:
    return [each.id for each in items]


def gone(evictions: Sequence[Eviction]) -> list[str]:
    return [each.item.id for each in evictions]


def test_victims_stay_until_the_plan_is_applied() -> None:
    memory = filled(item("a", age=2), item("b", age=1), item("c"))
    plan = memory.plan([item("d", 15)], now=NOW)
    assert (gone(plan.victims), ids(memory.items), memory.tokens) == (
        ["a", "b"],
        ["a", "b", "c"],
        30,
    )
    memory.apply(plan, now=NOW)
    assert (ids(memory.items), memory.tokens, memory.reserved) == (["c", "d"], 25, 0)


def test_a_plan_reserves_the_room_that_its_victims_do_not_give() -> None:
    memory = filled(item("a"), budget=30)
    plan = memory.plan([item("b", 15)], now=NOW)
    assert (plan.reserved, memory.tokens, memory.reserved, memory.free) == (15, 10, 15, 5)
    memory.release(plan)
    assert (memory.tokens, memory.reserved, memory.free) == (10, 0, 20)


def test_a_released_plan_changes_nothing_and_its_victims_are_available_again() -> None:
    memory = filled(item("a", age=2), item("b", age=1), item("c"))
    memory.release(memory.plan([item("d", 30)], now=NOW))
    assert ids(memory.items) == ["a", "b", "c"]
    assert gone(memory.add(item("e"), now=NOW)) == ["a"]


def test_what_one_plan_evicts_no_other_plan_touches() -> None:
    memory = filled(item("a", age=2), item("b", age=1), item("c"))
    first, second = memory.plan([item("d")], now=NOW), memory.plan([item("e")], now=NOW)
    assert (gone(first.victims), gone(second.victims)) == (["a"], ["b"])
    again = memory.plan([item("a")], now=NOW)
    assert [each.reason for each in again.refused] == ["moving"]
    memory.apply(second, now=NOW)
    memory.apply(first, now=NOW)
    assert sorted(ids(memory.items)) == ["c", "d", "e"]


def test_what_one_plan_brings_no_other_plan_evicts() -> None:
    memory = filled(item("a", importance=1), item("b", importance=2), item("c", importance=3))
    again = memory.plan([item("a", importance=1)], now=NOW)
    assert (again.reserved, again.victims) == (0, ())
    assert gone(memory.add(item("d"), now=NOW)) == ["b"]
    memory.apply(again, now=NOW)
    assert gone(memory.add(item("e"), now=NOW)) == ["a"]


def test_where_all_that_could_leave_is_doomed_a_new_item_is_refused_and_nothing_leaves() -> None:
    memory = filled(item("a", 20, age=1), item("b", 10))
    first = memory.plan([item("c", 20)], now=NOW)
    second = memory.plan([item("d", 11), item("e", 10)], now=NOW)
    assert [(each.item.id, each.reason) for each in second.refused] == [("d", "no room")]
    assert (gone(first.victims), gone(second.victims)) == (["a"], ["b"])


def test_a_plan_is_applied_once() -> None:
    memory = filled(item("a"))
    plan = memory.plan([item("b")], now=NOW)
    memory.apply(plan, now=NOW)
    with pytest.raises(InvalidInput, match="was applied or released already"):
        memory.apply(plan, now=NOW)
    memory.release(plan)
    assert ids(memory.items) == ["a", "b"]


def test_a_plan_of_another_memory_is_refused() -> None:
    with pytest.raises(InvalidInput, match="in the working memory that made it"):
        WorkingMemory(budget=10).apply(WorkingMemory(budget=10).plan([item("a")], now=NOW), now=NOW)


def test_what_is_removed_while_a_plan_brings_it_stays_away() -> None:
    """It was forgotten in the meantime."""
    memory = filled(item("a"))
    plan = memory.plan([item("a"), item("b"), item("c")], now=NOW)
    memory.drop(["a", "b"])
    memory.apply(plan, now=NOW)
    assert (ids(memory.items), memory.tokens, memory.reserved) == (["c"], 10, 0)


def test_what_is_removed_while_a_plan_evicts_it_leaves_no_receipt() -> None:
    memory = filled(item("a", age=1), item("b"), item("c"))
    plan = memory.plan([item("d")], now=NOW)
    assert memory.remove("a")
    assert memory.free == 0
    assert memory.apply(plan, now=NOW) == ()
    assert sorted(ids(memory.items)) == ["b", "c", "d"]


def test_a_plan_that_brings_an_item_again_leaves_it_the_size_that_another_plan_gave_it() -> None:
    """Three plans bring one item, and the last of them reserved no growth."""
    memory = WorkingMemory(budget=30)
    small, large = memory.plan([item("a", 5)], now=NOW), memory.plan([item("a", 10)], now=NOW)
    memory.apply(large, now=NOW)
    again = memory.plan([item("a", 10)], now=NOW)
    memory.apply(small, now=NOW)
    memory.add(item("b", 25), now=NOW)
    memory.apply(again, now=NOW)
    assert [(each.id, each.tokens) for each in memory.items] == [("a", 5), ("b", 25)]


@pytest.mark.parametrize("policy", [*POLICIES, lambda each, now: each.importance])
def test_many_threads_never_exceed_the_budget_and_every_item_is_held_or_has_its_receipt(
    policy: Any,
) -> None:
    """Threads plan, commit, apply and release at once; in the end each item added is held, evicted, or was refused."""
    memory, done = WorkingMemory(budget=300, policy=policy), Event()

    def watch() -> int:
        lowest = memory.free
        while not done.is_set():
            lowest = min(lowest, memory.free)
        return lowest

    with ThreadPoolExecutor(9) as threads:
        watching = threads.submit(watch)
        tallies = list(threads.map(lambda seed: worked(memory, seed), range(8)))
        done.set()
        assert watching.result() >= 0
    entered = [id for came, _ in tallies for id in came]
    left = [id for _, went in tallies for id in went]
    assert sorted(entered) == sorted(left + ids(memory.items))
    assert memory.tokens == sum(each.tokens for each in memory.items) <= 300
    assert memory.reserved == 0
    held = {each.id: each.tokens for each in memory.items}
    evicted = [each.item.id for each in memory.add(item("all", 300), now=NOW)]
    stayed = [id for id in ids(memory.items) if id != "all"]
    assert sorted(evicted + stayed) == sorted(held)
    assert all(held[id] == 0 for id in stayed)  # what costs nothing need not leave


def worked(memory: WorkingMemory, seed: int) -> tuple[list[str], list[str]]:
    """The work of one thread; returns the ids that it brought in and those that left."""
    chance = random.Random(seed)
    entered: list[str] = []
    left: list[str] = []
    waiting: list[tuple[Plan, list[Item]]] = []
    for n in range(150):
        items = [
            item(f"{seed}.{n}.{each}", chance.randint(0, 40), importance=chance.random())
            for each in range(2)
        ]
        waiting.append((memory.plan(items, now=NOW + n), items))
        memory.touch(chance.choices(ids(memory.items) or ["none"], k=3), now=NOW + n)
        while len(waiting) > chance.randint(0, 3):
            plan, items = waiting.pop(chance.randrange(len(waiting)))
            if chance.random() < 0.3:
                memory.release(plan)
                continue
            refused = [refusal.item.id for refusal in plan.refused]
            entered += [each.id for each in items if each.id not in refused]
            left += gone(memory.apply(plan, now=NOW + n))
    for plan, _ in waiting:
        memory.release(plan)
    return entered, left


def test_many_threads_that_add_the_same_items_count_each_once() -> None:
    memory = WorkingMemory(budget=1_000)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: memory.add(item(f"{n % 50}"), now=NOW), range(800)))
    assert (len(memory), memory.tokens, memory.reserved) == (50, 500, 0)


def test_a_recall_takes_the_room_of_its_own_worse_hits_before_that_of_what_is_more_important() -> (
    None
):
    memory = filled(item("vital", importance=9, age=3), item("worse", age=2), item("last", age=1))
    plan = memory.plan_by_rank([item("best"), item("worse"), item("last")], now=NOW)
    assert (ids(plan.admitted), gone(plan.victims), plan.reserved) == (["best"], ["last"], 0)
    memory.apply(plan, now=NOW)
    assert sorted(ids(memory.items)) == ["best", "vital", "worse"]


def test_all_but_the_best_hit_evict_only_what_has_a_lower_keep_score() -> None:
    memory = filled(*[item(f"vital {n}", importance=9, age=n) for n in range(3)])
    plan = memory.plan_by_rank(
        [item("best"), item("second"), item("vital too", importance=9)], now=NOW
    )
    assert (ids(plan.admitted), gone(plan.victims)) == (["best"], ["vital 2"])
    assert [(each.item.id, each.reason) for each in plan.refused] == [
        ("second", "no room"),
        ("vital too", "no room"),
    ]


def test_a_recall_that_is_held_already_changes_nothing() -> None:
    memory = filled(item("a", age=2), item("b", age=1), item("c"))
    plan = memory.plan_by_rank([item("c"), item("a"), item("b")], now=NOW)
    assert (plan.admitted, plan.refused, plan.victims, plan.reserved) == ((), (), (), 0)


def test_a_hit_that_another_plan_moves_stays_as_that_plan_has_it() -> None:
    memory = filled(item("a", age=2), item("b", age=1), item("c"))
    other = memory.plan([item("d"), item("b")], now=NOW)  # "a" leaves, "b" stays
    plan = memory.plan_by_rank([item("a"), item("b"), item("e", 20)], now=NOW)
    assert [(each.item.id, each.reason) for each in plan.refused] == [
        ("a", "moving"),
        ("e", "no room"),
    ]
    memory.apply(plan, now=NOW)
    memory.apply(other, now=NOW)
    assert sorted(ids(memory.items)) == ["b", "c", "d"]
