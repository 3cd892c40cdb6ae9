"""Nodes as documents of a collection, and back."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    TextNode,
)
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from htm_core import CollectionItem

_CLASSES: dict[str, type[BaseNode]] = {
    each.class_name(): each for each in (Document, ImageDocument, ImageNode, IndexNode, Node, TextNode)
}
_CONTENT = "_node_content"
_TYPE = "_node_type"


def item_of(node: BaseNode, *, flat: bool) -> CollectionItem:
    """The document that a node is kept as: its text to search, its metadata to filter by, the rest of it exactly.

    The metadata has what LlamaIndex's own stores add to it, so that filters on `ref_doc_id` work too. A node without an
    embedding is embedded by the collection.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    content = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    metadata = node_to_metadata_dict(node, remove_text=content == text, flat_metadata=flat)
    return CollectionItem(
        id=node.node_id,
        content=content,
        payload=_ascii(metadata.pop(_CONTENT)),
        metadata=metadata,
        reference=node.ref_doc_id,
        vector=node.embedding,
    )


def node_of(item: CollectionItem) -> BaseNode:
    """The node of a document, equal to the one that was added but for its embedding; a fresh object each time."""
    if item.payload is None:  # put into the collection by other means
        return TextNode(id_=item.id or "", text=item.content, metadata=dict(item.metadata))
    kind = _CLASSES.get(str(item.metadata.get(_TYPE)), TextNode)
    node = kind.from_dict(json.loads(item.payload))
    if item.content and not node.get_content(metadata_mode=MetadataMode.NONE):
        _set_text(node, item.content)
    return node


def _ascii(text: str) -> bytes:
    return json.dumps(json.loads(text), separators=(",", ":")).encode("ascii")


def _set_text(node: Any, text: str) -> None:
    node.set_content(text)
