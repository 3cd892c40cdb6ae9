"""One spelling for what differs only in form: the shape in which words are indexed and tags are named."""

from __future__ import annotations

from unicodedata import normalize


def fold(text: str) -> str:
    """Give equal spelling to upper and lower case, full width and half width, composed and decomposed letters.

    Unicode's NFKC form of the case-folded text. Done here rather than in PostgreSQL, whose `lower` depends on the
    server's locale. ASCII, most of what comes, takes a short way.
    """
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


def words(text: str) -> frozenset[str]:
    """The words of a text with spaces between them: how a list of words is written where it is read."""
    return frozenset(text.split())
