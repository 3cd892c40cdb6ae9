"""Values that clients and models send for an argument that they mean to leave out."""

from __future__ import annotations

FEW = 16  # items of a list, and characters of a text, that are looked at
_WORDS = frozenset({"", "null", "none", "undefined"})


def is_nothing(value: object) -> bool:
    """True if a value stands for an argument that is left out: null, a text that says so, or a list
    of nothing else.
    """
    if isinstance(value, list):
        return len(value) < FEW and all(
            not isinstance(each, list) and is_nothing(each) for each in value
        )
    return value is None or (
        isinstance(value, str) and len(value) < FEW and value.strip().casefold() in _WORDS
    )
