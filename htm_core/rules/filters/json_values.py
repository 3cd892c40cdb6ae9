"""What metadata can hold: the values of JSON, compared the way `jsonb` compares them.

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


def plain(value: Any, *, at: str) -> Any:
    """Turn a value into what `jsonb` keeps: None, bool, int, float, str, list and dict.

    Aware datetimes become ISO strings in UTC, so that their order as strings is their order in time; dates become ISO
    strings. `at` names the value in the message of the `InvalidInput` raised for anything else.
    """
    return _plain(value, at, MAX_DEPTH)


def plain_text(text: str, *, at: str) -> str:
    """Return a string that PostgreSQL can store as it is, or raise `InvalidInput`: no NUL and no lone surrogate."""
    if "\0" in text:
        raise InvalidInput(f"{at}: expected text that PostgreSQL can store, got a NUL character; remove it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{at}: expected valid Unicode, got a lone surrogate at position {error.start}; "
            "decode the text with errors='replace' first."
        ) from None
    return str.__str__(text)  # an enumeration's member is its text


def kind(value: Any) -> str:
    """Name the JSON type of a plain value: null, boolean, number, string, array or object."""
    if value is None:
        return "null"
    return _KINDS.get(type(value), "object")


def number(value: float) -> Decimal:
    """Give a number the exact decimal value that its JSON text has."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _plain(value: Any, at: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return plain_text(value, at=at)
    if isinstance(value, int | float):
        return _plain_number(value, at)
    if isinstance(value, date):
        return _plain_time(value, at)
    return _plain_container(value, at, depth)


def _plain_number(value: float, at: str) -> float:
    if isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(f"{at}: expected a finite number, got {float(value)!r}; JSON has no such value.")
        return float(value)
    if value.bit_length() > MAX_BITS:
        raise InvalidInput(f"{at}: expected at most 1,000 digits, got a larger integer; keep it as a string.")
    return int(value)


def _plain_time(value: date, at: str) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{at}: expected an aware datetime, got the naive {value.isoformat()}; "
            "give it a time zone, for example .replace(tzinfo=UTC)."
        )
    return value.astimezone(UTC).isoformat()


def _plain_container(value: Any, at: str, depth: int) -> Any:
    if not isinstance(value, list | tuple | Mapping):
        raise InvalidInput(
            f"{at}: expected a JSON value (None, bool, number, string, list, mapping) or an aware datetime, "
            f"got {type(value).__name__}; convert it first."
        )
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {MAX_DEPTH} levels; flatten it.")
    if isinstance(value, Mapping):
        return {plain_key(key, at=at): _plain(part, f"{at}.{key}", depth - 1) for key, part in value.items()}
    return [_plain(part, f"{at}[{place}]", depth - 1) for place, part in enumerate(value)]


def plain_key(key: Any, *, at: str) -> str:
    """Return a mapping's key that `jsonb` can keep, or raise `InvalidInput`."""
    if not isinstance(key, str):
        raise InvalidInput(f"{at}: expected keys that are strings, got {key!r} ({type(key).__name__}); use str(key).")
    return plain_text(key, at=at)
