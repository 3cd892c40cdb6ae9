"""A document store: the documents and nodes of indexes and ingestion pipelines, with
their hashes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from llama_index.core.constants import DATA_KEY
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo
from llama_index.core.storage.docstore.utils import doc_to_json, json_to_doc

from htm_core import CollectionItem, InvalidInput
from htm_core.prompt import payloads
from htm_core.prompt.exact_json import decode_value
from htm_core.prompt.option_names import with_options
from htm_core.prompt.payloads import Place
from htm_core.prompt.scope import StoreOptions

from .stored import Stored, exact, value_of

DEFAULT_NAMESPACE = "docstore"
BATCH = payloads.MOST_ITEMS // 3  # a node is up to three items
_ROOT = "docs"
# Below a store's namespace: nodes with their texts; hashes; and which node is a part of which
# source document, a row for each, so that two who add parts of one document never undo each other's
# work.
_NODES, _HASHES, _PARTS = "data", "metadata", "ref_doc_info"
_METADATA = "metadata"  # of a node, among its fields


class HTMDocumentStore(BaseDocumentStore):
    """Keep documents and nodes, with their hashes, for `IngestionPipeline`, `StorageContext` and
    any index.

    Args:
        namespace: The store's own name, "docstore" by default. Everyone of the tenant who names it
            has the same one.
        store: Options of the memory that it works on.

    A node is no memory, and recall never finds it. Nodes come back as they were, with their
    relationships, embeddings and every type in their metadata. Several processes may write at once.
    It is serialised as configuration, never with an address; a copy is the same store. Raises
    `InvalidInput`, `StorageError`, and `ValueError` for what is not there.

        memory = Memory("librarian")
        pipeline = IngestionPipeline(
            transformations=[SentenceSplitter(), HTMEmbedding(memory)],
            docstore=HTMDocumentStore(memory=memory),
            vector_store=HTMVectorStore(memory=memory),
            cache=IngestionCache(cache=HTMKVStore(memory=memory)),
        )
    """

    @with_options(StoreOptions, tenant="default")
    def __init__(self, *, namespace: str | None = None, **store: Unpack[StoreOptions]) -> None:
        self._stored = Stored(store, of=type(self).__name__)
        self._namespace = namespace or DEFAULT_NAMESPACE

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(tenant={self._stored.tenant!r}, namespace={self._namespace!r})"
        )

    # -- documents and nodes -----------------------------------------------------------------------

    @property
    def docs(self) -> dict[str, BaseNode]:
        """All documents and nodes by their ids, in the order in which they were first added."""
        return {str(item.id): _node_of(item) for item in self._below(_NODES)}

    def add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,
        batch_size: int | None = None,
        store_text: bool = True,
    ) -> None:
        """Add documents or nodes: all of them, or on an error none.

        Args:
            docs: The documents or nodes. One with a known id replaces the old one.
            allow_update: With False, a known id raises `ValueError`, and nothing is added.
            batch_size: How many are written in one transaction, 3,333 by default; together they
                have at most 240 MB there. With more there are several.
            store_text: With False only hashes are kept, and which node belongs to which document.
        """
        if batch_size is not None and (
            isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1
        ):
            raise InvalidInput(
                f"expected batch_size to be a whole number above zero, got {batch_size!r}"
            )
        nodes = list({node.node_id: node for node in docs}.values())
        if not allow_update:
            self._refuse_known([node.node_id for node in nodes])
        batch = batch_size or BATCH
        for start in range(0, len(nodes), batch):
            items = [
                item
                for node in nodes[start : start + batch]
                for item in self._items(node, store_text=store_text)
            ]
            self._stored.put(items, most=max(3 * batch, 1))

    def get_document(self, doc_id: str, raise_error: bool = True) -> BaseNode | None:
        """A document or node by its id. One that is not there raises `ValueError`, or with
        `raise_error=False` is None.
        """
        place = self._place(_NODES, doc_id)
        item = self._stored.get([place]).get(place)
        if item is None and raise_error:
            raise ValueError(_missing("doc_id", doc_id))
        return None if item is None else _node_of(item)

    def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
        """Nodes by their ids, in this order, by one query.

        One that is not there raises `ValueError`, or with `raise_error=False` is left out.
        """
        items = self._stored.get([self._place(_NODES, id) for id in node_ids])
        missing = next((id for id in node_ids if self._place(_NODES, id) not in items), None)
        if missing is not None and raise_error:
            raise ValueError(_missing("node_id", missing))
        places = [self._place(_NODES, id) for id in node_ids]
        return [_node_of(items[place]) for place in places if place in items]

    def document_exists(self, doc_id: str) -> bool:
        """True if there is a document or node with this id."""
        return bool(self._stored.collection.get([self._place(_NODES, doc_id)]))

    def delete_document(self, doc_id: str, raise_error: bool = True) -> None:
        """Delete a document or node with its hash. With the last node of a source document, this
        one goes too.

        One of which nothing is known raises `ValueError`, but not with `raise_error=False`.
        """
        part = self._stored.collection.get([self._place(_PARTS, doc_id)])
        gone = payloads.delete(self._stored.collection, self._places([doc_id]))
        source = part[0].reference if part else None
        if source is not None and not self._parts_of([source]):
            payloads.delete(self._stored.collection, self._places([source]))
        if not gone and raise_error:
            raise ValueError(_missing("doc_id", doc_id))

    # -- hashes ------------------------------------------------------------------------------------

    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        """Set the hash of a document, which need not be here."""
        self.set_document_hashes({doc_id: doc_hash})

    def set_document_hashes(self, doc_hashes: dict[str, str]) -> None:
        """Set the hashes of many documents, all of them, or on an error none."""
        self._stored.put([self._hash(id, each) for id, each in doc_hashes.items()])

    def get_document_hash(self, doc_id: str) -> str | None:
        """The hash of a document; None if it is not known."""
        items = self._stored.collection.get([self._place(_HASHES, doc_id)])
        return str(items[0].value["doc_hash"]) if items else None

    def get_all_document_hashes(self) -> dict[str, str]:
        """The ids of all documents by their hashes. Of several with one hash it is the id that was
        added last.
        """
        return {str(item.value["doc_hash"]): str(item.id) for item in self._below(_HASHES)}

    # -- source documents --------------------------------------------------------------------------

    def get_all_ref_doc_info(self) -> dict[str, RefDocInfo] | None:
        """The nodes and the metadata of all source documents, by their ids."""
        return _gathered(self._below(_PARTS))

    def get_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        """The nodes and the metadata of a source document; None if no node of it is here."""
        return _gathered(self._parts_of([ref_doc_id])).get(ref_doc_id)

    def ref_doc_exists(self, ref_doc_id: str) -> bool:
        """True if there are nodes of this source document."""
        return bool(self._parts_of([ref_doc_id]))

    def delete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:
        """Delete a source document with all of its nodes, in one transaction.

        One without nodes raises `ValueError`, but not with `raise_error=False`.
        """
        nodes = [str(item.id) for item in self._parts_of([ref_doc_id])]
        if not nodes:
            if raise_error:
                raise ValueError(_missing("ref_doc_id", ref_doc_id))
            return
        payloads.delete(self._stored.collection, self._places([*nodes, ref_doc_id]))

    # -- items -------------------------------------------------------------------------------------

    def _items(self, node: BaseNode, *, store_text: bool) -> Iterable[CollectionItem]:
        id, source = node.node_id, node.ref_doc_id
        if store_text:
            yield self._stored.item(self._place(_NODES, id), _written(node), reference=source)
        if source:
            yield self._stored.item(self._place(_PARTS, id), exact(node.metadata), reference=source)
        yield self._hash(id, node.hash)

    def _hash(self, id: str, doc_hash: str) -> CollectionItem:
        namespace, id = self._place(_HASHES, id)
        return CollectionItem(id=id, namespace=namespace, value={"doc_hash": doc_hash}, index=False)

    def _refuse_known(self, ids: list[str]) -> None:
        known = self._stored.collection.get([self._place(_NODES, id) for id in ids]) if ids else []
        if known:
            raise ValueError(
                f"node_id {known[0].id} already exists. Set allow_update to True to overwrite it."
            )

    def _labels(self, part: str) -> tuple[str, ...]:
        return (_ROOT, self._namespace, part)

    def _place(self, part: str, id: str) -> Place:
        return self._labels(part), id

    def _places(self, ids: Iterable[str]) -> list[Place]:
        return [self._place(part, id) for id in ids for part in (_NODES, _HASHES, _PARTS)]

    def _below(self, part: str) -> Iterable[CollectionItem]:
        return payloads.read_below(self._stored.collection, self._labels(part))

    def _parts_of(self, sources: list[str]) -> list[CollectionItem]:
        hits = self._stored.collection.query(
            references=sources, namespace=self._labels(_PARTS), limit=None
        )
        return [hit.item for hit in hits]

    # -- awaited, on threads, so that no connection belongs to an event loop -----------------------

    async def async_add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,
        batch_size: int | None = None,
        store_text: bool = True,
    ) -> None:
        """`add_documents`, awaited."""
        await asyncio.to_thread(self.add_documents, docs, allow_update, batch_size, store_text)

    async def aget_document(self, doc_id: str, raise_error: bool = True) -> BaseNode | None:
        """`get_document`, awaited."""
        return await asyncio.to_thread(self.get_document, doc_id, raise_error)

    async def aget_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
        """`get_nodes`, awaited."""
        return await asyncio.to_thread(self.get_nodes, node_ids, raise_error)

    async def adocument_exists(self, doc_id: str) -> bool:
        """`document_exists`, awaited."""
        return await asyncio.to_thread(self.document_exists, doc_id)

    async def adelete_document(self, doc_id: str, raise_error: bool = True) -> None:
        """`delete_document`, awaited."""
        await asyncio.to_thread(self.delete_document, doc_id, raise_error)

    async def aset_document_hash(self, doc_id: str, doc_hash: str) -> None:
        """`set_document_hash`, awaited."""
        await asyncio.to_thread(self.set_document_hash, doc_id, doc_hash)

    async def aset_document_hashes(self, doc_hashes: dict[str, str]) -> None:
        """`set_document_hashes`, awaited."""
        await asyncio.to_thread(self.set_document_hashes, doc_hashes)

    async def aget_document_hash(self, doc_id: str) -> str | None:
        """`get_document_hash`, awaited."""
        return await asyncio.to_thread(self.get_document_hash, doc_id)

    async def aget_all_document_hashes(self) -> dict[str, str]:
        """`get_all_document_hashes`, awaited."""
        return await asyncio.to_thread(self.get_all_document_hashes)

    async def aget_all_ref_doc_info(self) -> dict[str, RefDocInfo] | None:
        """`get_all_ref_doc_info`, awaited."""
        return await asyncio.to_thread(self.get_all_ref_doc_info)

    async def aget_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        """`get_ref_doc_info`, awaited."""
        return await asyncio.to_thread(self.get_ref_doc_info, ref_doc_id)

    async def aref_doc_exists(self, ref_doc_id: str) -> bool:
        """`ref_doc_exists`, awaited."""
        return await asyncio.to_thread(self.ref_doc_exists, ref_doc_id)

    async def adelete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:
        """`delete_ref_doc`, awaited."""
        await asyncio.to_thread(self.delete_ref_doc, ref_doc_id, raise_error)

    def __deepcopy__(self, memo: Any = None) -> HTMDocumentStore:
        return self


def _written(node: BaseNode) -> dict[str, Any]:
    """A node as LlamaIndex's own stores have it, but with every type in its metadata."""
    made: dict[str, Any] = doc_to_json(node)
    return {**made, DATA_KEY: {**made[DATA_KEY], _METADATA: exact(node.metadata)}}


def _node_of(item: CollectionItem) -> BaseNode:
    made = value_of(item)
    data = made[DATA_KEY]
    return json_to_doc({**made, DATA_KEY: {**data, _METADATA: decode_value(data[_METADATA])}})


def _gathered(parts: Iterable[CollectionItem]) -> dict[str, RefDocInfo]:
    """Nodes by their source document, with the metadata that they have together."""
    infos: dict[str, RefDocInfo] = {}
    for item in parts:
        info = infos.setdefault(str(item.reference), RefDocInfo())
        info.node_ids.append(item.id)
        info.metadata.update(decode_value(value_of(item)))
    return infos


def _missing(what: str, id: str) -> str:
    return f"{what} {id} not found."
