"""A dictionary of what was used last keeps that, and no more."""

from __future__ import annotations

import copy
import pickle

from htm_core.base.last_used import LastUsed


def full() -> LastUsed[str, int]:
    kept = LastUsed[str, int](3)
    kept.update({"a": 1, "b": 2, "c": 3})
    return kept


def test_one_more_takes_the_place_of_what_was_used_longest_ago() -> None:
    kept = full()
    assert kept.get("a") == 1
    kept["b"] = 4
    kept["d"] = 5
    assert list(kept.items()) == [("a", 1), ("b", 4), ("d", 5)]


def test_what_is_not_there_is_none_and_takes_no_place() -> None:
    kept = full()
    assert (kept.get("d"), kept.get("d", 7)) == (None, 7)
    assert list(kept) == ["a", "b", "c"]


def test_a_copy_keeps_as_many_in_the_same_order() -> None:
    for again in (copy.deepcopy(full()), pickle.loads(pickle.dumps(full()))):
        again["d"] = 4
        assert list(again) == ["b", "c", "d"]
