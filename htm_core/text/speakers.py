"""Who speaks, as people and models are shown it: a name never stands for the role, whatever letters
it has.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# The words for roles, which are nobody's name.
_RESERVED = frozenset(
    (
        "user",
        "human",
        "you",
        "me",
        "assistant",
        "ai",
        "model",
        "system",
        "developer",
        "program",
        "noted",
        "tool",
    )
)
# Letters and marks that are drawn as nothing, though they are printable.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


@lru_cache(maxsize=256)  # a prompt shows dozens of memories of a few people
def speaker(name: str | None, role: str | None) -> str | None:
    """Who said something, not escaped: "Ann, user", or the role alone.

    Without a role it is the name alone, with "noted" beside one that could be read as a role.
    """
    own = own_name(name)
    if own is None:
        return role
    folded = _folded(own)
    is_plain = own.isprintable() and folded.isascii() and not _RESERVED.intersection(folded.split())
    return own if role is None and is_plain else f"{own}, {role or 'noted'}"


def own_name(name: str | None) -> str | None:
    """A name in its normal form, in one line, without the commas that part a label; None for an
    empty one and for a role's word.
    """
    shown = without_commas(unicodedata.normalize("NFKC", name or ""))
    return shown if _folded(shown) and _folded(shown) not in _RESERVED else None


def without_commas(name: str) -> str:
    """A name without what parts a label, in one line."""
    return " ".join(re.sub("[,\u060c\u3001\ufe50\ufe51\uff0c\uff64]", " ", name).split())


def _folded(name: str) -> str:
    """A name by which it is compared: without case, marks, and what is not seen."""
    seen = (
        each
        for each in unicodedata.normalize("NFKD", name)
        if each.isprintable() and not unicodedata.combining(each)
    )
    return "".join(each for each in seen if each not in _FILLERS).strip().casefold()
