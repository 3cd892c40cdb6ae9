"""Hierarchical tags such as `user:preference:colour`, each with one spelling.

A level is letters, digits and marks of any script, with `_ . + # & -` inside; levels are separated
by ":".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import category

from ..base.errors import InvalidInput
from ..base.folding import compose, fold
from ..base.limits import MODEL_TAG_LEVELS, TAG_LENGTH, TAG_LEVELS, TAGS_PER_MEMORY
from .singular import singular

# characters before white space is trimmed, which nothing of more is read for
_LONGEST_WRITTEN = 4 * TAG_LENGTH

_SIGNS = frozenset("_.+#&-")
# what a model writes around a tag: quotes, list marks
_AROUND = re.compile(r"""^[\s"'`.,;\-*•#]+|[\s"'`.,;]+$""")


def normalize(tag: str) -> str:
    """Spell a tag as it is stored: folded, trimmed, spaces as "-".

    "User: Dark  Mode" becomes "user:dark-mode". An empty level, a character that tags cannot have,
    more than 8 levels and more than 255 characters raise `InvalidInput`.
    """
    if not isinstance(tag, str):
        raise InvalidInput(
            f'a tag: expected a string such as "user:preference", got {type(tag).__name__}.'
        )
    _check_written(tag)
    parts = fold(tag).split(":")
    if len(parts) > TAG_LEVELS:
        raise InvalidInput(
            f"tag {_shown(tag)}: expected at most {TAG_LEVELS} levels, got {len(parts)}; use fewer."
        )
    name = ":".join(_level(part, tag) for part in parts)
    if len(name) > TAG_LENGTH:
        raise InvalidInput(
            f"tag {_shown(tag)}: expected at most {TAG_LENGTH} characters, got "
            f"{len(name)}; shorten it."
        )
    return name


def normalize_all(tags: Iterable[str]) -> tuple[str, ...]:
    """Spell several tags as they are stored, each once, in the order given.

    A single string is refused, since it would be read as a list of characters, and so are more than
    1,000 tags.
    """
    if isinstance(tags, str):
        raise InvalidInput(
            f"tags: expected a list of tags, got the string {_shown(tags)}; write [{_shown(tags)}]."
        )
    named: dict[str, None] = {}
    for tag in tags:
        named[normalize(tag)] = None
        if len(named) > TAGS_PER_MEMORY:
            raise too_many("of one memory")
    return tuple(named)


def too_many(where: str) -> InvalidInput:
    """The error for more tags than a memory may have."""
    return InvalidInput(
        f"tags: expected at most {TAGS_PER_MEMORY:,} tags {where}, got more; keep what says how "
        "the memory is found, "
        "and put the rest into metadata."
    )


def ancestors(tag: str) -> tuple[str, ...]:
    """A normalized tag's path from the root: "a:b:c" gives "a", "a:b" and "a:b:c"."""
    levels = tag.split(":")
    return tuple(":".join(levels[:depth]) for depth in range(1, len(levels) + 1))


def from_model(tag: str) -> str:
    """Spell a tag that a model wrote: as `normalize` does, with each level in the singular.

    "AI:Language Models" becomes "ai:language-model", "Web:DNS" becomes "web:dns". More than 4
    levels and a level that comes twice also raise `InvalidInput`.
    """
    if not isinstance(tag, str):
        raise InvalidInput(
            f'a tag: expected a string such as "user:preference", got {type(tag).__name__}.'
        )
    _check_written(tag)
    bare = _AROUND.sub("", compose(tag))
    levels = [singular("-".join(level.split())) for level in bare.split(":")]
    name = normalize(":".join(levels))
    levels = name.split(":")
    if len(levels) > MODEL_TAG_LEVELS or len(set(levels)) < len(levels):
        raise InvalidInput(
            f"tag {_shown(tag)}: expected at most {MODEL_TAG_LEVELS} levels, each "
            "once; leave some out."
        )
    return name


def closure(tags: Iterable[str]) -> frozenset[str]:
    """Normalized tags with all their ancestors."""
    return frozenset(path for tag in tags for path in ancestors(tag))


def similarity(query: str, tag: str) -> float:
    """Return the similarity of a normalized tag to a query, from 0 to 1; 1 is the tag itself or one
    of its levels.

    Both are compared in the singular: first whole levels, then beginnings and parts, then the
    trigrams that they share (Dice's coefficient), so that a misspelled query finds its tag.
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


def _check_written(tag: str) -> None:
    if len(tag) > _LONGEST_WRITTEN:
        raise InvalidInput(
            f"tag {_shown(tag)}: expected at most {TAG_LENGTH} characters, got {len(tag):,}; "
            "shorten it."
        )


def _shown(text: str) -> str:
    """The beginning of a text, for an error that a person or a model reads."""
    return repr(text) if len(text) <= 80 else f"{text[:40]!r}…"


def _level(text: str, tag: str) -> str:
    level = "-".join(text.split())
    for character in level:
        if character not in _SIGNS and category(character)[0] not in "LMN":
            raise InvalidInput(
                f"tag {_shown(tag)}: expected letters, digits and {' '.join(sorted(_SIGNS))} "
                "between colons, "
                f"got {character!r}; leave it out."
            )
    if not any(category(character)[0] in "LN" for character in level):
        raise InvalidInput(
            f"tag {_shown(tag)}: expected a letter or a digit in every level, got "
            f'{_shown(level)}; write it like "user:preference".'
        )
    return level
