"""Nodes as items of a collection, and back."""

from __future__ import annotations

import json
from typing import Any, cast

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
    """The item that stores a node: its text to search, its metadata to filter by, and the exact rest as payload.

    The metadata has what LlamaIndex's own stores add to it, so filters on `ref_doc_id` work too. The collection embeds a node
    that has no embedding.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    content = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    metadata = node_to_metadata_dict(node, remove_text=content == text, flat_metadata=flat)
    return CollectionItem(
        id=node.node_id,
        content=content,
        payload=json.dumps(json.loads(metadata.pop(_CONTENT)), separators=(",", ":")).encode("ascii"),
        metadata=metadata,
        reference=node.ref_doc_id,
        vector=node.embedding,
    )


def node_of(item: CollectionItem) -> BaseNode:
    """The node of an item, equal to the one that was added except for its embedding; a fresh object each time."""
    if item.payload is None:  # put into the collection by other means
        return TextNode(id_=item.id or "", text=item.content, metadata=dict(item.metadata))
    kind = _CLASSES.get(str(item.metadata.get(_TYPE)), TextNode)
    node: Any = kind.from_dict(json.loads(item.payload))
    if item.content and not node.get_content(metadata_mode=MetadataMode.NONE):
        node.set_content(item.content)
    return cast(BaseNode, node)
