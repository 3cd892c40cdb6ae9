"""Metadata filters: `where={"kind": "note", "year": {"$gte": 2025}}`, validated and compiled for
PostgreSQL.

    {"k": v}  $eq $ne          equality, types and all; a list equals a list, `$contains` looks into
    it $gt $gte $lt $lte          numbers with numbers, strings with strings (datetimes too), else
    false $between                   [low, high]: from low to high, both included
    $in $nin                   one of a list of values, none of them
    $contains                  an array has the value, or a string has the substring
    $icontains                 a string has the substring, in any letter case
    $like $ilike               a whole string fits a pattern, where % is any text and _ any
    character; $ilike in any letter case $exists                    the key is there (true), even
    when null, or is not (false) $has                       an object for which this filter holds,
    whatever other keys it has $and $or $not              of filters, $not of one or of a list of
    which none holds; `{"k": {"$not": {...}}}` too

Several keys, and several operators of a key, must all hold. "a.b" is the exact key "a.b" where
there is one, else "b" within "a". A missing key reads as null: `$ne`, `$nin` and `$not` hold for
it, and `{"k": None}` finds it. Keys and texts mean the same with composed accents as with accents
by themselves (NFC, NFD); only orderings go by code points.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput
from ..limits import (
    SUBSTRING_ANY_CASE_LENGTH,
    SUBSTRING_LENGTH,
    WHERE_BYTES,
    WHERE_CONDITIONS,
    WHERE_LEVELS,
)
from .conditions import And, Comparison, Condition, Has, Not, Operator, Or
from .json_values import PLACE_LENGTH, json_bytes, kind, plain, plain_key
from .jsonpath import json_path, pattern_parts

KNOWN = (
    "$eq $ne $gt $gte $lt $lte $between $in $nin $contains $icontains $like $ilike $exists "
    "$has on a key, and $and $or $not"
)


@dataclass(frozen=True, slots=True)
class Filter:
    """A validated filter, in the forms in which it is used.

    `json` is the parameter of the SQL function `matches(metadata, filter)`: a JSON path and the
    values it names; {} lets everything pass. `equalities` is an object that metadata must contain
    (`metadata @> equalities`) to pass, which an index can check. It is necessary, but not
    sufficient; None when there is none. `beyond_equalities` is what is still to be checked of
    metadata that contain them: `json`, or None where they say it all, which costs a tenth.
    """

    condition: Condition
    json: dict[str, Any]
    equalities: dict[str, Any] | None
    beyond_equalities: dict[str, Any] | None


def compile_where(where: Mapping[str, Any] | None) -> Filter:
    """Validate a filter and prepare it for PostgreSQL.

    Raises `InvalidInput` naming the place, what came and what is known. None and {} let everything
    pass.
    """
    condition = _all_of(where, "where", WHERE_LEVELS) if where is not None else And(())
    if _has_too_many(condition):
        raise InvalidInput(
            f"where: expected at most {WHERE_CONDITIONS:,} conditions, got more (one on a dotted "
            "key counts twice, and inside "
            'of $has again); for many values of one key use {"key": {"$in": [...]}}.'
        )
    json = json_path(condition) if condition != And(()) else {}
    if json_bytes(json.get("values")) > WHERE_BYTES:
        raise InvalidInput(
            f"where: expected values of at most {WHERE_BYTES:,} bytes as JSON, got "
            f"{json_bytes(json['values']):,}; compare "
            "with fewer or shorter ones."
        )
    equalities = _equalities(condition)
    return Filter(
        condition=condition,
        json=json,
        equalities=equalities,
        beyond_equalities=None if _only_equalities(condition, equalities) else json,
    )


def _has_too_many(condition: Condition) -> bool:
    """True if PostgreSQL would read too many conditions: those on a dotted key are written twice,
    with all that they hold.

    It stops there: what is within several forms of a key comes once for each of them, at each
    level.
    """
    left, conditions, seen = [(condition, 1)], 0, 0
    while left and conditions <= WHERE_CONDITIONS and seen <= 4 * WHERE_CONDITIONS:
        current, times = left.pop()
        seen += 1
        if isinstance(current, Not):
            left.append((current.part, times))
        elif isinstance(current, And | Or):
            left.extend((part, times) for part in current.parts)
        else:
            times *= 2 if "." in current.key else 1
            if isinstance(current, Has):
                left.append((current.part, times))
            else:
                conditions += times
    return bool(left) or conditions > WHERE_CONDITIONS


def _all_of(where: Any, at: str, depth: int) -> Condition:
    if not isinstance(where, Mapping):
        raise InvalidInput(
            f'{at}: expected a mapping such as {{"key": value}}, got {type(where).__name__}.'
        )
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {WHERE_LEVELS} levels; flatten the filter.")
    return _and([_entry(key, value, at, depth - 1) for key, value in where.items()])


def _and(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _entry(key: Any, value: Any, at: str, depth: int) -> Condition:
    """One entry of a mapping: $and, $or or $not of filters, operators on a key, or a value that the
    key must equal.
    """
    name = plain_key(key, at=at)
    at = f"{at[:PLACE_LENGTH]}.{name[:PLACE_LENGTH]}"
    if not name.startswith("$"):
        if isinstance(value, Mapping) and any(str(part).startswith("$") for part in value):
            return _operators(name, value, at, depth)
        return _each_form("eq", name, plain(value, at=at))
    if name == "$not" and not isinstance(value, list | tuple):
        return Not(_all_of(value, at, depth))
    if name not in ("$and", "$or", "$not"):
        raise _unknown(name, at)
    if not isinstance(value, list | tuple) or not value:
        raise InvalidInput(
            f'{at}: expected a non-empty list of filters, got {value!r:.80}; write {{"{name}": '
            f"[{{...}}]}}."
        )
    parts = tuple(_all_of(part, f"{at}[{place}]", depth) for place, part in enumerate(value))
    if name == "$not":  # of several: none of them holds
        return Not(Or(parts))
    return And(parts) if name == "$and" else Or(parts)


def _operators(key: str, operators: Mapping[Any, Any], at: str, depth: int) -> Condition:
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {WHERE_LEVELS} levels; flatten the filter.")
    return _and(
        [
            _operator(name, key, value, f"{at}.{str(name)[:PLACE_LENGTH]}", depth - 1)
            for name, value in operators.items()
        ]
    )


def _operator(name: Any, key: str, value: Any, at: str, depth: int) -> Condition:
    """One operator on one key, with its value checked."""
    match name:
        case "$not":
            if not isinstance(value, Mapping) or not value:
                raise InvalidInput(
                    f'{at}: expected operators such as {{"$gt": 5}}, got {value!r:.80}.'
                )
            return Not(_operators(key, value, at, depth))
        case "$has":
            part = _all_of(value, at, depth)
            return _or([Has(each, part) for each in _forms(key)])
        case "$eq" | "$ne":
            equal = _each_form("eq", key, plain(value, at=at))
            return equal if name == "$eq" else Not(equal)
        case "$in" | "$nin":
            if not isinstance(value, list | tuple):
                raise InvalidInput(
                    f"{at}: expected a list of values, got {type(value).__name__}; write [value]."
                )
            several = [form for each in plain(value, at=at) for form in _forms(each)]
            one_of = _or([Comparison("in", each, several) for each in _forms(key)])
            return one_of if name == "$in" else Not(one_of)
        case "$gt" | "$gte" | "$lt" | "$lte":
            return _or(
                [Comparison(_ORDERINGS[name], each, _bound(value, at)) for each in _forms(key)]
            )
        case "$between":
            if not isinstance(value, list | tuple) or len(value) != 2:
                raise InvalidInput(f"{at}: expected [low, high], got {value!r:.80}.")
            low, high = (_bound(bound, f"{at}[{place}]") for place, bound in enumerate(value))
            return _or(
                [
                    And((Comparison("gte", each, low), Comparison("lte", each, high)))
                    for each in _forms(key)
                ]
            )
        case "$contains":
            if isinstance(value, str):
                _check_length(value, at, longest=SUBSTRING_LENGTH)
            return _each_form("contains", key, plain(value, at=at))
        case "$icontains":
            if not isinstance(value, str):
                raise InvalidInput(
                    f"{at}: expected a text, got {value!r:.80}; for other values use $contains."
                )
            _check_length(value, at, longest=SUBSTRING_ANY_CASE_LENGTH)
            return _each_form("icontains", key, plain(value, at=at))
        case "$like" | "$ilike":
            if not isinstance(value, str):
                raise InvalidInput(f'{at}: expected a pattern such as "Dr. %", got {value!r:.80}.')
            pattern: str = plain(value, at=at)
            pattern_parts(pattern, at=at)
            return _each_form("like" if name == "$like" else "ilike", key, pattern)
        case "$exists":
            if not isinstance(value, bool):
                raise InvalidInput(f"{at}: expected True or False, got {value!r:.80}.")
            exists = _each_form("exists", key, True)
            return exists if value else Not(exists)
    raise _unknown(name, at)


def _each_form(operator: Operator, key: str, value: Any) -> Condition:
    """A comparison with a key and a value in each form in which these may be written."""
    return _or([Comparison(operator, name, each) for name in _forms(key) for each in _forms(value)])


def _or(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _forms(value: Any) -> list[Any]:
    """A JSON value as it is, and with the accents in its texts composed and by themselves
    (Unicode's NFC and NFD).
    """
    if not isinstance(value, str | list | dict) or (isinstance(value, str) and value.isascii()):
        return [value]
    text = json.dumps(value, ensure_ascii=False)
    return [
        json.loads(form)
        for form in dict.fromkeys(
            [text, *(unicodedata.normalize(name, text) for name in ("NFC", "NFD"))]
        )
    ]


_ORDERINGS: dict[str, Operator] = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


def _check_length(text: str, at: str, *, longest: int) -> None:
    if len(text) > longest:
        raise InvalidInput(
            f"{at}: expected at most {longest:,} characters, got {len(text):,}; search for less."
        )


def _bound(value: Any, at: str) -> Any:
    bound = plain(value, at=at)
    if kind(bound) not in ("number", "string"):
        raise InvalidInput(
            f"{at}: expected a number, a string or an aware datetime to compare with, got "
            f"{value!r:.80}."
        )
    return bound


def _unknown(name: Any, at: str) -> InvalidInput:
    return InvalidInput(
        f"{at}: unknown operator {name!r:.80}; known are {KNOWN}. "
        'An object with such keys is compared with {"key": {"$eq": {...}}}.'
    )


def _equalities(condition: Condition) -> dict[str, Any] | None:
    """Return the equalities that metadata must contain: those that all must hold, of keys without a
    dot.
    """
    equalities: dict[str, Any] = {}
    for test in _conjuncts(condition):
        if isinstance(test, Has):
            inner = _equalities(test.part)
            if inner and "." not in test.key:
                equalities.setdefault(test.key, inner)
        elif test.operator == "eq" and test.value is not None and "." not in test.key:
            equalities.setdefault(test.key, test.value)
    return equalities or None


def _only_equalities(condition: Condition, equalities: dict[str, Any] | None) -> bool:
    """True if metadata that contain the equalities pass: strings, numbers or truth values, each of
    a key of its own.
    """
    parts = condition.parts if isinstance(condition, And) else (condition,)
    return len(parts) == len(equalities or {}) and all(
        isinstance(part, Comparison)
        and part.operator == "eq"
        and isinstance(part.value, str | int | float | bool)
        for part in parts
    )


def _conjuncts(condition: Condition) -> Iterator[Comparison | Has]:
    if isinstance(condition, Comparison | Has):
        yield condition
    elif isinstance(condition, And):
        for part in condition.parts:
            yield from _conjuncts(part)
