"""Search the pages of a PDF with a redactor: each by itself, and across the end of one and the beginning of the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from .redactor import Redaction, Redactor

_EDGE = 500  # characters of a page that are searched together with its neighbour's


def search_pages(redactor: Redactor, pages: Sequence[str]) -> Mapping[str, int]:
    """Count what of each kind is in the texts of pages. A secret may begin on one page and end on the next."""
    counts = Counter[str]()
    for page in pages:
        counts.update(redactor.redact(page).counts)
    for before, after in pairwise(pages):
        across = _across(redactor, *_edges(before, after))
        counts.update({} if across is None else across.counts)
    return dict(counts)


def redact_pages(redactor: Redactor, pages: Sequence[str]) -> list[str]:
    """The texts of pages without what is redacted. Where a secret goes on, the next page's first lines stand with its marker."""
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
    """The end of a page and the start of the next together, without what is found in both together and in neither alone, of which
    the counts are; None where there is no such thing.

    The words of a text go on behind a space; a key goes on at once. The number of a page and a date behind it are no phone.
    """
    alone = Counter(redactor.redact(end).counts) + Counter(redactor.redact(start).counts)
    for done in (redactor.redact(f"{end} {start}"), redactor.redact_words(f"{end}{start}", besides=("phone",))):
        if counts := Counter(done.counts) - alone:
            return Redaction(text=done.text, counts=dict(counts))
    return None
