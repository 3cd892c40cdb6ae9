"""An item's value, exactly: what `jsonb` would change is stored beside it, as the bytes of its
JSON.

A value with such a part comes back from its own JSON; filters see the nearest value that `jsonb`
can hold. What `jsonb` changes is listed in `htm_core.prompt.exact_json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from htm_core import InvalidInput
from htm_core.prompt.exact_json import jsonb_number
from htm_core.prompt.messages import storable

MAX_DEPTH = 64
# integers of up to a thousand digits, as in metadata: JSON's readers refuse some of more than 4,300
MAX_BITS = 3_321


def check_value(value: object) -> dict[str, Any]:
    """A fresh copy of a value in JSON's own types; raises `InvalidInput` naming the place of
    anything else.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"expected a value to be a mapping, got {type(value).__name__}; wrap it: {{'value': …}}"
        )
    copy: dict[str, Any] = _check_part(value, "value", MAX_DEPTH)
    return copy


def split_value(value: dict[str, Any]) -> tuple[dict[str, Any], bytes | None]:
    """A checked value as `jsonb` can hold it, and its exact JSON where the two differ."""
    filterable = _jsonb_value(value)
    if filterable is value:
        return value, None
    exact = json.dumps(value)
    if repr(json.loads(exact)) != repr(value):
        raise InvalidInput(
            "expected no two lone surrogates side by side, which JSON reads as one character; "
            "decode the text with "
            "errors='replace' first"
        )
    return filterable, exact.encode()


def join_value(value: dict[str, Any], exact: bytes | None) -> dict[str, Any]:
    """The value that `split_value` was given."""
    if exact is None:
        return value
    decoded: dict[str, Any] = json.loads(exact)
    return decoded


def _check_part(value: Any, at: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise InvalidInput(
                f"{at}: expected at most 1,000 digits, got a larger integer; keep it as a string"
            )
        return int(value)
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, list | tuple | Mapping):
        raise InvalidInput(
            f"{at}: expected a JSON value (None, bool, number, str, list, mapping), got "
            f"{type(value).__name__}; convert "
            "it first, a datetime with .isoformat()"
        )
    if depth == 0:
        raise InvalidInput(
            f"{at}: nested deeper than {MAX_DEPTH} levels; flatten it, or keep it as JSON text"
        )
    if isinstance(value, Mapping):
        return {
            _key(key, at): _check_part(part, f"{at}.{key}", depth - 1)
            for key, part in value.items()
        }
    return [_check_part(part, f"{at}[{place}]", depth - 1) for place, part in enumerate(value)]


def _key(key: object, at: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(
            f"{at}: expected keys that are strings, got {key!r} "
            f"({type(key).__name__}); use str(key)"
        )
    return str.__str__(key)


def _jsonb_value(value: Any) -> Any:
    """The nearest value that `jsonb` gives back as it is; the same object when that is the value
    itself.
    """
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return jsonb_number(value)
    if isinstance(value, list):
        parts = [_jsonb_value(part) for part in value]
        return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
    if isinstance(value, dict):
        pairs = [(storable(key), _jsonb_value(part)) for key, part in value.items()]
        same = all(
            new is key and part is value[key] for (new, part), key in zip(pairs, value, strict=True)
        )
        return value if same else dict(pairs)
    return value
