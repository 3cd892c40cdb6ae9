"""What metadata filters mean by the reference in Python, which filters are refused, and how they become JSON paths."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from htm_core.base.errors import InvalidInput
from htm_core.base.filters.filters import compile_where
from tests.filter_reference import matches


class Kind(str, Enum):  # noqa: UP042 - the older form is the one whose str() is not its value
    NOTE = "note"


NOTE = {
    "kind": "note",
    "year": 2025,
    "score": 9.5,
    "pinned": True,
    "gone": None,
    "tags": ["red", "blue", 3],
    "source": {"file": "a.md", "page": 10, "lines": [1, 2]},
    "a.b": "exact",
    "a": {"b": "nested", "c": "deep"},
    "at": "2025-03-01T12:00:00+00:00",
}

PASS = [
    None,
    {},
    {"kind": "note"},
    {"kind": "note", "year": 2025},
    {"year": 2025.0},
    {"year": {"$eq": 2025}},
    {"year": {"$gt": 2024, "$lt": 2026}},
    {"year": {"$gte": 2025, "$lte": 2025}},
    {"source.page": {"$gt": 9}},
    {"kind": {"$gt": "nose", "$lt": "noun"}},
    {"kind": {"$ne": "chat"}},
    {"kind": {"$in": ["chat", "note"]}},
    {"year": {"$in": ["2025", 2025]}},
    {"kind": {"$nin": ["chat"]}},
    {"tags": {"$contains": "red"}},
    {"tags": {"$contains": 3.0}},
    {"kind": {"$contains": "ot"}},
    {"kind": {"$contains": ""}},
    {"kind": {"$icontains": "NOT"}},
    {"kind": {"$icontains": "ot"}},
    {"kind": {"$like": "n%e"}},
    {"kind": {"$like": "_ot_"}},
    {"kind": {"$like": "%"}},
    {"kind": {"$like": "note"}},
    {"kind": {"$ilike": "N_T%"}},
    {"source.file": {"$like": r"a.m\d"}},
    {"year": {"$between": [2025, 2026]}},
    {"kind": {"$between": ["a", "note"]}},
    {"tags": ["red", "blue", 3]},
    {"source": {"page": 10, "file": "a.md", "lines": [1, 2]}},
    {"source.lines": [1, 2]},
    {"a.b": "exact"},
    {"a.c": "deep"},
    {"pinned": True},
    {"gone": None},
    {"gone": {"$exists": True}},
    {"source.file": {"$exists": True}},
    {"nowhere": {"$exists": False}},
    {"source.nowhere": {"$exists": False}},
    {"$or": [{"kind": "chat"}, {"year": 2025}]},
    {"$and": [{"kind": "note"}, {"year": {"$lt": 2030}}]},
    {"$not": {"kind": "chat"}},
    {"year": {"$not": {"$gt": 2030}}},
    {"$not": {"$not": {"kind": "note"}}},
    {"at": datetime(2025, 3, 1, 13, tzinfo=timezone(timedelta(hours=1)))},
    {"at": {"$lt": datetime(2025, 3, 1, 12, 0, 0, 1, tzinfo=UTC)}},
    {"at": {"$gte": date(2025, 3, 1)}},
]

FAIL = [
    {"kind": "Note"},
    {"kind": "note", "year": 2024},
    {"pinned": 1},
    {"year": "2025"},
    {"year": True},
    {"year": {"$gt": "2024"}},
    {"source.page": {"$gt": "1"}},
    {"kind": {"$lt": 5}},
    {"pinned": {"$gte": 0}},
    {"gone": {"$lt": 5}},
    {"kind": {"$ne": "note"}},
    {"kind": {"$in": []}},
    {"year": {"$in": ["2025", True]}},
    {"kind": {"$nin": ["note"]}},
    {"tags": "red"},
    {"tags": {"$contains": "re"}},
    {"tags": {"$contains": "3"}},
    {"kind": {"$contains": "NOT"}},
    {"kind": {"$icontains": "x"}},
    {"kind": {"$like": "ot"}},
    {"kind": {"$like": "N%"}},
    {"kind": {"$like": "note_"}},
    {"kind": {"$like": r"n\%e"}},
    {"kind": {"$ilike": "x%"}},
    {"year": {"$like": "2025"}},
    {"tags": {"$like": "%"}},
    {"gone": {"$like": "%"}},
    {"nowhere": {"$ilike": "%"}},
    {"source.file": {"$like": "a_m"}},
    {"year": {"$between": [2026, 2030]}},
    {"year": {"$between": ["2000", "3000"]}},
    {"tags": {"$icontains": "RED"}},
    {"year": {"$icontains": "2025"}},
    {"year": {"$contains": 2}},
    {"source": {"$contains": "file"}},
    {"tags": ["red", "blue"]},
    {"source": {"page": 10}},
    {"source.lines.0": 1},
    {"a.b": "nested"},
    {"gone": {"$exists": False}},
    {"nowhere": {"$exists": True}},
    {"$or": [{"kind": "chat"}, {"year": 2024}]},
    {"$not": {"kind": "note"}},
    {"year": {"$not": {"$gt": 2024}}},
]

REFUSED: list[tuple[Any, str]] = [
    ("kind", r"where: expected a mapping"),
    ([("kind", "note")], r"where: expected a mapping"),
    ({"$where": "1"}, r"unknown operator '\$where'; known are \$eq .* \$not"),
    ({"year": {"$gtt": 5}}, r"where\.year\.\$gtt: unknown operator '\$gtt'; known are"),
    ({"year": {"$gt": 5, "month": 3}}, r"unknown operator 'month'"),
    ({"year": {"$gt": 5, 3: 3}}, r"unknown operator 3"),
    (
        {"year": {"$gt": None}},
        r"\$gt: expected a number, a string or an aware datetime .* got None",
    ),
    ({"year": {"$lte": True}}, r"\$lte: expected a number"),
    ({"year": {"$lt": [1]}}, r"\$lt: expected a number"),
    ({"year": {"$in": "2025"}}, r"\$in: expected a list of values, got str"),
    ({"year": {"$nin": {1, 2}}}, r"\$nin: expected a list of values, got set"),
    ({"year": {"$exists": 1}}, r"\$exists: expected True or False, got 1"),
    ({"year": {"$not": 5}}, r"\$not: expected operators"),
    ({"year": {"$not": {"x": 5}}}, r"unknown operator 'x'"),
    ({"$and": []}, r"\$and: expected a non-empty list of filters"),
    ({"$or": {"a": 1}}, r"\$or: expected a non-empty list of filters"),
    ({"$or": [1]}, r"\$or\[0\]: expected a mapping"),
    ({"$not": []}, r"\$not: expected a non-empty list"),
    ({"$not": "a"}, r"\$not: expected a mapping"),
    ({"x": float("nan")}, r"where\.x: expected a finite number, got nan"),
    ({"x": {"$lt": float("inf")}}, r"expected a finite number, got inf"),
    ({"x": 10**1000}, r"expected at most 1,000 digits"),
    ({"x": "a\0b"}, r"where\.x: .*got a NUL character"),
    ({"x\0": 1}, r"got a NUL character"),
    ({"x": ["fine", "\ud800"]}, r"where\.x\[1\]: .*lone surrogate at position 0"),
    ({"x": {"$has": 5}}, r"where\.x\.\$has: expected a mapping"),
    ({"x": {"$has": {"y": {"$gtt": 5}}}}, r"where\.x\.\$has\.y\.\$gtt: unknown operator"),
    ({"x": {1, 2}}, r"where\.x: expected a JSON value .* got set"),
    ({"x": b"bytes"}, r"expected a JSON value .* got bytes"),
    ({"x": {"y": object()}}, r"where\.x\.y: expected a JSON value"),
    ({1: "x"}, r"expected keys that are strings, got 1 \(int\)"),
    ({"x": {1: "y"}}, r"expected keys that are strings"),
    ({"x": datetime(2025, 1, 1)}, r"expected an aware datetime, got the naive 2025-01-01T00:00:00"),
    ({"x": {"$icontains": 7}}, r"expected a text, got 7; for other values use \$contains"),
    ({"x": {"$icontains": "y" * 2_001}}, r"expected at most 2,000 characters, got 2,001"),
    ({"x": {"$like": 7}}, r"\$like: expected a pattern such as"),
    ({"x": {"$ilike": "a\\"}}, r"\$ilike: expected a character after the last"),
    ({"x": {"$like": "y" * 1_001}}, r"at most 1,000 characters, got 1,001"),
    ({"x": {"$like": "%a" * 51}}, r"at most 50 of \"%\" and \"_\" in a pattern, got 51"),
    ({"x": {"$between": [1]}}, r"\$between: expected \[low, high\], got \[1\]"),
    ({"x": {"$between": [1, None]}}, r"\$between\[1\]: expected a number, a string"),
    ({"x": {"$contains": "y" * 10_001}}, r"expected at most 10,000 characters, got 10,001"),
    ({"$or": [{f"key{n}": n} for n in range(10_000)]}, r"use \{\"key\": \{\"\$in\""),
]


@pytest.mark.parametrize("where", PASS, ids=repr)
def test_a_filter_finds_what_it_describes(where: Any) -> None:
    assert matches(compile_where(where), NOTE)


@pytest.mark.parametrize("where", FAIL, ids=repr)
def test_a_filter_leaves_out_what_it_does_not_describe(where: Any) -> None:
    assert not matches(compile_where(where), NOTE)


@pytest.mark.parametrize(("where", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_filter_that_cannot_be_meant_is_refused_with_its_place(where: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compile_where(where)


@pytest.mark.parametrize(
    "nest", [lambda w: {"$not": w}, lambda w: {"$and": [w]}, lambda w: {"x": w}, lambda w: [w]]
)
def test_a_filter_nested_without_end_is_refused(nest: Any) -> None:
    where: Any = {"x": 1}
    for _ in range(200):
        where = nest(where)
    with pytest.raises(InvalidInput, match="nested deeper than 64 levels"):
        compile_where(
            {"$or": [{"y": {"$eq": where}}, where]} if isinstance(where, dict) else {"y": where}
        )


@pytest.mark.parametrize("operator", ["$ne", "$nin"])
def test_a_missing_key_is_not_equal_to_anything_but_null(operator: str) -> None:
    assert matches(compile_where({"k": {operator: [5]}}), {})
    assert not matches(compile_where({"k": {operator: None if operator == "$ne" else [None]}}), {})


def test_a_missing_key_reads_as_null_and_only_exists_tells_them_apart() -> None:
    for metadata in ({}, {"k": None}):
        assert matches(compile_where({"k": None}), metadata)
        assert matches(compile_where({"k": {"$in": [1, None]}}), metadata)
        assert matches(compile_where({"k": {"$not": {"$gt": 1}}}), metadata)
    assert matches(compile_where({"k": {"$exists": False}}), {})
    assert not matches(compile_where({"k": {"$exists": False}}), {"k": None})


def test_large_numbers_compare_by_their_exact_decimal_value() -> None:
    assert not matches(compile_where({"n": 9007199254740993}), {"n": 9007199254740992.0})
    assert matches(compile_where({"n": {"$gt": 9007199254740992.0}}), {"n": 9007199254740993})
    assert matches(compile_where({"n": 10**23}), {"n": 1e23})


@pytest.mark.parametrize(
    ("where", "equalities"),
    [
        (None, None),
        ({"a": 1, "b": {"$eq": "x"}, "c": {"$gt": 1}}, {"a": 1, "b": "x"}),
        ({"$and": [{"a": 1}, {"b": 2}]}, {"a": 1, "b": 2}),
        ({"a": {"x": [1]}}, {"a": {"x": [1]}}),
        ({"a.b": 1}, None),
        ({"a": None}, None),
        ({"a": {"$ne": 1}}, None),
        ({"$or": [{"a": 1}, {"b": 2}]}, None),
        ({"$not": {"a": 1}}, None),
        (
            {"a": {"$has": {"x": 1, "y": {"$gt": 2}, "z": {"$has": {"w": "s"}}}}},
            {"a": {"x": 1, "z": {"w": "s"}}},
        ),
        ({"a.b": {"$has": {"x": 1}}}, None),
        ({"a": {"$has": {}}}, None),
    ],
)
def test_only_equalities_that_must_hold_are_offered_to_an_index(
    where: Any, equalities: Any
) -> None:
    assert compile_where(where).equalities == equalities


def test_the_empty_filter_travels_as_an_empty_object() -> None:
    assert compile_where(None).json == compile_where({}).json == {}


def test_an_enumeration_member_is_compared_as_its_value() -> None:
    assert matches(compile_where({"kind": Kind.NOTE}), NOTE)
    assert json.loads(json.dumps(compile_where({"kind": Kind.NOTE}).json))["values"] == {
        "0": "note"
    }


KEYS = st.sampled_from(["a", "b", "a.b", "x y"])
TEXTS = st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
PATIENT = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@given(st.dictionaries(KEYS, VALUES, max_size=3))
@PATIENT
def test_metadata_is_found_by_its_own_items(metadata: dict[str, Any]) -> None:
    assert matches(
        compile_where({key: {"$eq": value} for key, value in metadata.items()}), metadata
    )


@given(KEYS, st.integers(), st.integers())
@PATIENT
def test_of_less_equal_and_greater_exactly_one_holds(key: str, have: int, bound: int) -> None:
    held = [
        matches(compile_where({key: {name: bound}}), {key: have}) for name in ("$lt", "$eq", "$gt")
    ]
    assert sum(held) == 1


@given(TEXTS, TEXTS)
@example('"', '"')
@example("\\", '\\" || true || "')
@PATIENT
def test_no_key_or_text_becomes_syntax_of_the_path(key: str, text: str) -> None:
    key = "k" + key.replace(".", "_")
    assume(
        all(
            unicodedata.is_normalized(form, each) for form in ("NFC", "NFD") for each in (key, text)
        )
    )  # else it has more forms
    path = compile_where({key: {"$contains": text}}).json["path"]
    assert _shape(path) == _shape(compile_where({"k": {"$contains": "t"}}).json["path"])
    assert key in _literals(path)
    assert text in _literals(path)


def _shape(path: str) -> str:
    """A path with every quoted string blanked out."""
    return "".join(piece if not quoted else '""' for piece, quoted in _pieces(path))


def _literals(path: str) -> list[str]:
    return [piece for piece, quoted in _pieces(path) if quoted]


def _pieces(path: str) -> Iterator[tuple[str, bool]]:
    """Split a path into its quoted parts, read by JSON's own decoder, and the rest."""
    place = 0
    while (start := path.find('"', place)) >= 0:
        yield path[place:start], False
        text, place = json.JSONDecoder().raw_decode(path, start)
        yield text, True
    yield path[place:], False


@pytest.mark.parametrize("inner", [{}, {"x": 1}, {"$not": {}}, {"$or": [{}, {"$and": [{}, {}]}]}])
@pytest.mark.parametrize("key", ["e\u0301", "a.b", "e\u0301.b"])
def test_keys_of_several_forms_within_each_other_are_refused_and_not_counted_to_the_end(
    key: str, inner: Any
) -> None:
    """Each level doubles what is written: with thirty of them it would be counted for hours."""
    for _ in range(28):
        inner = {key: {"$has": inner}}
    with pytest.raises(InvalidInput, match="where"):
        compile_where(inner)
