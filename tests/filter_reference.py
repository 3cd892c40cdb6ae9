"""What a metadata filter means, in plain Python: the reference that the SQL function `matches` is compared with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from htm_core.base.filters.conditions import And, Comparison, Condition, Has, Not, Or, path
from htm_core.base.filters.filters import Filter
from htm_core.base.filters.json_values import kind, number
from htm_core.base.filters.jsonpath import ANY_CHARACTER, ANY_TEXT, pattern_parts
from htm_core.base.filters.letter_case import lowered

_MISSING = object()
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def matches(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether metadata, as PostgreSQL keeps it, passes a filter."""
    return holds(filter.condition, metadata)


def holds(condition: Condition, metadata: Mapping[str, Any]) -> bool:
    """Whether metadata satisfies a condition."""
    if isinstance(condition, And):
        return all(holds(part, metadata) for part in condition.parts)
    if isinstance(condition, Or):
        return any(holds(part, metadata) for part in condition.parts)
    if isinstance(condition, Not):
        return not holds(condition.part, metadata)
    if isinstance(condition, Has):
        found = _find(metadata, condition.key)
        return isinstance(found, Mapping) and holds(condition.part, found)
    return _passes(condition, _find(metadata, condition.key))


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


def _passes(test: Comparison, found: Any) -> bool:
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
        return isinstance(have, str) and fits(
            have, test.value, any_letter_case=test.operator == "ilike"
        )
    return _ordered(have, test.value, _ORDER[test.operator])


def _contains(have: Any, value: Any) -> bool:
    if kind(have) == "array":
        return any(same(part, value) for part in have)
    return isinstance(have, str) and isinstance(value, str) and value in have


def _ordered(have: Any, bound: Any, compare: Callable[[Any, Any], bool]) -> bool:
    if kind(have) != kind(bound):
        return False
    return compare(number(have), number(bound)) if kind(have) == "number" else compare(have, bound)


def same(left: Any, right: Any) -> bool:
    """Whether two plain values are equal, types and all, however deep."""
    what = kind(left)
    if what != kind(right):
        return False
    if what == "number":
        return number(left) == number(right)
    if what == "array":
        return len(left) == len(right) and all(map(same, left, right))
    if what == "object":
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def fits(text: str, pattern: str, *, any_letter_case: bool) -> bool:
    """Whether a whole text fits a pattern; in the worst case the product of their lengths in steps."""
    wanted = pattern_parts(pattern, at="pattern")
    if any_letter_case:
        text, wanted = lowered(text), [(lowered(character), wild) for character, wild in wanted]
    return _fits(text, wanted)


def _fits(text: str, wanted: list[tuple[str, bool]]) -> bool:
    place = at = 0
    gap, resumed = -1, 0  # the last gap, and how far it has swallowed the text
    while place < len(text):
        part = wanted[at] if at < len(wanted) else None
        if part == (ANY_TEXT, True):
            gap, resumed, at = at, place, at + 1
        elif part is not None and part in ((ANY_CHARACTER, True), (text[place], False)):
            place, at = place + 1, at + 1
        elif gap >= 0:
            resumed += 1
            place, at = resumed, gap + 1
        else:
            return False
    return all(part == (ANY_TEXT, True) for part in wanted[at:])
