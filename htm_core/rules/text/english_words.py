"""Common English words, by which a misspelt word is told from one that is only not said yet."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

# `python -m benchmarks.english_words` writes it: the whole words of BERT's vocabulary (Apache License 2.0), the most frequent first.
FILE = Path(__file__).with_suffix(".bin")
# What is left of a word without an ending, and what stands there then: "hobbies" is "hobby".
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("d", ""), ("er", ""), ("r", ""), ("ers", ""),
    ("rs", ""), ("ly", ""), ("ily", "y"), ("ness", ""), ("ful", ""), ("less", ""), ("ment", ""),
)  # fmt: skip
_DOUBLED = re.compile(r"([bdfgklmnprt])\1(?:ing|ed|er|ers)$")
LEAST_STEM = 4


@functools.cache
def ranks() -> Mapping[str, int]:
    """The place of each word in the order of frequency, from 1."""
    return {word: place for place, word in enumerate(zlib.decompress(FILE.read_bytes()).decode().split(), 1)}


def is_english(word: str) -> bool:
    """Whether a word in small letters is a common English one, or another form of one."""
    known = ranks()
    if word in known:
        return True
    if (found := _DOUBLED.search(word)) and word[: found.start() + 1] in known:
        return True
    return any(
        word.endswith(ending) and len(stem := word[: -len(ending)] + instead) >= LEAST_STEM and stem in known
        for ending, instead in _ENDINGS
    )
