"""Files that are known by how they begin: PDFs, and those that have no text as they stand:
pictures, recordings, archives; and bytes as base64.
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


_PDF = b"%PDF-"
_HEAD = 1_024  # bytes in which a PDF says that it is one
_BEGINS = (
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\x00", b"MM\x00*",  # pictures
    b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"OggS", b"fLaC", b"\x1aE\xdf\xa3",  # recordings
    # archives, documents
    b"PK\x03\x04", b"\x1f\x8b\x08", b"7z\xbc\xaf\x27\x1c", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
)  # fmt: skip


def is_pdf(data: bytes) -> bool:
    """True if bytes begin as a PDF does."""
    return data.startswith(_PDF)


def may_be_pdf(data: bytes) -> bool:
    """True if bytes have the sign of a PDF where readers look for it: within the first 1,024."""
    return _PDF in data[:_HEAD]


def is_known_file(data: bytes) -> bool:
    """True if bytes begin as a picture, a recording or an archive does. So can a text: ask only for
    what is none.
    """
    is_riff = data[:4] == b"RIFF" and data[8:12] in (b"WEBP", b"WAVE", b"AVI ")
    return (
        data.startswith(_BEGINS)
        or is_riff
        or (data[4:8] == b"ftyp" and data.startswith(b"\x00\x00\x00"))
    )
