"""Texts compared whatever their letter case: the same by these rules in Python and in a regular expression.

A character's lower form counts where it is one character, so "Σ" is "σ" and "İ" is itself. The expression names every
form, so that no locale of a database has a say in it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

# No character from here on has letter case, and most there are lie beyond.
CASED = 0x20000


def lowered(text: str) -> str:
    """A text with each character in its lower form; as long as it was."""
    return "".join(map(_lower, text))


def any_case(text: str) -> str:
    """A regular expression (PostgreSQL's ARE) for a piece of text in any letter case; ASCII, and every sign escaped."""
    return "".join(_class(character) for character in lowered(text))


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _class(character: str) -> str:
    forms = [character, *_forms().get(character, ())]
    return escaped(character) if len(forms) == 1 else f"[{''.join(map(escaped, forms))}]"


def escaped(character: str) -> str:
    """A character that means itself in a regular expression; ASCII."""
    if character.isascii() and character.isalnum():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


@cache
def _forms() -> dict[str, list[str]]:
    """The other characters that have a lower form, by this form."""
    found = defaultdict(list)
    for code in range(CASED):
        character = chr(code)
        if (lower := _lower(character)) != character:
            found[lower].append(character)
    return dict(found)
