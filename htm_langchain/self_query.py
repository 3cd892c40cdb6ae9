"""Filters from a model's structured query: for LangChain's `SelfQueryRetriever` over a
`HTMVectorStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)

from htm_core import InvalidInput

Filter = dict[str, Any]

_SIGNS = {
    Comparator.EQ: "$eq", Comparator.NE: "$ne", Comparator.GT: "$gt", Comparator.GTE: "$gte",
    Comparator.LT: "$lt", Comparator.LTE: "$lte", Comparator.CONTAIN: "$contains",
    Comparator.IN: "$in", Comparator.NIN: "$nin",
}  # fmt: skip


class HTMTranslator(Visitor):
    """Translate a structured query into the search arguments of `HTMVectorStore`, with all
    comparators and operators.

    A day, as LangChain writes dates, is compared as a whole day, whether the metadata has a date or
    a time: "after 1 March" does not find what is of that day. `like` looks in any letter case, for
    the text anywhere unless it has wildcards (% for any text, _ for one character). `not` of
    several conditions holds when none of them does.

    It has no options. Raises `InvalidInput` for a value that cannot be compared, which
    `SelfQueryRetriever` passes on.

        from langchain_classic.retrievers.self_query.base import SelfQueryRetriever

        retriever = SelfQueryRetriever.from_llm(
            model, store, "Manuals of a harbour", fields,
            structured_query_translator=HTMTranslator()
        )
    """

    allowed_comparators = tuple(Comparator)
    allowed_operators = tuple(Operator)

    def visit_operation(self, operation: Operation) -> Filter:
        """A filter of an operation.

        Args:
            operation: Conditions that are joined by `and`, `or` or `not`.
        """
        self._validate_func(operation.operator)
        parts = [part.accept(self) for part in operation.arguments]
        if not parts:
            raise InvalidInput(f"expected a condition in {operation.operator.value}(), got none")
        if operation.operator is Operator.NOT:
            return {"$not": parts[0] if len(parts) == 1 else {"$or": parts}}
        return {f"${operation.operator.value}": parts}

    def visit_comparison(self, comparison: Comparison) -> Filter:
        """A filter of a comparison.

        Args:
            comparison: An attribute, a comparator and a value.
        """
        self._validate_func(comparison.comparator)
        key, comparator, value = comparison.attribute, comparison.comparator, comparison.value
        if comparator is Comparator.LIKE:
            return {key: _like(value)}
        if comparator in (Comparator.IN, Comparator.NIN):
            values = list(value) if isinstance(value, list | tuple | set) else [value]
            if any(_day(each) for each in values):
                any_of = {"$or": [_compared(key, Comparator.EQ, each) for each in values]}
                return any_of if comparator is Comparator.IN else {"$not": any_of}
            return {key: {_SIGNS[comparator]: [_plain(each) for each in values]}}
        return _compared(key, comparator, value)

    def visit_structured_query(
        self, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        """The query's words, and the arguments of a search; those are none without a filter.

        Args:
            structured_query: What the model understood.
        """
        if structured_query.filter is None:
            return structured_query.query, {}
        return structured_query.query, {"filter": structured_query.filter.accept(self)}


def _compared(key: str, comparator: Comparator, value: Any) -> Filter:
    day = _day(value)
    if day is None:
        return {key: {_SIGNS[comparator]: _plain(value)}}
    if comparator not in _OF_DAYS:
        raise InvalidInput(f"expected a text to look for in {key!r}, got the day {day}")
    return _OF_DAYS[comparator](key, day.isoformat(), _next(day))


def _next(day: date) -> str:
    """The day after, as a text: ISO times of a day are less than it, and the day itself is not more
    than they are.
    """
    return (day + timedelta(days=1)).isoformat() if day < date.max else "9999-12-32"


_OF_DAYS: Mapping[Comparator, Callable[[str, str, str], Filter]] = {
    Comparator.EQ: lambda key, day, after: {key: {"$gte": day, "$lt": after}},
    Comparator.NE: lambda key, day, after: {"$not": {key: {"$gte": day, "$lt": after}}},
    Comparator.GT: lambda key, day, after: {key: {"$gte": after}},  # noqa: ARG005 - one shape for all
    Comparator.GTE: lambda key, day, after: {key: {"$gte": day}},  # noqa: ARG005
    Comparator.LT: lambda key, day, after: {key: {"$lt": day}},  # noqa: ARG005
    Comparator.LTE: lambda key, day, after: {key: {"$lt": after}},  # noqa: ARG005
}


def _like(value: Any) -> Filter:
    if not isinstance(value, str):
        raise InvalidInput(f"expected a text for like, got {value!r:.80}")
    return {"$ilike" if "%" in value or "_" in value else "$icontains": value}


def _day(value: Any) -> date | None:
    """A day: a date, or as LangChain's parser writes one. None for anything else."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, Mapping) and value.get("type") == "date":
        try:
            return date.fromisoformat(str(value.get("date")))
        except ValueError as error:
            raise InvalidInput(
                f"expected a date such as 2025-03-01, got {value.get('date')!r:.80}"
            ) from error
    return None


def _plain(value: Any) -> Any:
    """A value as the metadata has it: a time as its ISO text in UTC, which is also that of a time
    without a zone.
    """
    if isinstance(value, Mapping) and value.get("type") == "datetime":
        try:
            value = datetime.fromisoformat(str(value.get("datetime")))
        except ValueError as error:
            raise InvalidInput(
                f"expected a time such as 2025-03-01T10:00:00, got {value.get('datetime')!r:.80}"
            ) from error
    if isinstance(value, datetime):
        return (value if value.utcoffset() is None else value.astimezone(UTC)).isoformat()
    return value
