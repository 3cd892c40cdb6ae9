"""Any Python value as JSON that brings it back exactly. What JSON has no type for is marked;
nothing is pickled.

And the other way to store a value: the nearest one that PostgreSQL's `jsonb` gives back as it is.
`jsonb` has no NUL and no lone surrogate in texts, no NaN or infinity, no negative zero, and writes
1e16 as the integer that it equals.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

# From here on Python writes a float with an exponent, of which `jsonb` makes an integer.
LARGEST_PLAIN = 1e16
_TAG = "$htm"
# Two surrogates side by side, which are two characters here and would be read from JSON as one.
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def as_repr(value: object) -> Any:
    """Return what is written for an object of another type, such as a data frame as an artifact:
    its `repr`.
    """
    return {_TAG: "repr", "of": repr(value)}


def encode_value(value: Any, *, otherwise: Callable[[Any], Any] = as_repr) -> Any:
    """A value in JSON's own types, as `json.dumps` takes it; bytes, times, tuples and sets are
    marked.

    `otherwise` says what is written for an object of any other type.
    """
    if isinstance(value, str) and _PAIR.search(value):
        return {
            _TAG: "text",
            "of": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode(),
        }
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [encode_value(each, otherwise=otherwise) for each in value]
    if isinstance(value, dict):
        if all(_is_plain_key(key) for key in value) and _TAG not in value:
            return {key: encode_value(each, otherwise=otherwise) for key, each in value.items()}
        pairs = [
            [encode_value(each, otherwise=otherwise) for each in pair] for pair in value.items()
        ]
        return {_TAG: "dict", "of": pairs}
    for kind, many in _MANY.items():
        if isinstance(value, many):
            return {_TAG: kind, "of": [encode_value(each, otherwise=otherwise) for each in value]}
    for kind, (known, write, _) in _KINDS.items():
        if isinstance(value, known):
            return {_TAG: kind, "of": write(value)}
    return otherwise(value)


def decode_value(value: Any) -> Any:
    """The value that `encode_value` was given; of an object that `as_repr` wrote, the text of its
    `repr`.
    """
    if isinstance(value, list):
        return [decode_value(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: decode_value(each) for key, each in value.items()}
    kind, of = value[_TAG], decode_value(value["of"])
    if kind == "dict":
        return {key: each for key, each in of}  # noqa: C416 - pairs may hold anything, and mypy reads this better
    if kind in _MANY:
        return _MANY[kind](of)
    return of if kind == "repr" else _KINDS[kind][2](of)


def jsonb_number(value: float) -> float | None:
    """The nearest number that `jsonb` gives back as it is; None for NaN and infinities."""
    if not math.isfinite(value):
        return None
    if value == 0 and math.copysign(1, value) < 0:
        return 0.0
    return int(Decimal(repr(value))) if abs(value) >= LARGEST_PLAIN else value


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
    # Texts are written above; this entry only reads them.
    "text": (type(None), str, lambda of: base64.b64decode(of).decode("utf-8", "surrogatepass")),
}
