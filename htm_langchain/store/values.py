"""An item's value, exactly: what jsonb would change is kept beside it, as the bytes of its JSON.

PostgreSQL's jsonb has no NUL and no lone surrogate in texts, no NaN or infinity, no negative zero, and writes 1e16 as the
integer that it equals. A value with any of these comes back from its own JSON; filters see it as jsonb can hold it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from htm_core import InvalidInput

DEEPEST = 64
MOST_BITS = 3_321  # integers of up to a thousand digits, as in metadata: JSON's readers refuse some of more than 4,300
# From here on Python writes a float with an exponent, of which jsonb makes an integer.
LARGEST_PLAIN = 1e16


def checked(value: object) -> dict[str, Any]:
    """A fresh copy of a value in JSON's own types; raises `InvalidInput` naming the place of anything else."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"expected a value to be a mapping, got {type(value).__name__}; wrap it: {{'value': …}}")
    copy: dict[str, Any] = _checked(value, "value", DEEPEST)
    return copy


def held(value: dict[str, Any]) -> tuple[dict[str, Any], bytes | None]:
    """A checked value as jsonb can hold it, and its exact JSON where that is not the same."""
    harmless = _harmless(value)
    if harmless is value:
        return value, None
    exact = json.dumps(value)
    if repr(json.loads(exact)) != repr(value):
        raise InvalidInput(
            "expected no two lone surrogates side by side, which JSON reads as one character; decode the text with "
            "errors='replace' first"
        )
    return harmless, exact.encode()


def unheld(value: dict[str, Any], exact: bytes | None) -> dict[str, Any]:
    """What was put, from what `held` made of it."""
    if exact is None:
        return value
    found: dict[str, Any] = json.loads(exact)
    return found


def _checked(value: Any, at: str, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            raise InvalidInput(f"{at}: expected at most 1,000 digits, got a larger integer; keep it as a string")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, list | tuple | Mapping):
        raise InvalidInput(
            f"{at}: expected a JSON value (None, bool, number, str, list, mapping), got {type(value).__name__}; convert "
            "it first, a datetime with .isoformat()"
        )
    if depth == 0:
        raise InvalidInput(f"{at}: nested deeper than {DEEPEST} levels; flatten it, or keep it as JSON text")
    if isinstance(value, Mapping):
        return {_key(key, at): _checked(part, f"{at}.{key}", depth - 1) for key, part in value.items()}
    return [_checked(part, f"{at}[{place}]", depth - 1) for place, part in enumerate(value)]


def _key(key: object, at: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"{at}: expected keys that are strings, got {key!r} ({type(key).__name__}); use str(key)")
    return str.__str__(key)


def _harmless(value: Any) -> Any:
    """The nearest value that jsonb gives back as it is: the same object where that is the value itself."""
    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, float):
        return harmless_number(value)
    if isinstance(value, list):
        parts = [_harmless(part) for part in value]
        return value if all(new is old for new, old in zip(parts, value, strict=True)) else parts
    if isinstance(value, dict):
        pairs = [(harmless_text(key), _harmless(part)) for key, part in value.items()]
        same = all(new is key and part is value[key] for (new, part), key in zip(pairs, value, strict=True))
        return value if same else dict(pairs)
    return value


def harmless_number(value: float) -> float | None:
    """The nearest number that jsonb gives back as it is; None for none."""
    if not math.isfinite(value):
        return None
    if value == 0 and math.copysign(1, value) < 0:
        return 0.0
    return int(Decimal(repr(value))) if abs(value) >= LARGEST_PLAIN else value


def harmless_text(text: str) -> str:
    """A text with U+FFFD for each NUL and each lone surrogate: the same object where there is none."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)
    return text
