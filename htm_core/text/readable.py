"""The text of a file, and how it is cut: Markdown by its structure, a PDF page by page, any other
by paragraphs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..base.folding import has_words
from .markdown import Chunk, chunks, front_matter, plain_chunks
from .redaction.pdfs import redact_pages
from .redaction.redactor import Redactor

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mdx", ".qmd", ".rmd"})
_MARKDOWN_TYPES = frozenset({"text/markdown", "text/x-markdown"})
_BETWEEN_PAGES = "\n\n"


@dataclass(frozen=True, slots=True)
class Readable:
    """The text of a file. Of a PDF, `pages` is where each page begins, in characters."""

    text: str
    is_markdown: bool = False
    pages: tuple[int, ...] = ()

    def without_secrets(self, redactor: Redactor) -> Readable:
        """The same file without what is redacted, which is looked for in the whole text, or in
        pages and across their ends.
        """
        if not self.pages:
            return Readable(redactor.redact(self.text).text, is_markdown=self.is_markdown)
        return of_pages(redact_pages(redactor, self.each_page()))

    def each_page(self) -> list[str]:
        """The texts of a PDF's pages."""
        ends = (*self.pages[1:], len(self.text))
        return [self.text[start:end] for start, end in zip(self.pages, ends, strict=True)]

    def front(self) -> tuple[dict[str, Any], int]:
        """The front matter of Markdown, and where the rest begins; raises `InvalidInput` where it
        cannot be read.
        """
        return front_matter(self.text) if self.is_markdown else ({}, 0)

    def chunks(self, start: int = 0) -> list[Chunk]:
        """The text from `start` on in chunks that have something to see, of a PDF each within its
        page.
        """
        return [
            each for each in self._chunks(start) if has_words(self.text[each.start : each.stop])
        ]

    def _chunks(self, start: int) -> list[Chunk]:
        if self.is_markdown:
            return chunks(self.text, start=start)
        if not self.pages:
            return plain_chunks(self.text)
        return [
            Chunk(begin + each.start, begin + each.stop)
            for begin, page in zip(self.pages, self.each_page(), strict=True)
            for each in plain_chunks(page)
        ]

    def place(self, chunk: Chunk) -> dict[str, Any]:
        """Where a chunk is in its file, as metadata: the headings above it, and in a PDF the number
        of its page, from 1.
        """
        headings = {"headings": list(chunk.headings)}
        return (
            {**headings, "page": bisect_right(self.pages, chunk.start)} if self.pages else headings
        )


def of_pages(pages: Sequence[str]) -> Readable:
    """A file of these pages."""
    begins, text = [], ""
    for page in pages:
        begins.append(len(text))
        text += page.rstrip() + _BETWEEN_PAGES
    return Readable(text, pages=tuple(begins))


def is_markdown(name: str | None, media_type: str | None = None) -> bool:
    """True if a file of this name and type is Markdown."""
    return (
        PurePath(name or "").suffix.lower() in MARKDOWN or plain_type(media_type) in _MARKDOWN_TYPES
    )


def plain_type(media_type: str | None) -> str | None:
    """A media type without its parameters, in small letters: of `text/Markdown; charset=utf-8` the
    first two words.
    """
    return None if media_type is None else media_type.partition(";")[0].strip().lower()
