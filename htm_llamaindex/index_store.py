"""An index store: what LlamaIndex needs to open an index again."""

from __future__ import annotations

from typing import Any, Self

from llama_index.core.storage.index_store.keyval_index_store import KVIndexStore
from pydantic import SecretStr

from htm_core import Memory

from .kv_store import HTMKVStore


class HTMIndexStore(KVIndexStore):
    """Keep the structures of indexes: `StorageContext.from_defaults(index_store=HTMIndexStore(), …)`.

    Args:
        memory: The memory to use; its user does not matter. Otherwise one is made of `url` and `tenant`; both at once raise
            `InvalidInput`.
        url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
        tenant: The tenant, "default" by default.
        namespace: The store's own name, "index_store" by default. Everyone of the tenant who names it has the same one.

    `load_index_from_storage` opens the index in another process. Where a store has several, give them ids of your own:
    `index.set_index_id("handbook")`. It is serialised as configuration, never with an address; a copy is the same store.
    Raises `InvalidInput` and `StorageError`.
    """

    def __init__(
        self,
        *,
        memory: Memory | None = None,
        url: str | SecretStr | None = None,
        tenant: str = "default",
        namespace: str | None = None,
    ) -> None:
        super().__init__(HTMKVStore(memory=memory, url=url, tenant=tenant, namespace="index_store"), namespace)

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self
