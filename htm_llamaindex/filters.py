"""LlamaIndex's metadata filters in the operators of the core, with the meaning that LlamaIndex
documents.

A missing key reads as null. Null satisfies only `!=`, `nin` and `is_empty`. Types never mix: "7" is
not 7, and a comparison between the two is false rather than an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from htm_core import InvalidInput

Where = dict[str, Any]


def where_of(filters: MetadataFilters | None) -> Where | None:
    """The filter for a collection; None when there is nothing to filter by.

    Raises `InvalidInput` for an operator that cannot be answered exactly, by its name.
    """
    if filters is None or not filters.filters:
        return None
    parts = [_part(each) for each in filters.filters]
    condition = filters.condition or FilterCondition.AND
    if condition == FilterCondition.AND:
        return {"$and": parts}
    either = {"$or": parts}
    return {"$not": either} if condition == FilterCondition.NOT else either


def _part(part: MetadataFilter | MetadataFilters) -> Where:
    if isinstance(part, MetadataFilters):
        return where_of(part) or {}
    if part.key.startswith("$"):
        raise InvalidInput(
            f"expected a key that does not begin with '$', got {part.key!r}; give the metadata "
            "another name"
        )
    if part.operator not in _OPERATORS:
        raise InvalidInput(
            f"filter on {part.key!r}: expected an operator that can be answered exactly, got "
            f"{part.operator.value!r}; use "
            f"one of {', '.join(known.value for known in _OPERATORS)}"
        )
    return _OPERATORS[part.operator](part)


def _plain(operator: str) -> Callable[[MetadataFilter], Where]:
    return lambda part: {part.key: {operator: part.value}}


def _equal(part: MetadataFilter) -> Where:
    return _matches_nothing(part) if part.value is None else {part.key: {"$eq": part.value}}


def _unequal(part: MetadataFilter) -> Where:
    return {} if part.value is None else {part.key: {"$ne": part.value}}


def _among(operator: str) -> Callable[[MetadataFilter], Where]:
    return lambda part: {part.key: {operator: _list(part)}}


def _contains_any(part: MetadataFilter) -> Where:
    parts = [{part.key: {"$contains": value}} for value in _list(part)]
    return {"$or": parts} if parts else _matches_nothing(part)


def _contains_all(part: MetadataFilter) -> Where:
    parts: list[Where] = [{part.key: {"$contains": value}} for value in _list(part)]
    return {"$and": [*parts, {part.key: {"$ne": None}}]}


def _text_match(part: MetadataFilter) -> Where:
    """A part of a text. Only texts are >= the empty text, so this leaves out lists that contain the
    part.
    """
    return {part.key: {"$contains": _text_value(part), "$gte": ""}}


def _text_match_any_case(part: MetadataFilter) -> Where:
    return {part.key: {"$icontains": _text_value(part)}}


def _text_value(part: MetadataFilter) -> str:
    if not isinstance(part.value, str):
        raise InvalidInput(
            f"filter on {part.key!r}: expected a text for {part.operator.value!r}, "
            f"got {part.value!r}"
        )
    return part.value


def _contains(part: MetadataFilter) -> Where:
    if part.value is None or isinstance(part.value, list):
        raise InvalidInput(
            f"filter on {part.key!r}: expected one value for 'contains', got {part.value!r}; use "
            "'all' or 'any'"
        )
    return {part.key: {"$contains": part.value}}


def _empty(part: MetadataFilter) -> Where:
    return {part.key: {"$in": [None, "", []]}}


def _matches_nothing(part: MetadataFilter) -> Where:
    return {part.key: {"$in": []}}


def _list(part: MetadataFilter) -> list[Any]:
    if not isinstance(part.value, list):
        raise InvalidInput(
            f"filter on {part.key!r}: expected a list for {part.operator.value!r}, got "
            f"{part.value!r}; write [{part.value!r}]"
        )
    return list(part.value)


_OPERATORS: Mapping[FilterOperator, Callable[[MetadataFilter], Where]] = {
    FilterOperator.EQ: _equal,
    FilterOperator.NE: _unequal,
    FilterOperator.GT: _plain("$gt"),
    FilterOperator.GTE: _plain("$gte"),
    FilterOperator.LT: _plain("$lt"),
    FilterOperator.LTE: _plain("$lte"),
    FilterOperator.IN: _among("$in"),
    FilterOperator.NIN: _among("$nin"),
    FilterOperator.ANY: _contains_any,
    FilterOperator.ALL: _contains_all,
    FilterOperator.CONTAINS: _contains,
    FilterOperator.TEXT_MATCH: _text_match,
    FilterOperator.TEXT_MATCH_INSENSITIVE: _text_match_any_case,
    FilterOperator.IS_EMPTY: _empty,
}
