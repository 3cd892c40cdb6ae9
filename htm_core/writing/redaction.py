"""A redactor's work on what is stored, with the files in a message's payload, of which PDFs are
read in a process of their own.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections import Counter
from collections.abc import Collection, Mapping

from ..base.errors import InvalidInput
from ..base.last_used import LastUsed
from ..base.limits import ATTACHED_PAGES, FILE_BYTES
from ..base.types import Draft
from ..text.redaction import values
from ..text.redaction.pdfs import UNREAD, is_unread_marker, search_pages
from ..text.redaction.redactor import Redactor
from .file_bytes import UnreadPdf, can_read_pdfs, read_bytes

# PDFs of which is kept in mind how much of what was found: a client sends its history again with
# each turn
KNOWN = 256

_log = logging.getLogger("htm.redaction")
_UNREAD: Mapping[str, int] = {UNREAD: 1}


class _Findings:
    """Findings of redactors in the PDFs that were searched last, by a digest under a key of this
    process: no text, no name.
    """

    def __init__(self) -> None:
        self._lock, self._key = threading.Lock(), secrets.token_bytes(32)
        # Each with its redactor, so that no other one can come to have its number.
        self._found = LastUsed[tuple[int, bytes], tuple[Redactor, Mapping[str, int]]](KNOWN)

    def get(self, pdf: bytes, redactor: Redactor) -> Mapping[str, int] | None:
        """Return what was found; None where nobody has looked, or it is too long ago."""
        with self._lock:
            known = self._found.get(self._place(pdf, redactor))
        return known and known[1]

    def put(self, pdf: bytes, redactor: Redactor, counts: Mapping[str, int]) -> None:
        """Keep what was found in mind, and let go of what was not asked for the longest."""
        with self._lock:
            self._found[self._place(pdf, redactor)] = redactor, counts

    def _place(self, pdf: bytes, redactor: Redactor) -> tuple[int, bytes]:
        return id(redactor), hashlib.blake2b(pdf, key=self._key, digest_size=32).digest()


_findings = _Findings()


def redact_draft(draft: Draft, redactor: Redactor | None) -> Draft:
    """A draft without what is redacted (see `htm_core.text.redaction.values.redact_draft`), PDFs in
    its payload too.
    """
    return values.redact_draft(draft, redactor, search_pdf=search_pdf)


def redact_payload(
    payload: bytes, redactor: Redactor | None, *, stored: Collection[bytes] = ()
) -> bytes:
    """A payload without what is redacted, as it is stored, to compare it with those in `stored`.

    Where a PDF could not be read in time, now or when it was stored, nobody can say whether it is
    the same one. So the rest of the payload decides: if it is that of one in `stored`, the answer
    is that one. A message does not change with how busy a machine is.
    """
    if redactor is None:
        return payload
    counted = values.Counted(redactor, search_pdf=search_pdf)
    done = counted.payload(payload)
    if not counted.has_pdf or done in stored:
        return done
    shape: bytes | None = None
    for other in stored:
        if counted.counts[UNREAD] or _has_unread(other, redactor):
            shape = _without_pdfs(payload, redactor) if shape is None else shape
            if _without_pdfs(other, redactor) == shape:
                return other
    return done


def search_pdf(pdf: bytes, redactor: Redactor) -> Mapping[str, int]:
    """Count what a redactor finds in the first pages of a PDF, by kind: nothing in one that is
    locked or broken, has no text, or cannot be read without the extra `pdf`. One that takes too
    long or too much to read counts as `unread`.
    """
    counts = _findings.get(pdf, redactor)
    if counts is not None:
        return counts
    if not can_read_pdfs():
        return {}
    try:
        if len(pdf) > FILE_BYTES:
            raise UnreadPdf(
                f"expected a PDF of at most {FILE_BYTES:,} bytes, got {len(pdf):,}; divide it"
            )
        file = read_bytes(pdf, name="", media_type="application/pdf", most_pages=ATTACHED_PAGES)
        counts = search_pages(redactor, file.each_page())
    except UnreadPdf as error:
        _log.warning(
            "a PDF could not be searched for what is redacted, and is kept as a PDF that "
            "says so: %s",
            error,
        )
        if error.is_late:
            return _UNREAD  # there may be more time when it comes again
        counts = _UNREAD
    except InvalidInput:
        counts = {}
    _findings.put(pdf, redactor, counts)
    return counts


def _has_unread(payload: bytes, redactor: Redactor) -> bool:
    seen = Counter[bool]()

    def search(pdf: bytes, _: Redactor) -> Mapping[str, int]:
        """Nothing: only look at what stands there."""
        seen[is_unread_marker(pdf)] += 1
        return {}

    values.Counted(redactor, search_pdf=search).payload(payload)
    return seen[True] > 0


def _without_pdfs(payload: bytes, redactor: Redactor) -> bytes:
    """A payload without what is redacted, with the same PDF in place of each."""
    return values.Counted(redactor, search_pdf=lambda *_: _UNREAD).payload(payload)
