"""The text in a file's bytes: UTF-8, or the pages of a PDF."""

from __future__ import annotations

import threading
from typing import Any

from ..errors import InvalidInput
from ..rules.text.readable import Readable, is_markdown, of_pages

_PDF, _PDF_TYPE = b"%PDF-", "application/pdf"
_HEAD = 1_024  # bytes in which a PDF says that it is one
# PDFium is not safe for threads.
_one_at_a_time = threading.Lock()


def read_bytes(data: bytes, *, name: str, most_pages: int, media_type: str | None = None) -> Readable:
    """The text of a file that has this name, of a PDF that of its first `most_pages` pages.

    Raises `InvalidInput` for what is neither UTF-8 nor a PDF, for a PDF that is broken, locked or has no text, and for any
    where the extra `pdf` is not installed.
    """
    if media_type == _PDF_TYPE or _PDF in data[:_HEAD]:
        return of_pages(_pages(data, most_pages))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"expected UTF-8 or a PDF, got another encoding at byte {error.start}; convert it first"
        ) from None
    return Readable(text, is_markdown=is_markdown(name, media_type))


def _pages(data: bytes, most_pages: int) -> list[str]:
    try:
        import pypdfium2 as pdfium
    except ImportError:
        raise InvalidInput('expected a text, got a PDF, which needs PDFium: pip install "htm-memory[pdf]"') from None
    try:
        with _one_at_a_time, pdfium.PdfDocument(data) as document:
            pages = [_page(document, at) for at in range(min(len(document), most_pages))]
    except pdfium.PdfiumError as error:
        raise InvalidInput(
            f"expected a PDF that can be opened, got one that cannot ({error}); save it anew, without a password"
        ) from None
    if not any(each.strip() for each in pages):
        raise InvalidInput("expected a PDF with text, got one without, as a scan is; recognise its text first")
    return pages


def _page(document: Any, at: int) -> str:
    page = document[at]
    words = page.get_textpage()
    try:
        found = str(words.get_text_bounded())
    finally:
        words.close()
        page.close()
    return found.replace("\r\n", "\n").replace("\x00", " ").encode("utf-8", "replace").decode()
