"""Common English words, by which a misspelt word is told from one that is only not said yet."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

# Written by `python -m benchmarks.english_words`: the whole words of BERT's vocabulary (Apache License 2.0), by frequency.
FILE = Path(__file__).with_suffix(".bin")
# What is left of a word without an ending, and what stands there then: "hobbies" is "hobby".
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("d", ""), ("er", ""), ("r", ""),
    ("ers", ""), ("rs", ""), ("ly", ""), ("ily", "y"), ("ness", ""), ("ful", ""), ("less", ""), ("ment", ""), ("est", ""),
    ("st", ""), ("iest", "y"),
)  # fmt: skip
# What a word has more in another form: "revise" is in the list as "revised".
_FORMS = ("s", "d", "ed", "ing")
_BEFORE = ("re", "un", "non", "over", "out", "pre", "mis", "dis", "under", "super", "anti", "semi", "co")
_DOUBLED = re.compile(r"([bdfgklmnprt])\1(?:ing|ed|er|ers|est)$")
LEAST_STEM = 4
# Two of so frequent words may be one: "bookshelf".
FREQUENT = 8_000


@functools.cache
def ranks() -> Mapping[str, int]:
    """The place of each word in the order of frequency, from 1."""
    return {word: place for place, word in enumerate(zlib.decompress(FILE.read_bytes()).decode().split(), 1)}


def is_english(word: str) -> bool:
    """True if a word in small letters is a common English one, or another form of one."""
    known = ranks()
    if word in known:
        return True
    if (match := _DOUBLED.search(word)) and word[: match.start() + 1] in known:
        return True
    if any(word + more in known for more in _FORMS):
        return True
    if any(
        word.startswith(before) and len(word) - len(before) >= LEAST_STEM - 1 and word[len(before) :] in known
        for before in _BEFORE
    ):
        return True
    return any(
        word.endswith(ending) and len(stem := word[: -len(ending)] + instead) >= LEAST_STEM and stem in known
        for ending, instead in _ENDINGS
    )


def is_compound(word: str) -> bool:
    """True if a word in small letters is two frequent English words: "bookshelf"."""
    known = ranks()
    return any(
        max(known.get(word[:at], FREQUENT), known.get(word[at:], FREQUENT)) < FREQUENT
        for at in range(LEAST_STEM, len(word) - LEAST_STEM + 1)
    )
