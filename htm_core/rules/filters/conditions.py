"""A metadata filter as a tree of conditions, and what each of them means.

The meaning is here, in Python; `jsonpath` says the same to PostgreSQL, and a test compares them on random filters.
One rule covers what is missing: a missing key reads as null, and only `$exists` tells the two apart.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .json_values import kind, number, same
from .letter_case import lowered
from .patterns import fits

Operator = Literal["eq", "gt", "gte", "lt", "lte", "in", "contains", "icontains", "like", "ilike", "exists"]

_MISSING = object()
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


@dataclass(frozen=True, slots=True)
class Test:
    """One operator on one key; `value` is a plain JSON value."""

    operator: Operator
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Every:
    """All of the parts hold; with no part, everything does."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the parts holds; with no part, nothing does."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """The part does not hold."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Within:
    """The key holds an object for which the part holds; its keys are that object's."""

    key: str
    part: Condition


Condition = Test | Every | Either | Negated | Within


def holds(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Tell whether metadata satisfies a condition."""
    if isinstance(condition, Every):
        return all(holds(part, metadata) for part in condition.parts)
    if isinstance(condition, Either):
        return any(holds(part, metadata) for part in condition.parts)
    if isinstance(condition, Negated):
        return not holds(condition.part, metadata)
    if isinstance(condition, Within):
        found = _find(metadata, condition.key)
        return isinstance(found, Mapping) and holds(condition.part, found)
    return _passes(condition, _find(metadata, condition.key))


def path(key: str) -> list[str]:
    """Split a dotted key into the keys of nested objects."""
    return key.split(".")


def _find(metadata: Mapping[str, Any], key: str) -> Any:
    """The value of a key: the exact key if there is one, else the nested one; lists are not walked into."""
    if key in metadata:
        return metadata[key]
    value: Any = metadata
    for part in path(key):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value


def _passes(test: Test, found: Any) -> bool:
    if test.operator == "exists":
        return found is not _MISSING
    have = None if found is _MISSING else found
    if test.operator == "eq":
        return same(have, test.value)
    if test.operator == "in":
        return any(same(have, value) for value in test.value)
    if test.operator == "contains":
        return _contains(have, test.value)
    if test.operator == "icontains":
        return isinstance(have, str) and lowered(test.value) in lowered(have)
    if test.operator in ("like", "ilike"):
        return isinstance(have, str) and fits(have, test.value, any_letter_case=test.operator == "ilike")
    return _ordered(have, test.value, _ORDER[test.operator])


def _contains(have: Any, value: Any) -> bool:
    if kind(have) == "array":
        return any(same(part, value) for part in have)
    return isinstance(have, str) and isinstance(value, str) and value in have


def _ordered(have: Any, bound: Any, compare: Callable[[Any, Any], bool]) -> bool:
    if kind(have) != kind(bound):
        return False
    return compare(number(have), number(bound)) if kind(have) == "number" else compare(have, bound)
