"""Nodes as items of a collection, and back."""

from __future__ import annotations

import json
import math
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
from htm_core.prompt.exact_json import decode_value, encode_value, jsonb_number
from htm_core.prompt.messages import legible, storable

_CLASSES: dict[str, type[BaseNode]] = {
    each.class_name(): each
    for each in (Document, ImageDocument, ImageNode, IndexNode, Node, TextNode)
}
_CONTENT = "_node_content"
_TYPE = "_node_type"
# In a payload: metadata with NaN or infinities, for which LlamaIndex writes null.
_METADATA = "htm_metadata"


def item_of(node: BaseNode, *, flat: bool) -> CollectionItem:
    """The item that stores a node: its text to search, its metadata to filter by, and the exact
    rest as payload.

    The metadata has what LlamaIndex's own stores add to it, so filters on `ref_doc_id` work too.
    The collection embeds a node that has no embedding. Filters see U+FFFD for a NUL, and null for
    NaN and infinities; the node comes back with them.
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    content = legible(text)
    metadata = node_to_metadata_dict(node, remove_text=content == text, flat_metadata=flat)
    exact = json.loads(metadata.pop(_CONTENT))
    if not _is_finite(node.metadata):  # LlamaIndex writes null
        exact[_METADATA] = encode_value(node.metadata)
    return CollectionItem(
        id=node.node_id,
        content=content,
        payload=json.dumps(exact, separators=(",", ":")).encode("ascii"),
        metadata=filterable(metadata),
        reference=node.ref_doc_id,
        vector=node.embedding,
    )


def node_of(item: CollectionItem) -> BaseNode:
    """The node of an item, equal to the one that was added except for its embedding; a fresh object
    each time.
    """
    if item.payload is None:  # put into the collection by other means
        return TextNode(id_=item.id or "", text=item.content, metadata=dict(item.metadata))
    kind = _CLASSES.get(str(item.metadata.get(_TYPE)), TextNode)
    data = json.loads(item.payload)
    exact = data.pop(_METADATA, None)
    node: Any = kind.from_dict(data)
    if exact is not None:
        node.metadata = decode_value(exact)
    if item.content and not node.get_content(metadata_mode=MetadataMode.NONE):
        node.set_content(item.content)
    return cast(BaseNode, node)


def filterable(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata as filters see it: with the nearest values that `jsonb` has."""
    return {storable(str(key)): _filterable(value) for key, value in metadata.items()}


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return all(map(_is_finite, parts))


def _filterable(value: Any) -> Any:
    """A value as filters see it: the nearest one that `jsonb` has."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return jsonb_number(value)
    if isinstance(value, dict):
        return filterable(value)
    return [_filterable(each) for each in value] if isinstance(value, list | tuple) else value
