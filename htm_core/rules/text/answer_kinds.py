"""Words of the first person, in English."""

from __future__ import annotations

import re

_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|my|me|mine|we|us|our)\b", re.I)


def in_first_person(text: str) -> bool:
    """Whether a text speaks of "I", "my" or "our"."""
    return _FIRST_PERSON.search(text) is not None
