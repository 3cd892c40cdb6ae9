"""A key-value store of bytes: for cached embeddings, and for the parents of the documents that a
retriever finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final, Self, Unpack

from langchain_core.stores import BaseStore

from htm_core import CollectionItem, InvalidInput
from htm_core.prompt import payloads
from htm_core.prompt.option_names import with_options
from htm_core.prompt.payloads import Place
from htm_core.prompt.scope import StoreOptions, memory_of_store

# The collection that all byte stores of a tenant share. No vector store can open a collection of
# this kind.
COLLECTION: Final = "bytes"
KIND: Final = "langchain"
PAGE = 10_000  # keys that are read at a time


class HTMByteStore(BaseStore[str, bytes]):
    """Keep bytes under keys: for `CacheBackedEmbeddings`, `MultiVectorRetriever` and
    `ParentDocumentRetriever`.

    Args:
        namespace: The store's own name, "default" by default. Everyone of the tenant who names it
            has the same one.
        store: Options of the memory that it works on.

    Keys are any text that is not empty, values bytes, at most 240 MB of them; with a redactor
    behind it, which reads them, 64. What is kept here is not a memory, and recall never finds it.
    Several processes may use it at once. Raises `InvalidInput` and `StorageError`.

        store = HTMByteStore(memory=Memory("atlas"), namespace="embeddings")
        cached = CacheBackedEmbeddings.from_bytes_store(embeddings, store, namespace="my-model-1")
    """

    @with_options(StoreOptions, tenant="default")
    def __init__(self, *, namespace: str = "default", **store: Unpack[StoreOptions]) -> None:
        self.memory = memory_of_store(store)
        self.namespace = namespace
        self._items = self.memory.collection(COLLECTION, kind=KIND)

    def __repr__(self) -> str:
        if not hasattr(self, "memory"):  # it could not be made, and an error report shows it
            return f"{type(self).__name__}()"
        return f"{type(self).__name__}(tenant={self.memory.tenant!r}, namespace={self.namespace!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of keys, in their order; None for a key without one."""
        places = [self._place(key) for key in keys]
        items = payloads.read(self._items, places)
        return [items[place].payload or b"" if place in items else None for place in places]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Put values under keys: all of `key_value_pairs`, or on an error none; a known key's is
        replaced.

        Of several with one key the last one counts. Up to 10,000 values and 240 MB are one
        transaction.
        """
        payloads.write(self._items, [self._item(key, value) for key, value in key_value_pairs])

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys with their values; those that are not there are ignored."""
        payloads.delete(self._items, [self._place(key) for key in keys])

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The keys that begin with `prefix`, or all, in no particular order. No value is read for
        it.
        """
        page = self._page(prefix, None)
        while page:
            yield from page
            page = self._page(prefix, page[-1])

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """`yield_keys`, awaited."""
        page = await asyncio.to_thread(self._page, prefix, None)
        while page:
            for key in page:
                yield key
            page = await asyncio.to_thread(self._page, prefix, page[-1])

    def _page(self, prefix: str | None, after: str | None) -> list[str]:
        return self._items.ids(
            namespace=(self.namespace,), prefix=prefix or "", after=after, limit=PAGE
        )

    def _item(self, key: str, value: Any) -> CollectionItem:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise InvalidInput(
                f"expected the value of {key!r:.80} to be bytes, got {type(value).__name__}; "
                "encode it first, or wrap this store "
                "in an EncoderBackedStore"
            )
        namespace, id = self._place(key)
        return CollectionItem(id=id, namespace=namespace, payload=bytes(value), index=False)

    def _place(self, key: str) -> Place:
        return (self.namespace,), key
