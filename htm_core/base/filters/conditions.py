"""A metadata filter as a tree of conditions, which `jsonpath` writes for PostgreSQL.

One rule covers what is missing: a missing key reads as null, and only `$exists` tells the two
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Operator = Literal[
    "eq", "gt", "gte", "lt", "lte", "in", "contains", "icontains", "like", "ilike", "exists"
]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operator on one key; `value` is a plain JSON value. "a.b" is the exact key "a.b", else
    "b" within "a".
    """

    operator: Operator
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts hold; without parts it always holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the parts holds; without parts it never holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Has:
    """The key holds an object, and the part holds for that object's keys."""

    key: str
    part: Condition


Condition = Comparison | And | Or | Not | Has


def path(key: str) -> list[str]:
    """Split a dotted key into the keys of nested objects."""
    return key.split(".")
