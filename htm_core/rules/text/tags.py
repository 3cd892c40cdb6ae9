"""Hierarchical tags such as `user:preference:colour`, each with one spelling.

A level is letters, digits and marks of any script, with `_ . + # & -` inside; levels are separated by ":".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import category

from ...errors import InvalidInput
from .folding import fold
from .singular import singular

MAX_LENGTH = 255
MAX_DEPTH = 8
MODEL_DEPTH = 4  # levels of a tag that a model wrote

_SIGNS = frozenset("_.+#&-")
_AROUND = re.compile(r"""^[\s"'`.,;\-*•#]+|[\s"'`.,;]+$""")  # what a model writes around a tag: quotes, list marks


def normalize(tag: str) -> str:
    """Spell a tag as it is stored: folded, trimmed, spaces as "-".

    "User: Dark  Mode" becomes "user:dark-mode". An empty level, a character that tags cannot have, more than 8 levels and
    more than 255 characters raise `InvalidInput`.
    """
    if not isinstance(tag, str):
        raise InvalidInput(f'a tag: expected a string such as "user:preference", got {type(tag).__name__}.')
    levels = [_level(level, tag) for level in fold(tag).split(":")]
    if len(levels) > MAX_DEPTH:
        raise InvalidInput(f"tag {tag!r}: expected at most {MAX_DEPTH} levels, got {len(levels)}; use fewer.")
    name = ":".join(levels)
    if len(name) > MAX_LENGTH:
        raise InvalidInput(f"tag {tag[:40]!r}…: expected at most {MAX_LENGTH} characters, got {len(name)}; shorten it.")
    return name


def normalize_all(tags: Iterable[str]) -> tuple[str, ...]:
    """Spell several tags as they are stored, each once, in the order given.

    A single string is refused, since it would be read as a list of characters.
    """
    if isinstance(tags, str):
        raise InvalidInput(f"tags: expected a list of tags, got the string {tags!r}; write [{tags!r}].")
    return tuple(dict.fromkeys(normalize(tag) for tag in tags))


def ancestors(tag: str) -> tuple[str, ...]:
    """A normalized tag's path from the root: "a:b:c" gives "a", "a:b" and "a:b:c"."""
    levels = tag.split(":")
    return tuple(":".join(levels[:depth]) for depth in range(1, len(levels) + 1))


def from_model(tag: str) -> str:
    """Spell a tag that a model wrote: as `normalize` does, with each level in the singular.

    "AI:Language Models" becomes "ai:language-model", "Web:DNS" becomes "web:dns". More than 4 levels and a level that
    comes twice also raise `InvalidInput`.
    """
    if not isinstance(tag, str):
        raise InvalidInput(f'a tag: expected a string such as "user:preference", got {type(tag).__name__}.')
    bare = _AROUND.sub("", tag)
    levels = [singular("-".join(level.split())) for level in bare.split(":")]
    name = normalize(":".join(levels))
    levels = name.split(":")
    if len(levels) > MODEL_DEPTH or len(set(levels)) < len(levels):
        raise InvalidInput(f"tag {tag!r}: expected at most {MODEL_DEPTH} levels, each once; leave some out.")
    return name


def closure(tags: Iterable[str]) -> frozenset[str]:
    """Normalized tags with all their ancestors."""
    return frozenset(path for tag in tags for path in ancestors(tag))


def similarity(query: str, tag: str) -> float:
    """How similar a normalized tag is to a query, from 0 to 1; 1 is the tag itself or one of its levels.

    Both are compared in the singular: first whole levels, then beginnings and parts, then the trigrams that they share
    (Dice's coefficient), so that a misspelled query finds its tag.
    """
    wanted, have = _compared(query), _compared(tag)
    levels = have.split(":")
    if wanted == have or wanted in levels:
        return 1.0
    if f":{have}:".find(f":{wanted}:") >= 0 or any(level.startswith(wanted) for level in levels):
        return 0.9
    if wanted in have:
        return 0.8
    return 0.75 * max(_dice(wanted, each) for each in (have, *levels))


def _compared(text: str) -> str:
    return ":".join(singular("-".join(level.split())) for level in fold(text).split(":"))


def _dice(first: str, second: str) -> float:
    one, two = _trigrams(first), _trigrams(second)
    return 2 * len(one & two) / (len(one) + len(two))


def _trigrams(text: str) -> frozenset[str]:
    padded = f"  {text} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _level(text: str, tag: str) -> str:
    level = "-".join(text.split())
    for character in level:
        if character not in _SIGNS and category(character)[0] not in "LMN":
            raise InvalidInput(
                f"tag {tag!r}: expected letters, digits and {' '.join(sorted(_SIGNS))} between colons, "
                f"got {character!r}; leave it out."
            )
    if not any(category(character)[0] in "LN" for character in level):
        raise InvalidInput(
            f'tag {tag!r}: expected a letter or a digit in every level, got {level!r}; write it like "user:preference".'
        )
    return level
