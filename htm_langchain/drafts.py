"""LangChain's documents as memories that recall finds, marked as what they are: pages and files,
and nobody's words.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.documents import Document

from htm_core import Draft, InvalidInput
from htm_core.prompt.documents import jsonb_metadata
from htm_core.prompt.messages import storable, storable_name
from htm_core.prompt.origin import document_source


def document_drafts(documents: Iterable[Document]) -> list[Draft]:
    """Drafts of documents for `Memory.remember_many`, so that recall finds them beside what was
    said.

    Args:
        documents: The documents; those without words are left out.

    One with a web address among its metadata (`source`, `url` …) is of the source "web", one with a
    path "file", any other "import". Nothing that its metadata says makes it a user's words.
    Metadata is kept as JSON has it. Raises `InvalidInput` for what is no document.

        memory.remember_many(document_drafts(WebBaseLoader("https://example.org").load()))
    """
    return [_draft(each) for each in documents if _checked(each).page_content.strip()]


def _draft(document: Document) -> Draft:
    return Draft(
        content=storable(document.page_content),
        id=storable_name(document.id),
        metadata=jsonb_metadata(document.metadata),
        source=document_source(document.metadata),
    )


def _checked(document: Document) -> Document:
    if not isinstance(document, Document):
        raise InvalidInput(
            f"expected documents of LangChain, got {type(document).__name__}; make a Document of it"
        )
    return document
