"""Reads the pages of a PDF in a process of its own: PDFium is C++, and strangers send PDFs.

`python pdf_pages.py PAGES PATHS` takes the PDF from its standard input and writes the texts of its
first pages as JSON. PATHS are the places of the modules, as JSON. What takes too much memory or
time ends this process alone.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SECONDS, BYTES = 5, 1 << 30  # of CPU time and of memory at most
FAILED = 3  # exit code: the PDF cannot be opened; the standard output says why


def main(arguments: list[str]) -> int:
    """Read one PDF."""
    pages, paths = int(arguments[0]), json.loads(arguments[1])
    sys.path[:] = paths
    _limit()
    import pypdfium2 as pdfium

    try:
        with pdfium.PdfDocument(sys.stdin.buffer.read()) as document:
            texts = [_page(document, at) for at in range(min(len(document), pages))]
            sys.stdout.write(json.dumps({"pages": texts, "of": len(document)}))
    except pdfium.PdfiumError as error:
        sys.stdout.write(str(error))
        return FAILED
    return 0


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if sys.platform != "darwin":  # where a limit on memory is refused
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _page(document: Any, at: int) -> str:
    page = document[at]
    words = page.get_textpage()
    try:
        return str(words.get_text_bounded())
    finally:
        words.close()
        page.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
