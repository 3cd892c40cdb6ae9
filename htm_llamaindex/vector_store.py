"""A vector store for query engines, on a collection of the memory's database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Self, Unpack

from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from pydantic import Field, PrivateAttr, field_serializer

from htm_core import Collection, CollectionHit, Memory
from htm_core.prompt.option_names import check_known, with_options
from htm_core.prompt.scope import StoreOptions, check_store, warn_of_user

from . import handles
from .filters import where_of
from .nodes import item_of, node_of
from .vector_search import search

_log = logging.getLogger("htm.llamaindex")


class HTMVectorStore(BasePydanticVectorStore):
    """Keep nodes with their vectors and words, for `VectorStoreIndex` and its query engines.

    Args:
        collection: The collection's name, "default" by default. Everyone of the tenant who names it
            has the same one.
        dim: The dimension of the vectors; by default that of the first ones.
        store: Options of the memory that it works on.

    A node can be found as soon as `add` returns. A node without an embedding is embedded by the
    memory's own model, and then queries are too. Similarities are in [0, 1]. It is serialised as
    configuration, never with an address; a copy is the same store. Raises `InvalidInput`,
    `DimensionMismatch`, `ModelError` and `StorageError`.

        store = HTMVectorStore(memory=Memory("atlas"), collection="manuals")
        index = VectorStoreIndex(nodes,
        storage_context=StorageContext.from_defaults(vector_store=store))
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False
    collection: str = "default"
    tenant: str = "default"
    dim: int | None = None
    handle: str | None = Field(
        default=None, description="under which name this process knows the memory"
    )

    _memory: Memory | None = PrivateAttr(default=None)
    _collection: Collection | None = PrivateAttr(default=None)

    @with_options(StoreOptions, tenant="default")
    def __init__(
        self, *, collection: str = "default", dim: int | None = None, **store: Unpack[StoreOptions]
    ) -> None:
        url, memory = check_store(store), store["memory"]
        warn_of_user(memory, of=type(self).__name__, log=_log)
        super().__init__(
            collection=Collection.check_name(collection),
            tenant=store["tenant"] if memory is None else memory.tenant,
            dim=dim,
            handle=handles.handle_of(memory, url),
        )  # type: ignore[call-arg]  # fields of this class
        self._memory = memory

    @field_serializer("handle")
    def _written_handle(self, handle: str | None) -> str:
        return handles.written(
            handle, lambda: handles.open_memory(self._memory, None, tenant=self.tenant)
        )

    @classmethod
    def class_name(cls) -> str:
        """The name under which it is serialised."""
        return "HTMVectorStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """A store from its configuration; `kwargs` take the place of what it says. Raises
        `InvalidInput` for what it never says.
        """
        check_known(kwargs, tuple(cls.model_fields), what="the configuration of a store")
        known = {**data, **kwargs}
        store = cls(collection=known["collection"], tenant=known["tenant"], dim=known["dim"])
        store.handle = known.get("handle")
        return store

    @property
    def client(self) -> Collection:
        """The collection behind it."""
        if self._collection is None:
            memory = handles.open_memory(self._memory, self.handle, tenant=self.tenant)
            self._collection = memory.collection(self.collection, dim=self.dim)
        return self._collection

    # -- writing -----------------------------------------------------------------------------------

    # LlamaIndex's indexes pass on what their callers gave them; the store has no options, and
    # ignores none.

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Put nodes in one transaction, and return their ids; a node with a known id replaces the
        old one.
        """
        check_known(kwargs, (), what="options of add")
        return self.client.put([item_of(node, flat=self.flat_metadata) for node in nodes])

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """Delete every node of a source document."""
        check_known(kwargs, (), what="options of delete")
        self.client.delete(references=[ref_doc_id])

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **kwargs: Any,
    ) -> None:
        """Delete nodes by their ids, by filters, or by both; an empty list deletes nothing."""
        check_known(kwargs, ("node_ids", "filters"), what="options of delete_nodes")
        self.client.delete(node_ids, where=where_of(filters))

    def clear(self) -> None:
        """Delete every node. After that, vectors may have another dimension."""
        self.client.clear()

    # -- reading -----------------------------------------------------------------------------------

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """The nodes of these ids, in their order, or those that satisfy the filters, in order of
        first adding.
        """
        if node_ids is not None and filters is None:
            return [node_of(item) for item in self.client.get(node_ids)]
        hits = self.client.query(ids=node_ids, where=where_of(filters), limit=None)
        return [node_of(hit.item) for hit in hits]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Find the nodes that answer a query, best first.

        Modes: "default" (by vector), "text_search" and "sparse" (by words), "hybrid" and
        "semantic_hybrid" (by both; `alpha` is the vector's weight), and "mmr" (relevant and unlike
        each other). Raises `InvalidInput` for another mode, and for filters and options that do not
        exist, by name.
        """
        return _result(search(self.client, query, kwargs))

    # -- awaited, on threads, so that no connection belongs to an event loop -----------------------

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """`add`, awaited."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """`delete`, awaited."""
        await asyncio.to_thread(self.delete, ref_doc_id, **kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **kwargs: Any,
    ) -> None:
        """`delete_nodes`, awaited."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **kwargs)

    async def aclear(self) -> None:
        """`clear`, awaited."""
        await asyncio.to_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """`get_nodes`, awaited."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """`query`, awaited."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    # -- copies ------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)


def _result(hits: Sequence[CollectionHit]) -> VectorStoreQueryResult:
    nodes = [node_of(hit.item) for hit in hits]
    return VectorStoreQueryResult(
        nodes=nodes,
        similarities=[hit.score or 0.0 for hit in hits],
        ids=[node.node_id for node in nodes],
    )
