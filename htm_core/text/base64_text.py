"""Bytes as base64, in each of the forms that messages have: with or without padding, for addresses
or not, with line breaks.
"""

from __future__ import annotations

import base64

from ..base.lazy_pattern import LazyPattern

_CHARACTERS = LazyPattern(r"[A-Za-z0-9+/_-]*={0,2}")
_FOR_ADDRESSES = str.maketrans("-_", "+/")


def decode_base64(text: str) -> bytes | None:
    """The bytes of a text in base64; None for any other text."""
    compact = "".join(text.split())
    bare = compact.rstrip("=").translate(_FOR_ADDRESSES)
    if not _CHARACTERS.fullmatch(compact) or len(bare) % 4 == 1:
        return None
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def encode_base64(data: bytes, *, like: str) -> str:
    """Bytes in base64, in the alphabet of another text in it."""
    encode = base64.urlsafe_b64encode if "-" in like or "_" in like else base64.b64encode
    return encode(data).decode()
