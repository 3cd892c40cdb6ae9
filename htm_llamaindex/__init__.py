"""Memory for LlamaIndex: chat engines, agents and query engines over one `htm_core.Memory`.

Nothing of LlamaIndex is imported before a name of this package is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import htm_core

if TYPE_CHECKING:
    from .block import HTMMemoryBlock
    from .chat_store import HTMChatStore
    from .document_store import HTMDocumentStore
    from .drafts import node_drafts
    from .embedder import HTMEmbedding
    from .index_store import HTMIndexStore
    from .kv_store import HTMKVStore
    from .memory import HTMMemory
    from .palace_tools import HTMPalaceToolSpec
    from .retriever import HTMRetriever
    from .tools import HTMToolSpec
    from .vector_store import HTMVectorStore

__all__ = [
    "HTMChatStore",
    "HTMDocumentStore",
    "HTMEmbedding",
    "HTMIndexStore",
    "HTMKVStore",
    "HTMMemory",
    "HTMMemoryBlock",
    "HTMPalaceToolSpec",
    "HTMRetriever",
    "HTMToolSpec",
    "HTMVectorStore",
    "node_drafts",
]

# The version of all three packages, which are one distribution.
__version__ = htm_core.__version__

_MODULES = {
    "HTMChatStore": "chat_store",
    "HTMDocumentStore": "document_store",
    "HTMEmbedding": "embedder",
    "HTMIndexStore": "index_store",
    "HTMKVStore": "kv_store",
    "HTMMemory": "memory",
    "HTMMemoryBlock": "block",
    "HTMPalaceToolSpec": "palace_tools",
    "HTMRetriever": "retriever",
    "HTMToolSpec": "tools",
    "HTMVectorStore": "vector_store",
    "node_drafts": "drafts",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    try:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "llama_index":
            raise
        raise ImportError(
            f"expected {error.name} to be installed for {name}; run: pip install "
            "'htm-memory[llamaindex]'",
            name=error.name,
        ) from error


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
