"""One spelling for words that differ only in form, used for the lexical index and for tags."""

from __future__ import annotations

from unicodedata import normalize


def fold(text: str) -> str:
    """Spell upper and lower case, full width and half width, composed and decomposed letters the same.

    The result is the NFKC form of the case-folded text. PostgreSQL's `lower` would depend on the server's locale.
    """
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


def words(text: str) -> frozenset[str]:
    """The words of a text that are separated by white space: a short way to write a set of words in code."""
    return frozenset(text.split())
