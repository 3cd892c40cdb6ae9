"""Working memory by example: what leaves, what stays, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.types import Eviction, Item
from htm_core.working.eviction_policies import POLICIES, ranking
from htm_core.working.memory import WorkingMemory

HOUR, DAY = 3600.0, 86_400.0
NOW = 100 * DAY


def item(
    id: str, tokens: int = 10, *, importance: float = 1.0, age: float = 0.0, count: int = 0
) -> Item:
    """An item that was added and last accessed `age` seconds ago."""
    return Item(
        id=id,
        content=id,
        tokens=tokens,
        importance=importance,
        access_count=count,
        added_at=NOW - age,
        accessed_at=NOW - age,
    )


def filled(*items: Item, budget: int = 30, **more: Any) -> WorkingMemory:
    memory = WorkingMemory(budget=budget, **more)
    memory.load(items, now=NOW)
    return memory


def ids(items: Sequence[Item]) -> list[str]:
    return [each.id for each in items]


def gone(evictions: Sequence[Eviction]) -> list[str]:
    return [each.item.id for each in evictions]


# What leaves


def test_a_large_memory_lets_only_the_deficit_go_least_important_first() -> None:
    """The use case of the original HTM with its figures: 4,500 tokens are missing, and 2,000 + 1,500 are not enough."""
    memory = filled(
        item("user_pref", 100, importance=8, age=5 * DAY),
        item("random_note", 2_000, importance=1, age=HOUR),
        item("architecture_decision", 3_000, importance=10, age=3 * DAY),
        item("debug_log", 1_500, importance=2, age=2 * DAY),
        item("everything else", 120_900, importance=9, age=DAY),
        budget=128_000,
    )
    assert memory.tokens == 127_500
    went = memory.add(item("new_large_memory", 5_000, importance=7), now=NOW)
    assert gone(went) == ["random_note", "debug_log", "user_pref", "everything else"]
    assert memory.add(item("next", 4_000), now=NOW) == ()


def test_what_was_short_by_3500_lets_two_go_and_stops() -> None:
    memory = filled(
        item("user_pref", 100, importance=8, age=5 * DAY),
        item("random_note", 2_000, importance=1, age=HOUR),
        item("architecture_decision", 3_000, importance=10, age=3 * DAY),
        item("debug_log", 1_500, importance=2, age=2 * DAY),
        budget=7_100,
    )
    assert gone(memory.add(item("new", 4_000, importance=7), now=NOW)) == [
        "random_note",
        "debug_log",
    ]
    assert memory.tokens == 7_100


def test_among_equally_important_the_oldest_go() -> None:
    notes = [
        item("note_1", 1_000, importance=5, age=5 * DAY),
        item("note_2", 1_000, importance=5, age=3 * DAY),
        item("note_3", 1_000, importance=5, age=HOUR),
    ]
    memory = filled(*notes, budget=3_000)
    assert gone(memory.add(item("new", 2_000, importance=1), now=NOW)) == ["note_1", "note_2"]
    assert ids(memory.items) == ["note_3", "new"]


def test_an_important_memory_of_90_days_ago_outlives_many_recent_unimportant_ones() -> None:
    memory = filled(item("critical_decision", importance=10, age=90 * DAY))
    for n in range(20):
        memory.add(item(f"chat {n}", importance=1, age=20 - n), now=NOW)
    assert ids(memory.items) == ["critical_decision", "chat 18", "chat 19"]


def test_the_hot_memory_stays_and_the_cold_one_leaves_under_lfu_lru() -> None:
    """The original HTM evicted "hot" here, since it sorted by the negated score."""
    hot, mid, cold = (
        item("hot", count=100),
        item("mid", count=5, age=HOUR),
        item("cold", age=5 * DAY),
    )
    memory = filled(hot, mid, cold, policy="lfu_lru")
    assert gone(memory.add(item("new"), now=NOW)) == ["cold"]
    assert gone(memory.add(item("newer"), now=NOW)) == ["new"]


def test_a_touch_counts_the_access_and_saves_what_would_have_left() -> None:
    memory = filled(item("a", age=3), item("b", age=2), item("c", age=1), policy="lru")
    memory.touch(["a", "unknown"], now=NOW + 5)
    touched = memory.get("a")
    assert touched is not None
    assert (touched.access_count, touched.accessed_at, touched.added_at) == (1, NOW + 5, NOW - 3)
    assert gone(memory.add(item("d"), now=NOW + 6)) == ["b"]


def test_time_never_runs_backwards_for_an_item() -> None:
    """Threads read their clocks before they get the lock."""
    memory = filled(item("a"))
    memory.touch(["a"], now=NOW + 5)
    memory.touch(["a"], now=NOW + 4)
    touched = memory.get("a")
    assert touched is not None
    assert (touched.access_count, touched.accessed_at) == (2, NOW + 5)


def test_an_eviction_leaves_a_receipt() -> None:
    memory = filled(item("a", 30, importance=3))
    (receipt,) = memory.add(item("b", 5), now=NOW + 7)
    assert receipt == Eviction(
        item=item("a", 30, importance=3), policy="importance", score=3.0, at=NOW + 7
    )


def test_a_later_item_of_a_plan_may_push_out_an_earlier_one_and_leaves_its_receipt() -> None:
    memory = WorkingMemory(budget=20)
    plan = memory.plan(
        [item("a", importance=1), item("b", importance=2), item("c", importance=3)], now=NOW
    )
    assert ids(plan.admitted) == ["b", "c"]
    assert gone(memory.apply(plan, now=NOW)) == ["a"]
    assert ids(memory.items) == ["b", "c"]


MANY = st.lists(
    st.builds(
        item,
        st.sampled_from("abcdefghij"),
        st.integers(0, 9) | st.just(25),
        importance=st.sampled_from([1.0, 2.0, 3.0]),
        age=st.integers(0, 5).map(lambda steps: steps * HOUR / 2),
        count=st.integers(0, 3),
    ),
    max_size=25,
)


@pytest.mark.parametrize("policy", [*POLICIES, lambda each, now: each.tokens % 4])
@given(before=MANY, items=MANY)
def test_a_plan_of_many_does_what_adding_them_one_by_one_does(
    policy: Any, before: list[Item], items: list[Item]
) -> None:
    together, singly = (
        WorkingMemory(budget=24, policy=policy),
        WorkingMemory(budget=24, policy=policy),
    )
    for memory in (together, singly):
        memory.load(before, now=NOW)
    went = together.apply(together.plan(items, now=NOW), now=NOW)
    assert went == tuple(each for one in items for each in singly.add(one, now=NOW))
    assert together.items == singly.items


@pytest.mark.parametrize("policy", POLICIES)
@given(items=MANY)
def test_loading_keeps_the_best_of_the_table(policy: str, items: list[Item]) -> None:
    """No item that stays has a lower keep-score than one that left, in any order of the rows."""
    memory = WorkingMemory(budget=24, policy=policy)
    items = list({each.id: each for each in items}.values())
    went = memory.load(items, now=NOW)
    assert memory.tokens <= 24
    assert sorted(ids(memory.items) + gone(went)) == sorted(ids(items))
    fitting = [each for each in went if each.item.tokens <= 24]
    order = ranking(policy)
    lowest = min((order.key(each, NOW)[0] for each in memory.items), default=math.inf)
    assert all(each.score <= lowest for each in fitting)
    if fitting:
        assert memory.tokens + fitting[-1].item.tokens > 24


# What is refused


def test_an_item_larger_than_the_whole_budget_is_refused_and_nothing_leaves_for_it() -> None:
    memory = filled(item("a"), item("b"))
    plan = memory.plan([item("huge", 31), item("c")], now=NOW)
    assert [(each.item.id, each.reason) for each in plan.refused] == [("huge", "oversize")]
    assert memory.apply(plan, now=NOW) == ()
    assert ids(memory.items) == ["a", "b", "c"]


def test_an_item_of_exactly_the_budget_is_held_alone() -> None:
    memory = filled(item("a"), item("b"))
    assert sorted(gone(memory.add(item("whole", 30), now=NOW))) == ["a", "b"]
    assert (ids(memory.items), memory.utilization, memory.free) == (["whole"], 1.0, 0)


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf, 1.5, "9", None, True])
def test_a_budget_that_is_no_number_of_tokens_is_refused(budget: Any) -> None:
    with pytest.raises(
        InvalidInput, match=r"budget must be a whole number of tokens, 1 or more; got .*\. Pass"
    ):
        WorkingMemory(budget=budget)


@pytest.mark.parametrize("now", [math.nan, math.inf, "today", None, True])
def test_a_moment_that_is_none_is_refused_and_nothing_changes(now: Any) -> None:
    memory = filled(item("a", 30))
    with pytest.raises(InvalidInput, match="now must be finite UTC epoch seconds"):
        memory.add(item("b"), now=now)
    assert (ids(memory.items), memory.reserved) == (["a"], 0)


@pytest.mark.parametrize(
    "odd",
    [
        Item(id="odd", content="", tokens=-1, added_at=0.0, accessed_at=0.0),
        Item(id="odd", content="", tokens=1.5, added_at=0.0, accessed_at=0.0),  # type: ignore[arg-type]
        Item(id="odd", content="", tokens=1, access_count=-1, added_at=0.0, accessed_at=0.0),
        Item(id="odd", content="", tokens=1, importance=math.nan, added_at=0.0, accessed_at=0.0),
        Item(id="odd", content="", tokens=1, added_at=math.inf, accessed_at=-math.inf),
    ],
)
def test_an_item_that_cannot_be_ranked_is_refused_and_the_plan_with_it(odd: Item) -> None:
    memory = filled(item("a", 30))
    with pytest.raises(InvalidInput, match="item 'odd' must have"):
        memory.plan([item("b"), odd], now=NOW)
    assert (ids(memory.items), memory.reserved) == (["a"], 0)


@pytest.mark.parametrize("answer", [math.nan, "many", None, ZeroDivisionError()])
def test_a_policy_that_fails_midway_holds_nothing_new_and_leaves_everything_as_it_was(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def moody(each: Item, now: float) -> Any:
        if each.id == "c" and isinstance(answer, Exception):
            raise answer
        return answer if each.id == "c" else 1.0

    memory = WorkingMemory(budget=30, policy=moody)
    for id in "abc":
        memory.add(item(id), now=NOW)
    assert memory.add(item("d"), now=NOW) == ()
    assert "policy moody failed" in caplog.text
    assert [each.reason for each in memory.plan([item("d"), item("e")], now=NOW).refused] == [
        "policy",
        "policy",
    ]
    assert (ids(memory.items), memory.tokens, memory.reserved) == (["a", "b", "c"], 30, 0)
    assert memory.remove("c")
    assert memory.add(item("d"), now=NOW) == ()


def test_a_policy_may_read_the_memory_that_asks_it() -> None:
    def fuller(each: Item, now: float) -> float:
        return each.importance * memory.utilization + len(memory.items)

    memory = WorkingMemory(budget=20, policy=fuller)
    for id in "abc":
        memory.add(item(id), now=NOW)
    assert ids(memory.items) == ["b", "c"]


# Adding again, updating, removing


def test_adding_what_is_held_counts_its_tokens_once_and_keeps_its_arrival_and_access_count() -> (
    None
):
    memory = filled(item("a", 10, age=9))
    memory.touch(["a"], now=NOW)
    memory.add(item("a", 10, importance=4), now=NOW)
    (held,) = memory.items
    assert (memory.tokens, held.access_count, held.added_at, held.importance) == (10, 1, NOW - 9, 4)


def test_a_new_importance_is_ranked_at_once() -> None:
    memory = filled(item("a", importance=1), item("b", importance=2), item("c", importance=3))
    memory.update(item("a", importance=9))
    assert gone(memory.add(item("d"), now=NOW)) == ["b"]


def test_an_item_that_grew_makes_room_for_itself_and_one_that_outgrew_the_budget_leaves() -> None:
    memory = filled(
        item("a", 10, importance=5), item("b", 10, importance=1), item("c", 10, importance=2)
    )
    assert gone(memory.update(item("a", 15, importance=5))) == ["b"]
    assert memory.tokens == 25
    assert gone(memory.update(item("a", 31, importance=5))) == ["a"]
    assert ids(memory.items) == ["c"]


def test_updating_what_is_not_held_does_nothing() -> None:
    memory = filled(item("a"))
    assert memory.update(item("b")) == ()
    assert ids(memory.items) == ["a"]


def test_removing_says_whether_it_was_held() -> None:
    memory = filled(item("a"))
    assert memory.remove("a")
    assert not memory.remove("a")
    assert (len(memory), memory.tokens, "a" in memory, memory.get("a")) == (0, 0, False, None)


def test_clearing_hands_back_what_was_held_oldest_first() -> None:
    memory = filled(item("a", age=1), item("b", age=2))
    assert ids(memory.clear()) == ["b", "a"]
    assert (memory.items, memory.tokens, memory.utilization) == ((), 0, 0.0)


def test_removals_are_observed_before_they_happen_and_a_failing_observer_prevents_them() -> None:
    """Storage removes the items first; if it fails, memory and storage still agree."""
    seen: list[str] = []

    def on_remove(items: tuple[Item, ...]) -> tuple[Item, ...]:
        seen.extend(ids(items))
        if len(seen) > 1:
            raise ConnectionError
        return memory.drop(ids(items))

    memory = filled(item("a"), item("b"), item("c"), on_remove=on_remove)
    assert memory.remove("a")
    with pytest.raises(ConnectionError):
        memory.clear()
    assert (seen, ids(memory.items)) == (["a", "b", "c"], ["b", "c"])
    memory.drop(["b"])
    assert (seen, ids(memory.items)) == (["a", "b", "c"], ["c"])
