"""Forms of a text: as PostgreSQL can hold it, in one spelling for words that differ only in form,
and for the lexical index.
"""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import category, normalize

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# The soft hyphen, the space and the joiner without a width, and the mark of byte order.
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_SEEN = re.compile("[^\\s\u00ad\u200b\u200c\u200d\u2060\ufeff]")
# Scripts written without spaces, from Han to Thai, Lao, Burmese and Khmer; and Hangul, where
# particles are part of words.
_UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\ua9e0-\ua9fe\uaa60-\uaa7f\u1780-\u17d3"
)
_RUN = re.compile(f"[{_UNSPACED}]+")


def storable(text: str) -> str:
    """A text with U+FFFD, the replacement character, for each NUL and each lone surrogate; the same
    object when it has none.
    """
    return UNSTORABLE.sub("\ufffd", text) if UNSTORABLE.search(text) else text


def legible(text: str) -> str:
    """A text with a space for each NUL and a question mark for each lone surrogate, where nobody
    has to see that there was one.
    """
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def normal_form(text: str) -> str:
    """A text in Unicode's NFC: with composed accents, as almost everybody writes them, and the same
    to whoever reads it.
    """
    return normalize("NFC", text)


def has_words(text: str) -> bool:
    """True if a text has anything to see: more than white space and what has no width."""
    return _SEEN.search(text) is not None


def fold(text: str) -> str:
    """Spell upper and lower case, full width and half width, composed and decomposed letters the
    same.

    The result is the NFKC form of the case-folded text, without marks inside of words that nobody
    sees. PostgreSQL's `lower` would depend on the server's locale. Accents and vowel marks go in
    the database (`fold_accents`).
    """
    if text.isascii():
        return text.lower()
    return normalize("NFKC", compose(text).casefold())


def compose(text: str) -> str:
    """Return the NFKC form of a text, in its own case, without marks inside of words that nobody
    sees.
    """
    return normalize("NFKC", text.translate(_UNSEEN))


def words(text: str) -> frozenset[str]:
    """The words of a text that are separated by white space: a short way to write a set of words in
    code.
    """
    return frozenset(text.split())


def lexical_query(text: str) -> str:
    """Prepare a query for the lexical index: folded, with scripts without spaces written as pairs
    of characters.

    "東京都" becomes "東京 京都", so that any two neighbouring characters are a word; a single one stays as
    it is. A character includes the marks that follow it. PostgreSQL's parser and dictionaries do
    the rest.
    """
    folded = fold(text)
    return folded if folded.isascii() else _RUN.sub(_pairs, folded)


def lexical_text(text: str) -> str:
    """Prepare a text for the lexical index: as a query, but each single character of such a script
    is a word, too.

    So a query of a single character finds it inside a longer run.
    """
    folded = fold(text)
    return folded if folded.isascii() else _RUN.sub(_pairs_and_letters, folded)


def _pairs(run: re.Match[str]) -> str:
    letters = _letters(run.group())
    return _spaced(run, [left + right for left, right in pairwise(letters)] or letters)


def _pairs_and_letters(run: re.Match[str]) -> str:
    letters = _letters(run.group())
    return _spaced(run, [left + right for left, right in pairwise(letters)] + letters)


def _spaced(run: re.Match[str], words: list[str]) -> str:
    """Words in the place of a run, with spaces around them."""
    text, start, stop = run.string, run.start(), run.end()
    before = "" if start == 0 or text[start - 1].isspace() else " "
    after = "" if stop == len(text) or text[stop].isspace() else " "
    return before + " ".join(words) + after


def _letters(run: str) -> list[str]:
    """The run's characters, each with the marks that follow it."""
    letters: list[str] = []
    for character in run:
        if letters and category(character)[0] == "M":
            letters[-1] += character
        else:
            letters.append(character)
    return letters
