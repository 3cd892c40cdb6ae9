"""LangGraph's filters as a collection's `where`:
`{"status": "open", "author": {"born": {"$lt": 1900}}}`.

A mapping without operators describes a part of an object, to any depth, as in `InMemoryStore`.
Values keep their types, which they do not in `PostgresStore`: 10 is more than 9, and "10" is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from htm_core import InvalidInput


def where_of(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The same filter in the collection's operators; raises `InvalidInput` for what is
    no filter.
    """
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise InvalidInput(
            f"expected filter to be a mapping of keys to values, got {type(filter).__name__}"
        )
    return {"$and": [_entry(key, wanted) for key, wanted in filter.items()]} if filter else None


def _entry(key: Any, wanted: Any) -> dict[str, Any]:
    if key in ("$and", "$or") and isinstance(wanted, list | tuple):
        return {key: [where_of(part) or {} for part in wanted]}
    if key == "$not":
        return {key: where_of(wanted) or {}}
    if isinstance(wanted, Mapping):
        return {key: dict(wanted) if _is_operators(wanted) else {"$has": where_of(wanted) or {}}}
    if isinstance(wanted, list | tuple):
        _check_list(key, wanted)
    return {key: {"$eq": wanted}}


def _is_operators(wanted: Mapping[Any, Any]) -> bool:
    return any(str(name).startswith("$") for name in wanted)


def _check_list(key: object, wanted: Sequence[Any]) -> None:
    if any(isinstance(part, Mapping) and _is_operators(part) for part in wanted):
        raise InvalidInput(
            f"expected a list of values for {key!r}, got operators in it: a list is compared as a "
            "whole; look for one of "
            'its parts with {"$contains": value}'
        )
