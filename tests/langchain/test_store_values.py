"""What is put comes back exactly, or is refused with the place of what cannot be kept."""

from __future__ import annotations

import enum
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, PutOp

from htm_core import InvalidInput, Memory
from htm_langchain import HTMStore
from htm_langchain.store.values import check_value, join_value, split_value
from tests.stand_ins import HashEmbedder

NS = ("notes",)


@pytest.fixture(scope="module")
def store(url: str | None) -> Iterator[HTMStore]:
    with Memory(
        "atlas", url=url, tenant=f"tenant-{uuid.uuid4().hex[:12]}", embedder=HashEmbedder()
    ) as memory:
        yield HTMStore(memory=memory)


def stored(store: HTMStore, value: Any) -> Any:
    store.put(NS, "1", value)
    item = store.get(NS, "1")
    assert item is not None
    return item.value


TEXTS = st.text(
    st.characters() | st.sampled_from(["\0", "\ud800", "\udfff", "é", "😀", "\u2028", '"', "\\"]),
    max_size=8,
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
VALUES = st.dictionaries(TEXTS, TREES, max_size=4)


def separable(value: Any) -> bool:
    """Whether JSON can tell the value: it reads two lone surrogates side by side as one character."""
    return repr(json.loads(json.dumps(value))) == repr(value)


@given(st.lists(VALUES.filter(separable), min_size=1, max_size=8))
@example([{"a\0": "\0", "b": ["\ud800x", float("nan"), float("-inf")]}])
@example([{"n": [1e16, 1e23, -1e300, -0.0, 0.0, 1.0, 5e-324, 0.1, 10**30, 2**53 + 1]}])
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_json_comes_back_exactly(store: HTMStore, values: Any) -> None:
    store.batch([PutOp(NS, f"k{n}", value) for n, value in enumerate(values)])
    found = store.batch([GetOp(NS, f"k{n}") for n in range(len(values))])
    for item, value in zip(found, values, strict=True):
        assert alike(getattr(item, "value", None), value)


def alike(left: Any, right: Any) -> bool:
    """Equal in types and signs, with NaN like NaN; the order of keys is nobody's promise."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(alike, left, right))
    return type(left) is type(right) and repr(left) == repr(right)


@given(VALUES.filter(separable))
@settings(deadline=None)
def test_only_what_jsonb_would_change_is_kept_twice(value: Any) -> None:
    plain, exact = split_value(check_value(value))
    assert alike(join_value(plain, exact), value)
    json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()
    assert "\\u0000" not in json.dumps(plain)
    assert exact is None or not alike(plain, value)


class Colour(enum.StrEnum):
    RED = "red"


def test_what_json_has_no_word_for_comes_back_as_json_writes_it(store: HTMStore) -> None:
    value = stored(store, {"pair": (1, 2), "colour": Colour.RED})
    assert value == {"pair": [1, 2], "colour": "red"}
    assert type(value["colour"]) is str


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "expected a value to be a mapping, got list"),
        ({"a": {"b": [0, {1, 2}]}}, r"value\.a\.b\[1\]: expected a JSON value .* got set"),
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, r"value\.when: .*got datetime; .*isoformat"),
        ({"a": b"bytes"}, "got bytes"),
        ({"a": {1: "x"}}, r"value\.a: expected keys that are strings, got 1"),
        ({"a": "\ud83d\ude00"}, "two lone surrogates side by side"),
        ({"n": 10**1000}, "at most 1,000 digits"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_of_the_batch_is_written(
    store: HTMStore, value: Any, message: str
) -> None:
    namespace = (uuid.uuid4().hex,)
    with pytest.raises(InvalidInput, match=message):
        store.batch([PutOp(namespace, "fine", {"a": 1}), PutOp(namespace, "1", value)])
    assert store.search(namespace) == []


def test_a_value_nested_without_end_is_refused(store: HTMStore) -> None:
    value: Any = {}
    for _ in range(2000):
        value = {"a": value}
    with pytest.raises(InvalidInput, match="nested deeper than 64 levels"):
        store.put(NS, "deep", value)


def test_odd_texts_are_found_by_what_is_around_them(store: HTMStore) -> None:
    namespace = (uuid.uuid4().hex,)
    store.put(
        namespace,
        "1",
        {"text": "hens\0 lay \ud800 eggs", "n": float("nan"), "big": 1e20, "kind": "odd"},
    )
    store.put(namespace, "2", {"text": "trains", "n": 1.0, "big": 1, "kind": "even"})
    assert store.search(namespace, query="hens eggs")[0].key == "1"
    assert [item.key for item in store.search(namespace, filter={"kind": "odd"})] == ["1"]
    assert [item.key for item in store.search(namespace, filter={"big": {"$gt": 1e19}})] == ["1"]
    assert [item.key for item in store.search(namespace, filter={"n": {"$gte": 0}})] == ["2"]


def test_what_a_reader_changes_is_its_own(store: HTMStore) -> None:
    namespace = (uuid.uuid4().hex,)
    store.put(namespace, "1", {"a": [1, {"b": 2}]})
    one, other = store.get(namespace, "1"), store.get(namespace, "1")
    assert one is not None
    assert other is not None
    one.value["a"].append("changed")
    assert other.value == {"a": [1, {"b": 2}]}


def test_a_number_that_json_cannot_read_back_is_refused_with_its_place(store: HTMStore) -> None:
    with pytest.raises(InvalidInput, match=r"value\.a\[0\]: expected at most 1,000 digits"):
        store.put(NS, "k", {"a": [10**5000]})
    store.put(NS, "k", {"a": [10**999]})
    found = store.get(NS, "k")
    assert found is not None
    assert found.value == {"a": [10**999]}
