"""Small PDFs, written by hand: each page has one line of text."""

from __future__ import annotations


def pdf_of(*pages: str) -> bytes:
    """A PDF whose pages say these lines."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, line in enumerate(pages):
        shown = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET".encode() if line else b""
        about = f"/Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * at} 0 R"
        objects += [
            f"<< /Type /Page {about} /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(shown), shown),
        ]
    return _written(objects)


def nested_pdf(*, levels: int, times: int) -> bytes:
    """A small PDF that draws a text `times` to the power of `levels` times: each form draws the next one so often."""
    last = 4 + levels
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /XObject << /X 6 0 R >> >> >>",
        _stream(b"/X Do ", b""),
    ]
    for level in range(levels):
        draws = b"/X Do " * times if level < levels - 1 else b"BT /F1 12 Tf (herons) Tj ET"
        inner = (
            b"/XObject << /X %d 0 R >> " % (7 + level)
            if level < levels - 1
            else b"/Font << /F1 3 0 R >>"
        )
        about = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << %b >>" % inner
        objects.append(_stream(draws, about))
    assert len(objects) == last + 1
    return _written(objects)


def _stream(shown: bytes, about: bytes) -> bytes:
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (about, len(shown), shown)


def _written(objects: list[bytes]) -> bytes:
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return (
        body
        + head
        + table
        + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (len(objects) + 1, len(body))
    )
