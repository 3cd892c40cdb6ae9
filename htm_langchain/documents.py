"""The document of an item of a collection. `htm_core.prompt.documents` makes the item."""

from __future__ import annotations

from langchain_core.documents import Document

from htm_core import CollectionItem
from htm_core.prompt.documents import FORMAT
from htm_core.prompt.exact_json import decode_value
from htm_core.prompt.messages import read_payload


def document_of(item: CollectionItem) -> Document:
    """The document of an item, equal to the one that was added; a fresh object each time."""
    exact = read_payload(item.payload, FORMAT)
    if exact is None:  # nothing had to be changed, or it was put there by other means
        return Document(id=item.id, page_content=item.content, metadata=dict(item.metadata))
    return Document(
        id=item.id,
        page_content=decode_value(exact["text"]),
        metadata=decode_value(exact["metadata"]),
    )
