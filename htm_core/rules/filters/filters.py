"""Metadata filters: `where={"kind": "note", "year": {"$gte": 2025}}`, the same in Python and PostgreSQL.

    {"k": v}  $eq $ne          equality, types and all; a list equals a list, `$contains` looks into it
    $gt $gte $lt $lte          numbers with numbers, strings with strings (datetimes too), else false
    $between                   [low, high]: from the one to the other, both included
    $in $nin                   one of a list of values, none of them
    $contains                  an array has the value, or a string has the piece
    $icontains                 a string has the piece, whatever the letter case
    $like $ilike               a whole string fits a pattern, where % is any text and _ any character; in any letter case
    $exists                    the key is there (true), even when null, or is not (false)
    $has                       an object for which this filter holds, whatever else it has
    $and $or $not              of filters; `{"k": {"$not": {...}}}` too

Several keys, and several operators of a key, must all hold. "a.b" is the exact key "a.b" where there is one, else "b"
within "a". A missing key reads as null: `$ne`, `$nin` and `$not` hold for it, and `{"k": None}` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidInput
from .conditions import Condition, Either, Every, Negated, Test, Within, holds
from .json_values import MAX_DEPTH, kind, plain, plain_key
from .jsonpath import json_path
from .patterns import parts

MAX_PATH = 100_000
MAX_PIECE = 10_000
MAX_PIECE_ANY_CASE = 2_000

KNOWN = "$eq $ne $gt $gte $lt $lte $between $in $nin $contains $icontains $like $ilike $exists $has on a key, and $and $or $not"


@dataclass(frozen=True, slots=True)
class Filter:
    """A validated filter, in the forms in which it is used.

    `json` is the one parameter of the SQL function `matches(metadata, filter)`: a JSON path and the values it names;
    {} lets everything pass. `equalities` is an object that metadata must contain (`metadata @> equalities`) to pass: a
    necessary condition that an index can serve, never a sufficient one; None when there is none.
    """

    condition: Condition
    json: dict[str, Any]
    equalities: dict[str, Any] | None


def compile_where(where: Mapping[str, Any] | None) -> Filter:
    """Validate a filter and prepare it for PostgreSQL.

    Raises `InvalidInput` naming the place, what came and what is known. None and {} let everything pass.
    """
    condition = _every(where, "where", MAX_DEPTH) if where is not None else Every(())
    json = json_path(condition) if condition != Every(()) else {}
    if len(json.get("path", "")) > MAX_PATH:
        raise InvalidInput(
            f"where: expected a filter of at most {MAX_PATH:,} characters as a JSON path, got {len(json['path']):,}; "
            'for many values of one key use {"key": {"$in": [...]}}.'
        )
    return Filter(condition=condition, json=json, equalities=_equalities(condition))


def matches(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    """Tell whether metadata, as PostgreSQL keeps it, passes a filter. This is the reference of the SQL function."""
    return holds(filter.condition, metadata)


def _every(where: Any, at: str, depth: int) -> Condition:
    if not isinstance(where, Mapping):
        raise InvalidInput(f'{at}: expected a mapping such as {{"key": value}}, got {type(where).__name__}.')
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {MAX_DEPTH} levels; flatten the filter.")
    return _all([_entry(key, value, at, depth - 1) for key, value in where.items()])


def _all(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _entry(key: Any, value: Any, at: str, depth: int) -> Condition:
    name = plain_key(key, at=at)
    if name.startswith("$"):
        return _logical(name, value, f"{at}.{name}", depth)
    if isinstance(value, Mapping) and any(str(part).startswith("$") for part in value):
        return _operators(name, value, f"{at}.{name}", depth)
    return Test("eq", name, plain(value, at=f"{at}.{name}"))


def _logical(name: str, value: Any, at: str, depth: int) -> Condition:
    if name == "$not":
        return Negated(_every(value, at, depth))
    if name not in ("$and", "$or"):
        raise _unknown(name, at)
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput(f'{at}: expected a non-empty list of filters, got {value!r}; write {{"{name}": [{{...}}]}}.')
    parts = tuple(_every(part, f"{at}[{place}]", depth) for place, part in enumerate(value))
    return Every(parts) if name == "$and" else Either(parts)


def _operators(key: str, operators: Mapping[Any, Any], at: str, depth: int) -> Condition:
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {MAX_DEPTH} levels; flatten the filter.")
    return _all([_operator(name, key, value, f"{at}.{name}", depth - 1) for name, value in operators.items()])


def _operator(name: Any, key: str, value: Any, at: str, depth: int) -> Condition:
    if name == "$not":
        if not isinstance(value, Mapping) or not value:
            raise InvalidInput(f'{at}: expected operators such as {{"$gt": 5}}, got {value!r}.')
        return Negated(_operators(key, value, at, depth))
    if name == "$has":
        return Within(key, _every(value, at, depth))
    if name not in _OPERATORS:
        raise _unknown(name, at)
    return _OPERATORS[name](key, value, at)


def _equal(key: str, value: Any, at: str) -> Condition:
    return Test("eq", key, plain(value, at=at))


def _within(key: str, value: Any, at: str) -> Condition:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{at}: expected a list of values, got {type(value).__name__}; write [value].")
    return Test("in", key, plain(value, at=at))


def _contains(key: str, value: Any, at: str) -> Condition:
    if isinstance(value, str) and len(value) > MAX_PIECE:
        raise InvalidInput(f"{at}: expected at most {MAX_PIECE:,} characters, got {len(value):,}; search for less.")
    return Test("contains", key, plain(value, at=at))


def _contains_any_case(key: str, value: Any, at: str) -> Condition:
    if not isinstance(value, str):
        raise InvalidInput(f"{at}: expected a text, got {value!r}; for other values use $contains.")
    if len(value) > MAX_PIECE_ANY_CASE:
        raise InvalidInput(
            f"{at}: expected at most {MAX_PIECE_ANY_CASE:,} characters, got {len(value):,}; search for less."
        )
    return Test("icontains", key, plain(value, at=at))


def _like(key: str, value: Any, at: str) -> Condition:
    return Test("like", key, _pattern(value, at))


def _like_any_case(key: str, value: Any, at: str) -> Condition:
    return Test("ilike", key, _pattern(value, at))


def _pattern(value: Any, at: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f'{at}: expected a pattern such as "Dr. %", got {value!r}.')
    pattern: str = plain(value, at=at)
    parts(pattern, at=at)
    return pattern


def _between(key: str, value: Any, at: str) -> Condition:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InvalidInput(f"{at}: expected [low, high], got {value!r}.")
    low, high = (_bound(bound, f"{at}[{place}]") for place, bound in enumerate(value))
    return Every((Test("gte", key, low), Test("lte", key, high)))


def _exists(key: str, value: Any, at: str) -> Condition:
    if not isinstance(value, bool):
        raise InvalidInput(f"{at}: expected True or False, got {value!r}.")
    return Test("exists", key, True) if value else Negated(Test("exists", key, True))


def _gt(key: str, value: Any, at: str) -> Condition:
    return Test("gt", key, _bound(value, at))


def _gte(key: str, value: Any, at: str) -> Condition:
    return Test("gte", key, _bound(value, at))


def _lt(key: str, value: Any, at: str) -> Condition:
    return Test("lt", key, _bound(value, at))


def _lte(key: str, value: Any, at: str) -> Condition:
    return Test("lte", key, _bound(value, at))


def _bound(value: Any, at: str) -> Any:
    bound = plain(value, at=at)
    if kind(bound) not in ("number", "string"):
        raise InvalidInput(f"{at}: expected a number, a string or an aware datetime to compare with, got {value!r}.")
    return bound


_OPERATORS: dict[str, Callable[[str, Any, str], Condition]] = {
    "$eq": _equal,
    "$ne": lambda key, value, at: Negated(_equal(key, value, at)),
    "$gt": _gt,
    "$gte": _gte,
    "$lt": _lt,
    "$lte": _lte,
    "$in": _within,
    "$nin": lambda key, value, at: Negated(_within(key, value, at)),
    "$between": _between,
    "$contains": _contains,
    "$icontains": _contains_any_case,
    "$like": _like,
    "$ilike": _like_any_case,
    "$exists": _exists,
}


def _unknown(name: Any, at: str) -> InvalidInput:
    return InvalidInput(
        f"{at}: unknown operator {name!r}; known are {KNOWN}. "
        'An object with such keys is compared with {"key": {"$eq": {...}}}.'
    )


def _equalities(condition: Condition) -> dict[str, Any] | None:
    """What metadata has to contain: equalities that all must hold, of keys that can be read in one way only."""
    found: dict[str, Any] = {}
    for test in _conjuncts(condition):
        if isinstance(test, Within):
            inner = _equalities(test.part)
            if inner and "." not in test.key:
                found.setdefault(test.key, inner)
        elif test.operator == "eq" and test.value is not None and "." not in test.key:
            found.setdefault(test.key, test.value)
    return found or None


def _conjuncts(condition: Condition) -> Iterator[Test | Within]:
    if isinstance(condition, Test | Within):
        yield condition
    elif isinstance(condition, Every):
        for part in condition.parts:
            yield from _conjuncts(part)
