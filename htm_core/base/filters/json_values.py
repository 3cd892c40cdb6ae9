"""The values of metadata: plain JSON, compared as `jsonb` compares them.

Types never mix: true is not 1, "10" is not 10, and a comparison between two types is false rather
than an error. Numbers compare by their exact decimal value (1 = 1.0, but 9007199254740993 ≠
9007199254740992.0), strings by code point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from ..errors import InvalidInput
from ..limits import INTEGER_DIGITS, METADATA_BYTES, METADATA_LEVELS, METADATA_VALUES

PLACE_LENGTH = 200  # characters of a place that an error names
_LARGEST_INTEGER = 10**INTEGER_DIGITS
_LARGEST_BITS = _LARGEST_INTEGER.bit_length()  # compared first, since it costs nothing

_KINDS = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
}


def plain(value: Any, *, at: str, values: int = METADATA_VALUES, size: int = METADATA_BYTES) -> Any:
    """Convert a value to plain JSON: None, bool, int, float, str, list and dict.

    Aware datetimes become ISO strings in UTC, so that they sort by time; dates become ISO strings.
    Anything else raises `InvalidInput`, and so do nesting deeper than 64 levels, more than `values`
    values (one that stands in two places counts twice), and more than `size` bytes as JSON; `at`
    names the value in its message.
    """
    converted = _Plain(at=at, values=values, size=size).of(value, at=at, depth=METADATA_LEVELS)
    if not isinstance(converted, dict | list):
        return converted
    written = json_bytes(converted)
    if written > size:
        raise InvalidInput(
            f"{at}: expected at most {size:,} bytes of JSON, got {written:,}", advice="exact bytes"
        )
    return converted


def json_bytes(value: Any) -> int:
    """The size of plain JSON in bytes, as it is sent to PostgreSQL."""
    return (
        len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()) if value else 2
    )


class _Plain:
    """One conversion: how many values and characters it may still have. It stops
    before it grows.
    """

    __slots__ = ("_at", "_room", "_size", "_values", "_values_left")

    def __init__(self, *, at: str, values: int, size: int) -> None:
        self._at, self._values, self._size = at, values, size
        self._values_left, self._room = values, size

    def of(self, value: Any, *, at: str, depth: int) -> Any:
        """The value as plain JSON."""
        self._values_left -= 1
        if self._values_left < 0:
            raise InvalidInput(
                f"{self._at}: expected at most {self._values:,} values, got more",
                advice="exact bytes",
            )
        scalar = _scalar(value, at=at)
        if isinstance(scalar, str):
            self._take(len(scalar))
        if scalar is not None or value is None:
            return scalar
        if depth == 0:
            raise InvalidInput(f"{at}: nested deeper than {METADATA_LEVELS} levels; flatten it.")
        at = at[:PLACE_LENGTH]  # a key may be long, and there is a place for each of its parts
        if isinstance(value, Mapping):
            return {
                self._key(key, at): self.of(part, at=f"{at}.{key[:PLACE_LENGTH]}", depth=depth - 1)
                for key, part in value.items()
            }
        return [
            self.of(part, at=f"{at}[{place}]", depth=depth - 1) for place, part in enumerate(value)
        ]

    def _key(self, key: Any, at: str) -> str:
        text = plain_key(key, at=at)
        self._take(len(text))
        return text

    def _take(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise InvalidInput(
                f"{self._at}: expected at most {self._size:,} bytes of JSON, got more",
                advice="exact bytes",
            )


def _scalar(value: Any, *, at: str) -> Any:
    """A value without parts; None for null, and for a list or a mapping. Other types raise
    `InvalidInput`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return plain_text(value, at=at)
    if isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(
                f"{at}: expected a finite number, got {float(value)!r}; JSON has no such value."
            )
        return float(value)
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_BITS or abs(value) >= _LARGEST_INTEGER:
            raise InvalidInput(
                f"{at}: expected at most {INTEGER_DIGITS:,} digits, got a larger integer; keep it "
                "as a string."
            )
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
            f"{at}: expected a JSON value (None, bool, number, string, list, mapping) or an aware "
            "datetime, "
            f"got {type(value).__name__}; convert it first."
        )
    return None


def plain_text(text: str, *, at: str) -> str:
    """The string, if PostgreSQL can store it: NUL and lone surrogates raise `InvalidInput`."""
    if "\0" in text:
        raise InvalidInput(
            f"{at}: expected text that PostgreSQL can store, got a NUL character; remove it."
        )
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
        raise InvalidInput(
            f"{at}: expected keys that are strings, got {key!r:.80} ({type(key).__name__}); use "
            "str(key)."
        )
    return plain_text(key, at=at)
