"""An answer is right, wrong, or says that it does not know: by the words that are expected, never by another model."""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

Outcome = Literal["right", "wrong", "unknown"]
RIGHT: Outcome = "right"
WRONG: Outcome = "wrong"
UNKNOWN: Outcome = "unknown"

_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        (
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
            "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
        )
    )
}  # fmt: skip
_ISO_DAY = re.compile(r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])-([0-2]\d|3[01])\b")
_NOT_KNOWN = (
    "do not know", "don t know", "not sure", "no information", "not mention", "t mention", "no mention", "do not have",
    "don t have", "does not have", "doesn t have", "not provide", "t provide", "no record", "not specif", "t specif", "not state",
    "t state", "unclear", "not available", "unable to", "cannot", "can t", "not given", "not found", "no specific",
    "haven t told", "have not told", "did not tell", "didn t tell", "not know",
    "no details", "sorry", "could not find", "isn t mentioned",
)  # fmt: skip


def judge(answer: str, expected: Sequence[str], former: Sequence[str] = ()) -> Outcome:
    """The outcome of an answer to a question.

    Args:
        answer: The words of the model.
        expected: Forms of the right answer, of which one must stand in it: a phrase, or several with " + " between them, which
            must all stand in it. Without any, nothing that was told answers the question.
        former: Forms of a value that held before. An answer that names one of them first is wrong.
    """
    words = plain(answer)
    places = [place for form in expected if (place := _place(form, words)) >= 0]
    if places and not any(0 <= _place(form, words) < min(places) for form in former):
        return RIGHT
    return UNKNOWN if any(phrase in words for phrase in _NOT_KNOWN) else WRONG


def plain(text: str) -> str:
    """A text's words in lower case, with numbers in digits, days as in "7 may 2026", and a blank before, between and after them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _ISO_DAY.sub(
        lambda day: f"{int(day[3])} {calendar.month_name[int(day[2])].casefold()} {day[1]}", folded
    )
    folded = re.sub(r"(?<=\d),(?=\d{3})", "", folded)
    folded = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", folded)
    words = re.findall(r"[^\W_]+(?:\.\d+)?", folded)
    return f" {' '.join(_NUMBERS.get(word, word) for word in words)} "


def _place(form: str, words: str) -> int:
    """Where a form stands in words; -1 if it does not."""
    places = [words.find(plain(part)) for part in form.split(" + ")]
    return -1 if min(places) < 0 else min(places)
