"""PDFs and redaction: what is redacted in the texts of their pages, and the PDF that stands in
place of one that has some.

That one is a PDF itself: whoever reads the message again, a program or a model's provider, finds a
file of the type that the message says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from .redactor import Redaction, Redactor, marker

_EDGE = 500  # characters of a page that are searched together with its neighbour's
# The kind that stands for a PDF that could not be read in time, or within its share of memory:
# nobody knows what is in it.
UNREAD = "unread"
_WHY = "A PDF with this in its text was here. It was not kept."
_WHY_UNREAD = "A PDF that could not be searched in time was here. It was not kept."


def search_pages(redactor: Redactor, pages: Sequence[str]) -> Mapping[str, int]:
    """Count what of each kind is in the texts of pages. A secret may begin on one page and end on
    the next.
    """
    counts = Counter[str]()
    for page in pages:
        counts.update(redactor.redact(page).counts)
    for before, after in pairwise(pages):
        across = _across(redactor, *_edges(before, after))
        counts.update({} if across is None else across.counts)
    return dict(counts)


def redact_pages(redactor: Redactor, pages: Sequence[str]) -> list[str]:
    """The texts of pages without what is redacted. Where a secret goes on, the next page's first
    lines stand with its marker.
    """
    done = list(pages)
    for at in range(len(done) - 1):
        end, start = _edges(done[at], done[at + 1])
        across = _across(redactor, end, start)
        if across is not None:
            done[at] = done[at].rstrip().removesuffix(end) + across.text
            done[at + 1] = done[at + 1].lstrip().removeprefix(start)
    return [redactor.redact(page).text for page in done]


def _edges(before: str, after: str) -> tuple[str, str]:
    return before.rstrip()[-_EDGE:], after.lstrip()[:_EDGE]


def _across(redactor: Redactor, end: str, start: str) -> Redaction | None:
    """The end of a page and the start of the next together, without what is found in both together
    and in neither alone, of which the counts are; None where there is no such thing.

    The words of a text go on behind a space; a key goes on at once. The number of a page and a date
    behind it are no phone.
    """
    alone = Counter(redactor.redact(end).counts) + Counter(redactor.redact(start).counts)
    for done in (
        redactor.redact(f"{end} {start}"),
        redactor.redact_words(f"{end}{start}", besides=("phone",)),
    ):
        if counts := Counter(done.counts) - alone:
            return Redaction(text=done.text, counts=dict(counts))
    return None


# -- the PDF in place of one -----------------------------------------------------------------------


def pdf_marker(kinds: Iterable[str]) -> bytes:
    """A PDF of one page that says what was redacted."""
    listed = list(kinds)
    lines = (" ".join(map(marker, listed)), _WHY_UNREAD if listed == [UNREAD] else _WHY)
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    return _written(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << "
        b"/Font << /F1 4 0 R >> >> >>",
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
