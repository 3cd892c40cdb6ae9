"""An index store: what LlamaIndex needs to open an index again."""

from __future__ import annotations

from typing import Any, Self, Unpack

from llama_index.core.storage.index_store.keyval_index_store import KVIndexStore

from htm_core.prompt.option_names import with_options
from htm_core.prompt.scope import StoreOptions

from .kv_store import HTMKVStore


class HTMIndexStore(KVIndexStore):
    """Keep the structures of indexes:
    `StorageContext.from_defaults(index_store=HTMIndexStore(), …)`.

    Args:
        namespace: The store's own name, "index_store" by default. Everyone of the tenant who names
            it has the same one.
        store: Options of the memory that it works on.

    `load_index_from_storage` opens the index in another process. Where a store has several, give
    them ids of your own: `index.set_index_id("handbook")`. It is serialised as configuration, never
    with an address; a copy is the same store.
    Raises `InvalidInput` and `StorageError`.
    """

    @with_options(StoreOptions, tenant="default")
    def __init__(self, *, namespace: str | None = None, **store: Unpack[StoreOptions]) -> None:
        super().__init__(HTMKVStore(namespace="index_store", **store), namespace)

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self
