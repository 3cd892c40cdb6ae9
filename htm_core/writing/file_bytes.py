"""The text in a file's bytes: UTF-8, or the pages of a PDF."""

from __future__ import annotations

import importlib.util
import json
import logging
import subprocess
import sys
from pathlib import PurePath

from ..base import time_limit
from ..base.errors import InvalidInput
from ..base.folding import legible
from ..base.limits import FILE_BYTES
from ..text.known_files import is_pdf, may_be_pdf
from ..text.readable import Readable, is_markdown, of_pages, plain_type
from . import pdf_pages

_log = logging.getLogger("htm.files")

_PDF_TYPE = "application/pdf"
_PATIENCE = 4 * pdf_pages.SECONDS  # for its process, on a busy machine


class UnreadPdf(InvalidInput):
    """A PDF that takes too long, or too much memory, to be read: nobody knows what is in it.

    `is_late` says that it was the time which was left: it may be read when there is more.
    """

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


def can_read_pdfs() -> bool:
    """True if the extra `pdf` is installed."""
    return importlib.util.find_spec("pypdfium2") is not None


def read_bytes(
    data: bytes, *, name: str, most_pages: int, media_type: str | None = None
) -> Readable:
    """The text of a file that has this name, of a PDF that of its first `most_pages` pages.

    A PDF is read in a process of its own, with 5 s of CPU time and 1 GB of memory at most. Raises
    `InvalidInput` for what is neither UTF-8 nor a PDF or has more than 32 MB, for a PDF that is
    broken, locked, has no text or takes more than that (`UnreadPdf`), and for any where the extra
    `pdf` is not installed.
    """
    if len(data) > FILE_BYTES:
        raise InvalidInput(
            f"expected a file of at most {FILE_BYTES:,} bytes, got {len(data):,}; divide it"
        )
    if _is_pdf(data, name, media_type):
        return of_pages(_pages(data, most_pages))
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")  # as editors and git leave them
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"expected UTF-8 or a PDF, got another encoding at byte {error.start}; convert it first"
        ) from None
    return Readable(text, is_markdown=is_markdown(name, media_type))


def _is_pdf(data: bytes, name: str, media_type: str | None) -> bool:
    is_called_one = plain_type(media_type) == _PDF_TYPE or PurePath(name).suffix.lower() == ".pdf"
    return is_pdf(data) or (is_called_one and may_be_pdf(data))


def _pages(data: bytes, most_pages: int) -> list[str]:
    if not can_read_pdfs():
        raise InvalidInput(
            'expected a text, got a PDF, which needs PDFium: pip install "htm-memory[pdf]"'
        )
    command = [
        sys.executable,
        "-I",
        "-B",
        pdf_pages.__file__,
        str(most_pages),
        json.dumps(sys.path),
    ]
    try:
        # Half of the time, so that the message that it came with can be written without it.
        patience = min(_PATIENCE, time_limit.awaited_for() / 2)
        with time_limit.uncounted():  # an import of many files takes as long as they do
            done = subprocess.run(
                command, input=data, capture_output=True, timeout=patience, check=False
            )
    except subprocess.TimeoutExpired:
        why = (
            "expected a PDF that can be read, got one that takes too long to read; print it "
            "anew, or divide it"
        )
        raise UnreadPdf(why, is_late=True) from None
    if done.returncode == pdf_pages.FAILED:
        why = done.stdout.decode("utf-8", "replace")
        raise InvalidInput(
            f"expected a PDF that can be read, got one that cannot be opened ({why:.200}); save "
            "it anew, without a password"
        )
    if done.returncode != 0:
        raise UnreadPdf(
            "expected a PDF that can be read, got one that takes too much time or memory to read; "
            "print it anew, or divide it"
        )
    result = json.loads(done.stdout)
    if result["of"] > most_pages:
        _log.warning(
            "of a PDF of %d pages, the first %d alone are read; divide it to have all of it",
            result["of"],
            most_pages,
        )
    pages = [legible(each.replace("\r\n", "\n")) for each in result["pages"]]
    if not any(each.strip() for each in pages):
        raise InvalidInput(
            "expected a PDF with text, got one without, as a scan is; recognise its text first"
        )
    return pages
