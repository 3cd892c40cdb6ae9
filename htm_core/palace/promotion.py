"""Promotion into the palace: what may be promoted, and what a text repeats. The rules read English.

What a text contradicts, and what is raw output of a tool, is decided in modules of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..base.errors import InvalidInput
from ..base.folding import words
from ..base.validation import check_characters
from .raw_output import raw_output

MAX_SUMMARY_LENGTH = 1_200  # characters: a longer text is not a summary
MAX_REASON_LENGTH = 1_000
# Two texts that do not contradict each other say the same from this cosine on, or from this share
# of common words on.
MIN_COSINE_OF_DUPLICATES = 0.95
MIN_COMMON_WORDS_OF_DUPLICATES = 0.9

_WORD = re.compile(r"[^\W_]+(?:['\u2019.:/-][^\W_]+)*")
_STOP_WORDS = words("""
    a an and are as at be been being but by for from had has have he her his i in into is it its me my of on or our she
    so that the their them then they this to was we were will with you your also now really very just which who
""")
_NEGATIONS = words("""not no never none nobody nothing neither nor without cannot stopped quit dislikes hates refuses false wrong
    unlike failed fails disabled off""")
_COUNTING = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NUMBER_WORDS = {name: str(value) for value, name in enumerate(_COUNTING)}


@dataclass(frozen=True, slots=True)
class Compared:
    """The relation of one text to another, and why."""

    relation: Literal["same", "contradicts", "other"]
    why: str = ""


def check_summary(summary: object, *, what: str = "summary") -> str:
    """The summary, stripped. Raises `InvalidInput` when it is empty or too long, or looks like raw
    tool output.

    `what` is how the error calls it: "summary", or "fact" where there is no note that it sums up.
    """
    text = _some_text(
        summary, what=what, longest=MAX_SUMMARY_LENGTH, instead="say in a sentence what was learned"
    )
    if raw := raw_output(text):
        raise InvalidInput(
            f"expected a {what} in words, got what looks like {raw}; say in a "
            "sentence what was learned"
        )
    return text


def check_reason(reason: object) -> str:
    """The reason, stripped. Raises `InvalidInput` when it is empty or too long."""
    return _some_text(
        reason,
        what="reason",
        longest=MAX_REASON_LENGTH,
        instead="say why it is worth keeping for good",
    )


def _some_text(text: object, *, what: str, longest: int, instead: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"expected a {what}, got {text!r:.80}; {instead}")
    if len(text) > longest:
        raise InvalidInput(
            f"expected a {what} of at most {longest:,} characters, got {len(text):,}; shorten it"
        )
    return check_characters(text.strip(), what=what)


def compare(new: str, old: str, *, cosine: float | None, contradiction: str | None) -> Compared:
    """Return the relation of a new text to an old one.

    `cosine` is None when the texts were not embedded; `contradiction` is why the judge thinks that
    they contradict each other.
    """
    if _normalized(new) == _normalized(old):
        return Compared("same", "the same words")
    if contradiction:
        return Compared("contradicts", contradiction)
    shared = _overlap(_content(new), _content(old))
    if shared >= MIN_COMMON_WORDS_OF_DUPLICATES and _numbers(new) == _numbers(old):
        return Compared("same", f"{shared:.0%} of the words are common")
    if cosine is not None and cosine >= MIN_COSINE_OF_DUPLICATES:
        return Compared("same", f"a cosine of {cosine:.2f}")
    return Compared("other")


def nearest(text: str, others: Sequence[str], *, limit: int) -> list[int]:
    """The indexes of the texts that share most words with a text, at most `limit`, best first."""
    mine = _content(text)
    ranked = sorted(range(len(others)), key=lambda at: -_overlap(mine, _content(others[at])))
    return ranked[:limit]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors; 0 when one of them is all zeros."""
    lengths = math.sqrt(math.fsum(x * x for x in one)) * math.sqrt(math.fsum(x * x for x in other))
    return math.fsum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _normalized(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _words(text: str) -> set[str]:
    return {word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)}


def _content(text: str) -> set[str]:
    """The words that say what a text is about: no stop words, numbers or negations, and plurals
    without their s.
    """
    stems = {
        _stem(word)
        for word in _words(text)
        if word not in _STOP_WORDS and word not in _NEGATIONS and not word.endswith("n't")
    }
    return {word for word in stems if word and not word[0].isdigit() and word not in _NUMBER_WORDS}


def _stem(word: str) -> str:
    bare = word.removesuffix("'s")
    return bare[:-1] if len(bare) > 3 and bare.endswith("s") and not bare.endswith("ss") else bare


def _numbers(text: str) -> set[str]:
    numbers = {
        number.replace(",", "").rstrip(".") for number in re.findall(r"\d[\d,]*(?:[.:]\d+)*", text)
    }
    return numbers | {_NUMBER_WORDS[word] for word in _words(text) if word in _NUMBER_WORDS}


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
