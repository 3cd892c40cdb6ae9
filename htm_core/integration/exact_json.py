"""Any value of Python's as JSON that brings it back: what JSON has no word for is marked, and nothing is pickled."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

_TAG = "$htm"
# Two surrogates side by side, which are two characters here and would be read from JSON as one.
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def as_repr(value: object) -> Any:
    """What stands for an object that has no form of its own, such as a data frame as an artifact: its `repr`."""
    return {_TAG: "repr", "of": repr(value)}


def marked(value: Any, *, otherwise: Callable[[Any], Any] = as_repr) -> Any:
    """A value in JSON's own types, as `json.dumps` takes it; bytes, times, tuples and sets are marked.

    `otherwise` gives what is written for an object that has no form of its own.
    """
    if isinstance(value, str) and _PAIR.search(value):
        return {_TAG: "text", "of": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [marked(each, otherwise=otherwise) for each in value]
    if isinstance(value, dict):
        if all(_is_plain_key(key) for key in value) and _TAG not in value:
            return {key: marked(each, otherwise=otherwise) for key, each in value.items()}
        pairs = [[marked(each, otherwise=otherwise) for each in pair] for pair in value.items()]
        return {_TAG: "dict", "of": pairs}
    for kind, many in _MANY.items():
        if isinstance(value, many):
            return {_TAG: kind, "of": [marked(each, otherwise=otherwise) for each in value]}
    for kind, (known, write, _) in _KINDS.items():
        if isinstance(value, known):
            return {_TAG: kind, "of": write(value)}
    return otherwise(value)


def unmarked(value: Any) -> Any:
    """The value that `marked` was given; what `as_repr` stands for is the text that its `repr` was."""
    if isinstance(value, list):
        return [unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: unmarked(each) for key, each in value.items()}
    kind, of = value[_TAG], unmarked(value["of"])
    if kind == "dict":
        return {key: each for key, each in of}  # noqa: C416 - pairs may hold anything, and mypy reads this better
    if kind in _MANY:
        return _MANY[kind](of)
    return of if kind == "repr" else _KINDS[kind][2](of)


def _is_plain_key(key: object) -> bool:
    return isinstance(key, str) and not _PAIR.search(key)


_MANY: dict[str, type[Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
# How each kind is written, and how it is read. A datetime is a date too, so it comes first.
_KINDS: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    # Last, since no value is of it: texts are looked at before.
    "text": (type(None), str, lambda of: base64.b64decode(of).decode("utf-8", "surrogatepass")),
}
