"""One spelling for words that differ only in form, used for the lexical index and for tags."""

from __future__ import annotations

import re
from unicodedata import normalize

# The soft hyphen, the space and the joiner without a width, and the mark of byte order.
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_SEEN = re.compile("[^\\s\u00ad\u200b\u200c\u200d\u2060\ufeff]")


def has_words(text: str) -> bool:
    """True if a text has anything to see: more than white space and what has no width."""
    return _SEEN.search(text) is not None


def fold(text: str) -> str:
    """Spell upper and lower case, full width and half width, composed and decomposed letters the same.

    The result is the NFKC form of the case-folded text, without marks inside of words that nobody sees. PostgreSQL's `lower` would
    depend on the server's locale. Accents and vowel marks go in the database (`fold_accents`).
    """
    if text.isascii():
        return text.lower()
    return normalize("NFKC", compose(text).casefold())


def compose(text: str) -> str:
    """Return the NFKC form of a text, in its own case, without marks inside of words that nobody sees."""
    return normalize("NFKC", text.translate(_UNSEEN))


def words(text: str) -> frozenset[str]:
    """The words of a text that are separated by white space: a short way to write a set of words in code."""
    return frozenset(text.split())
