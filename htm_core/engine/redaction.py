"""A redactor's work on what is stored, with the files in a message's payload, of which PDFs are read in a process of their own."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

from ..errors import InvalidInput
from ..rules.limits import ATTACHED_PAGES
from ..rules.redaction import values
from ..rules.redaction.redactor import Redactor
from ..types import Draft
from .file_bytes import read_bytes

KNOWN = 16  # PDFs of which the pages are kept in mind: a client sends its history again with each turn

_lock = threading.Lock()
_pages: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()


def redact_draft(draft: Draft, redactor: Redactor | None) -> Draft:
    """A draft without what is redacted (see `htm_core.rules.redaction.values.redact_draft`), PDFs in its payload too."""
    return values.redact_draft(draft, redactor, pages_of=pages_of)


def redact_payload(payload: bytes, redactor: Redactor | None) -> bytes:
    """A payload without what is redacted, as it is stored."""
    return payload if redactor is None else values.Counted(redactor, pages_of=pages_of).payload(payload)


def pages_of(pdf: bytes) -> Sequence[str]:
    """The texts of the first pages of a PDF; none of one that cannot be read."""
    digest = hashlib.sha256(pdf).digest()
    with _lock:
        known = _pages.get(digest)
    if known is None:
        try:
            known = tuple(read_bytes(pdf, name="", most_pages=ATTACHED_PAGES).each_page())
        except InvalidInput:
            known = ()
        with _lock:
            _pages[digest] = known
            while len(_pages) > KNOWN:
                _pages.popitem(last=False)
    return known
