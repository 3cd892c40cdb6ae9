"""The PDF that stands in place of one whose text has what is redacted.

It is a PDF itself: whoever reads the message again, a program or a model's provider, finds a file of the type that the message
says.
"""

from __future__ import annotations

from collections.abc import Iterable

from .redactor import marker

# The kind that stands for a PDF that could not be read in time, or within its share of memory: nobody knows what is in it.
UNREAD = "unread"
_WHY = "A PDF with this in its text was here. It was not kept."
_WHY_UNREAD = "A PDF that could not be searched in time was here. It was not kept."


def pdf_marker(kinds: Iterable[str]) -> bytes:
    """A PDF of one page that says what was redacted."""
    listed = list(kinds)
    lines = (" ".join(map(marker, listed)), _WHY_UNREAD if listed == [UNREAD] else _WHY)
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    return _written(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        _stream(f"BT /F1 12 Tf 16 TL 72 720 Td {shown} ET".encode()),
    )


def is_unread_marker(pdf: bytes) -> bool:
    """True if a PDF is the one that stands for one that could not be read."""
    return pdf == pdf_marker([UNREAD])


def _stream(shown: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(shown), shown)


def _written(*objects: bytes) -> bytes:
    """A PDF of these objects, with the table of their places."""
    body, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    ends = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(body))
    return b"%bxref\n0 %d\n0000000000 65535 f \n%b%b" % (body, size, table, ends)
