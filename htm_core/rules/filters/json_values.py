"""The values of metadata: plain JSON, compared as `jsonb` compares them.

Types never mix: true is not 1, "10" is not 10, and a comparison between two types is false rather than an error.
Numbers compare by their exact decimal value (1 = 1.0, but 9007199254740993 ≠ 9007199254740992.0), strings by code
point.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from ...errors import InvalidInput

MAX_DEPTH = 64
MAX_BITS = 3_321  # integers of up to a thousand digits

_KINDS = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", tuple: "array"}


def plain(value: Any, *, at: str, depth: int = MAX_DEPTH) -> Any:
    """Convert a value to plain JSON: None, bool, int, float, str, list and dict.

    Aware datetimes become ISO strings in UTC, so that they sort by time; dates become ISO strings. Anything else, and
    nesting deeper than `depth` levels, raises `InvalidInput`; `at` names the value in its message.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return plain_text(value, at=at)
    if isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(f"{at}: expected a finite number, got {float(value)!r}; JSON has no such value.")
        return float(value)
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise InvalidInput(f"{at}: expected at most 1,000 digits, got a larger integer; keep it as a string.")
        return int(value)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidInput(
                f"{at}: expected an aware datetime, got the naive {value.isoformat()}; "
                "give it a time zone, for example .replace(tzinfo=UTC)."
            )
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, list | tuple | Mapping):
        raise InvalidInput(
            f"{at}: expected a JSON value (None, bool, number, string, list, mapping) or an aware datetime, "
            f"got {type(value).__name__}; convert it first."
        )
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {MAX_DEPTH} levels; flatten it.")
    if isinstance(value, Mapping):
        return {plain_key(key, at=at): plain(part, at=f"{at}.{key}", depth=depth - 1) for key, part in value.items()}
    return [plain(part, at=f"{at}[{place}]", depth=depth - 1) for place, part in enumerate(value)]


def plain_text(text: str, *, at: str) -> str:
    """The string, if PostgreSQL can store it: NUL and lone surrogates raise `InvalidInput`."""
    if "\0" in text:
        raise InvalidInput(f"{at}: expected text that PostgreSQL can store, got a NUL character; remove it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{at}: expected valid Unicode, got a lone surrogate at position {error.start}; "
            "decode the text with errors='replace' first."
        ) from None
    return str.__str__(text)  # the plain text of a member of an enumeration


def kind(value: Any) -> str:
    """The JSON type of a plain value: null, boolean, number, string, array or object."""
    if value is None:
        return "null"
    return _KINDS.get(type(value), "object")


def number(value: float) -> Decimal:
    """The exact decimal value that a number has in JSON."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def plain_key(key: Any, *, at: str) -> str:
    """A mapping's key, if it is a string that PostgreSQL can store; else raises `InvalidInput`."""
    if not isinstance(key, str):
        raise InvalidInput(f"{at}: expected keys that are strings, got {key!r} ({type(key).__name__}); use str(key).")
    return plain_text(key, at=at)
