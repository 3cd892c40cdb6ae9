"""What a redactor finds in the pages of a PDF: in each, and across the end of one and the beginning of the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from .redactor import Redactor

_SIGN = b"%PDF-"
_HEAD = 1_024  # bytes in which a PDF says that it is one
_EDGE = 500  # characters of a page that are searched together with its neighbour's


def may_be_pdf(data: bytes) -> bool:
    """Whether bytes have the sign of a PDF where readers look for it: within the first 1,024."""
    return _SIGN in data[:_HEAD]


def search_pages(redactor: Redactor, pages: Sequence[str]) -> Mapping[str, int]:
    """How much of which kind is in the texts of pages. A secret may begin on one page and end on the next."""
    found = Counter[str]()
    for page in pages:
        found.update(redactor.redact(page).counts)
    for before, after in pairwise(pages):
        found.update(_across(redactor, before.rstrip()[-_EDGE:], after.lstrip()[:_EDGE]))
    return dict(found)


def _across(redactor: Redactor, end: str, start: str) -> Counter[str]:
    """What is found in the end of a page and the start of the next together, and in neither alone.

    The words of a text go on behind a space; a key goes on at once. The number of a page and a date behind it are no phone.
    """
    alone = Counter(redactor.redact(end).counts) + Counter(redactor.redact(start).counts)
    spaced = Counter(redactor.redact(f"{end} {start}").counts) - alone
    return spaced | (Counter(redactor.redact_words(f"{end}{start}", besides=("phone",)).counts) - alone)
