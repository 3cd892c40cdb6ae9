"""A key-value store: what an ingestion pipeline's cache and LlamaIndex's other stores
are kept in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Unpack

from llama_index.core.storage.kvstore.types import DEFAULT_COLLECTION, BaseKVStore

from htm_core import InvalidInput
from htm_core.prompt import payloads
from htm_core.prompt.option_names import with_options
from htm_core.prompt.payloads import Place
from htm_core.prompt.scope import StoreOptions

from .stored import Stored, value_of

DEFAULT_NAMESPACE = "kvstore"
_ROOT = "kv"


class HTMKVStore(BaseKVStore):
    """Keep values under keys in collections: `IngestionCache(cache=HTMKVStore())`.

    Args:
        namespace: The store's own name, "kvstore" by default. Everyone of the tenant who names it
            has the same one.
        store: Options of the memory that it works on.

    A value is a dict of JSON's types; datetimes, bytes, sets and the like come back too. It has at
    most 240 MB, from 1 MB on compressed. Keys are any text. What is kept here is not a memory, and
    recall never finds it. It is serialised as configuration, never with an address; a copy is the
    same store. Raises `InvalidInput` and `StorageError`.

        cache = IngestionCache(cache=HTMKVStore(memory=Memory("atlas")))
        pipeline = IngestionPipeline(transformations=[SentenceSplitter()], cache=cache)
    """

    @with_options(StoreOptions, tenant="default")
    def __init__(self, *, namespace: str | None = None, **store: Unpack[StoreOptions]) -> None:
        self._stored = Stored(store, of=type(self).__name__)
        self._namespace = namespace or DEFAULT_NAMESPACE

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(tenant={self._stored.tenant!r}, namespace={self._namespace!r})"
        )

    def put(self, key: str, val: dict[str, Any], collection: str = DEFAULT_COLLECTION) -> None:
        """Put one value; a known key's is replaced."""
        self.put_all([(key, val)], collection)

    def put_all(
        self,
        kv_pairs: list[tuple[str, dict[str, Any]]],
        collection: str = DEFAULT_COLLECTION,
        batch_size: int = payloads.MOST_ITEMS,
    ) -> None:
        """Put many values: all of them, or on an error none. Of several with one key the last one
        counts.

        Args:
            kv_pairs: Keys with their values.
            collection: The collection that they go to.
            batch_size: How many are written in one transaction, 10,000 by default; together they
                have at most 240 MB there. With more there are several, in the order of the pairs.
        """
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise InvalidInput(
                f"expected batch_size to be a whole number above zero, got {batch_size!r}"
            )
        items = [
            self._stored.item(self._place(key, collection), _checked(val, key))
            for key, val in kv_pairs
        ]
        self._stored.put(items, most=batch_size)

    def get(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """The value of a key, a fresh dict each time; None if there is none."""
        place = self._place(key, collection)
        item = self._stored.get([place]).get(place)
        return None if item is None else value_of(item)

    def get_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """All values of a collection by their keys, in the order in which these were first put."""
        items = payloads.read_below(self._stored.collection, self._labels(collection))
        return {str(item.id): value_of(item) for item in items}

    def delete(self, key: str, collection: str = DEFAULT_COLLECTION) -> bool:
        """Delete a key with its value; answers whether it was there."""
        return payloads.delete(self._stored.collection, [self._place(key, collection)]) > 0

    def _labels(self, collection: str) -> tuple[str, ...]:
        return (_ROOT, self._namespace, collection)

    def _place(self, key: str, collection: str) -> Place:
        return self._labels(collection), key

    # -- awaited, on threads, so that no connection belongs to an event loop -----------------------

    async def aput(
        self, key: str, val: dict[str, Any], collection: str = DEFAULT_COLLECTION
    ) -> None:
        """`put`, awaited."""
        await asyncio.to_thread(self.put, key, val, collection)

    async def aput_all(
        self,
        kv_pairs: list[tuple[str, dict[str, Any]]],
        collection: str = DEFAULT_COLLECTION,
        batch_size: int = payloads.MOST_ITEMS,
    ) -> None:
        """`put_all`, awaited."""
        await asyncio.to_thread(self.put_all, kv_pairs, collection, batch_size)

    async def aget(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """`get`, awaited."""
        return await asyncio.to_thread(self.get, key, collection)

    async def aget_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """`get_all`, awaited."""
        return await asyncio.to_thread(self.get_all, collection)

    async def adelete(self, key: str, collection: str = DEFAULT_COLLECTION) -> bool:
        """`delete`, awaited."""
        return await asyncio.to_thread(self.delete, key, collection)

    def __deepcopy__(self, memo: Any = None) -> HTMKVStore:
        return self


def _checked(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"expected the value of {key!r:.80} to be a dict, got {type(value).__name__}; wrap "
            f"it: {{'value': …}}"
        )
    return dict(value)
