"""Comparing texts in any letter case, with the same result in Python and in PostgreSQL's regular
expressions.

A character is compared by its lower form if that is one character: "Σ" is "σ", and "İ" is itself.
The regular expression lists every form of a letter, so it does not depend on the locale of the
database.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

# No character from here on has letter case.
CASED = 0x20000


def lowered(text: str) -> str:
    """A text with each character in its lower form; its length does not change."""
    return "".join(map(_lower, text))


def any_case(text: str) -> str:
    """A regular expression (PostgreSQL's ARE) for a text in any letter case; in ASCII, with every
    sign escaped.
    """
    return "".join(_class(character) for character in lowered(text))


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _class(character: str) -> str:
    forms = [character, *_forms().get(character, ())]
    return escaped(character) if len(forms) == 1 else f"[{''.join(map(escaped, forms))}]"


def escaped(character: str) -> str:
    """A character as a literal of a regular expression, in ASCII."""
    if character.isascii() and character.isalnum():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


@cache
def _forms() -> dict[str, list[str]]:
    """The characters with a lower form other than themselves, by this form."""
    forms = defaultdict(list)
    for code in range(CASED):
        character = chr(code)
        if (lower := _lower(character)) != character:
            forms[lower].append(character)
    return dict(forms)
