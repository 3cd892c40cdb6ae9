"""LlamaIndex's nodes as memories that recall finds, marked as what they are: pages and files, and
nobody's words.
"""

from __future__ import annotations

from collections.abc import Iterable

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from htm_core import Draft, InvalidInput
from htm_core.prompt.messages import storable, storable_name
from htm_core.prompt.origin import document_source

from .nodes import filterable


def node_drafts(nodes: Iterable[BaseNode | NodeWithScore]) -> list[Draft]:
    """Drafts of nodes and documents for `Memory.remember_many`, so that recall finds them beside
    what was said.

    Args:
        nodes: The nodes, with or without a score; those without words are left out.

    One with a web address among its metadata (`url`, `source` …), or whose document has one as its
    id, is of the source "web", one with a path "file", any other "import". Nothing that its
    metadata says makes it a user's words. Raises `InvalidInput` for what is no node.

        memory.remember_many(node_drafts(SimpleDirectoryReader("notes").load_data()))
    """
    bare = [each.node if isinstance(each, NodeWithScore) else each for each in nodes]
    return [_draft(each) for each in bare if _words(each).strip()]


def _draft(node: BaseNode) -> Draft:
    address = node.ref_doc_id or node.node_id
    source = document_source(node.metadata, address=address)
    metadata = filterable(node.metadata)
    # web readers have the address as the document's id
    if source == "web" and document_source(node.metadata) != "web":
        metadata["url"] = address
    return Draft(
        content=storable(_words(node)),
        id=storable_name(node.node_id),
        metadata=metadata,
        source=source,
    )


def _words(node: BaseNode) -> str:
    if not isinstance(node, BaseNode):
        raise InvalidInput(
            f"expected nodes of LlamaIndex, got {type(node).__name__}; make a TextNode of it"
        )
    return node.get_content(metadata_mode=MetadataMode.NONE)
