"""Text as PostgreSQL can hold it: no NUL, and no half of a character."""

from __future__ import annotations

import re
import unicodedata

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """A text with U+FFFD, the replacement character, for each NUL and each lone surrogate; the same object when it has none."""
    return UNSTORABLE.sub("\ufffd", text) if UNSTORABLE.search(text) else text


def legible(text: str) -> str:
    """A text with a space for each NUL and a question mark for each lone surrogate, where nobody has to see that there was one."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def normal_form(text: str) -> str:
    """A text in Unicode's NFC: with composed accents, as almost everybody writes them, and the same to whoever reads it."""
    return unicodedata.normalize("NFC", text)
