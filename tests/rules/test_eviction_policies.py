"""What leaves first under each policy, and the data structures that find it fast."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.types import Item, PolicyName
from htm_core.working.eviction_policies import (
    CHUNK,
    POLICIES,
    PolicyFailed,
    Recency,
    SortedKeys,
    ranking,
)

HOUR, DAY = 3600.0, 86_400.0
NOW = 100 * DAY


def item(
    id: str, *, importance: float = 1.0, age: float = 0.0, count: int = 0, idle: float = 0.0
) -> Item:
    """An item that was added `age` and accessed `idle` seconds ago."""
    return Item(
        id=id,
        content=id,
        tokens=1,
        importance=importance,
        access_count=count,
        added_at=NOW - age,
        accessed_at=NOW - idle,
    )


def leaving(policy: Any, *items: Item, now: float = NOW) -> list[str]:
    """The ids in the order in which they would leave."""
    order = ranking(policy)
    for each in items:
        order.put(each)
    return [key[-1] for key in order.eviction_order(now)]


def test_importance_lets_the_least_important_go_first_and_the_oldest_among_equals() -> None:
    items = [
        item("10, 1 hour", importance=10, age=HOUR),
        item("1, 1 hour", importance=1, age=HOUR),
        item("5, 5 days", importance=5, age=5 * DAY),
        item("10, 5 days", importance=10, age=5 * DAY),
        item("1, 5 days", importance=1, age=5 * DAY),
        item("5, 1 hour", importance=5, age=HOUR),
    ]
    expected = ["1, 5 days", "1, 1 hour", "5, 5 days", "5, 1 hour", "10, 5 days", "10, 1 hour"]
    assert leaving("importance", *items) == expected


def test_lfu_lru_lets_the_cold_go_first_and_the_hot_last() -> None:
    """The original HTM sorted by the negated score, so the most used items left first."""
    hot = item("hot", count=100, idle=0)
    mid = item("mid", count=5, idle=HOUR)
    cold = item("cold", count=0, idle=5 * DAY)
    assert leaving("lfu_lru", hot, cold, mid) == ["cold", "mid", "hot"]


@pytest.mark.parametrize(
    ("count", "idle", "score"),
    [
        (0, 0, 1.0),
        (0, HOUR, 0.5),
        (0, 3 * HOUR, 0.25),
        (1, 0, math.log(2) + 1),
        (9, 24 * HOUR, math.log(10) + 0.04),
    ],
)
def test_the_score_of_lfu_lru_is_the_log_of_uses_plus_a_hyperbola_of_hours(
    count: int, idle: float, score: float
) -> None:
    assert ranking("lfu_lru").key(item("a", count=count, idle=idle), NOW)[0] == pytest.approx(score)


def test_lfu_lru_scores_an_access_ahead_of_now_as_one_of_now() -> None:
    assert ranking("lfu_lru").key(item("a", idle=-2 * HOUR), NOW)[0] == 1.0


def test_lfu_lru_follows_scores_that_cross_as_time_passes() -> None:
    """An item used rarely but just now is kept before one used often but long ago; a day later it is the other way round."""
    seldom, often = item("seldom", count=0, idle=0), item("often", count=1, idle=4 * HOUR)
    assert leaving("lfu_lru", seldom, often, now=NOW) == ["often", "seldom"]
    assert leaving("lfu_lru", seldom, often, now=NOW + DAY) == ["seldom", "often"]


def test_lru_lets_the_least_recently_accessed_go_first_and_fifo_the_first_added() -> None:
    items = [item("a", age=30, idle=10), item("b", age=20, idle=20), item("c", age=10, idle=5)]
    assert leaving("lru", *items) == ["b", "a", "c"]
    assert leaving("fifo", *items) == ["a", "b", "c"]


def test_a_callable_is_a_policy_whose_lowest_score_leaves_first() -> None:
    def longest_id(each: Item, now: float) -> float:
        return -len(each.id)

    assert leaving(longest_id, item("a"), item("ccc"), item("bb")) == ["ccc", "bb", "a"]
    assert ranking(longest_id).name == "longest_id"


def test_a_callable_may_answer_infinities_and_any_real_number() -> None:
    scores: dict[str, Any] = {
        "always": math.inf,
        "never": -math.inf,
        "third": Fraction(1, 3),
        "yes": True,
    }
    assert leaving(lambda each, now: scores[each.id], *map(item, scores)) == [
        "never",
        "third",
        "yes",
        "always",
    ]


def test_the_type_of_a_policys_name_has_each_policy() -> None:
    assert set(get_args(PolicyName)) == {*POLICIES}


@pytest.mark.parametrize("policy", [*POLICIES, lambda item, now: 0.0])
def test_among_equals_the_oldest_added_leaves_first_and_then_the_lower_id(policy: Any) -> None:
    items = [item("b", age=10, idle=5), item("c", age=20, idle=5), item("a", age=10, idle=5)]
    if policy != "fifo":
        assert leaving(policy, *items) == ["c", "a", "b"]
    assert leaving(policy, items[0], items[2]) == ["a", "b"]


@pytest.mark.parametrize("policy", ["lifo", "", None, 3, "Importance"])
def test_an_unknown_policy_is_refused_and_the_known_ones_are_named(policy: Any) -> None:
    with pytest.raises(
        InvalidInput, match='"importance", "lfu_lru", "lru", "fifo", or a callable'
    ) as refused:
        ranking(policy)
    assert repr(policy) in str(refused.value)


@pytest.mark.parametrize("answer", [math.nan, None, "7", 1j, [1]])
def test_a_callable_that_answers_no_number_is_named_with_the_item(answer: Any) -> None:
    def odd(each: Item, now: float) -> Any:
        return answer

    with pytest.raises(PolicyFailed, match=r"odd must return a number .* for item 'a'"):
        leaving(odd, item("a"))


ITEMS = st.lists(
    st.builds(
        item,
        st.text("abcdef", min_size=1, max_size=3),
        importance=st.sampled_from([0.5, 1, 2]),
        age=st.integers(0, 50).map(float),
        count=st.integers(0, 12),
        idle=st.integers(0, 12).map(lambda hours: hours * HOUR / 2),
    ),
    unique_by=lambda each: each.id,
    max_size=40,
)


@pytest.mark.parametrize("policy", POLICIES)
@given(items=ITEMS, data=st.data())
def test_the_order_is_that_of_a_full_sort_after_any_puts_renewals_and_drops(
    policy: str, items: list[Item], data: st.DataObject
) -> None:
    """The fast order is the same as that of sorting all keys."""
    order = ranking(policy)
    for each in items:
        order.put(each)
    fresh = {each.id: each for each in data.draw(ITEMS)}
    held = {each.id: fresh.get(each.id, each) for each in items}
    for each in items:
        order.replace(each, held[each.id])
    for id in data.draw(st.lists(st.sampled_from(sorted(held)), unique=True)) if held else ():
        order.drop(held.pop(id))
    now = NOW + data.draw(st.integers(0, 10)) * HOUR
    assert list(order.eviction_order(now)) == sorted(order.key(each, now) for each in held.values())


@pytest.mark.parametrize("make", [SortedKeys, Recency])
@given(moves=st.lists(st.tuples(st.booleans(), st.integers(0, 30))))
def test_keys_stay_sorted_under_additions_and_removals(
    make: Any, moves: list[tuple[bool, int]]
) -> None:
    order, expected = make(), set()
    for add, value in moves:
        key = (float(value), 0.0, 0.0, "")
        if add and key not in expected:
            order.add(key)
            expected.add(key)
        elif not add:
            order.discard(key)
            expected.discard(key)
        assert list(order) == sorted(expected)
        assert bool(order) == bool(expected)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_keys_stay_sorted_over_many_chunks(seed: int) -> None:
    """More keys than a chunk holds, in any order, so that chunks are split, shrink and disappear."""
    keys = [(float(value), 0.0, 0.0, "") for value in range(5 * CHUNK)]
    order = SortedKeys()
    shuffled = Random(seed)
    for key in shuffled.sample(keys, len(keys)):
        order.add(key)
    assert list(order) == keys
    gone = set(shuffled.sample(keys, 4 * CHUNK))
    for key in gone:
        order.discard(key)
    assert list(order) == [key for key in keys if key not in gone]


def test_an_item_that_was_never_ranked_can_be_dropped_from_lists_of_keys() -> None:
    for order in (SortedKeys(), Recency()):
        order.add((1.0, 0.0, 0.0, "a"))
        order.discard((2.0, 0.0, 0.0, "b"))
        order.discard((0.0, 0.0, 0.0, "c"))
        assert [key[-1] for key in order] == ["a"]


def test_lfu_lru_opens_only_the_lists_that_can_hold_the_lowest() -> None:
    """With the lowest count at 0, a count of 2 or more scores at least ln 3 > 1 and is never read."""
    order, opened = ranking("lfu_lru"), []
    for count in range(50):
        order.put(item(f"{count:02}", count=count, idle=HOUR))
    inner: Any = order
    look = inner._scored_keys
    inner._scored_keys = lambda count, now: opened.append(count) or look(count, now)
    assert next(order.eviction_order(NOW))[-1] == "00"
    assert opened == [0]
    assert sorted(key[-1] for key in order.eviction_order(NOW)) == [
        f"{count:02}" for count in range(50)
    ]
