"""htm-memory's stores for indexes and pipelines, where LlamaIndex's packages are found.

Nothing of the framework is imported before a name of this package is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import htm_llamaindex

if TYPE_CHECKING:
    from htm_llamaindex import HTMDocumentStore as HTMDocumentStore
    from htm_llamaindex import HTMEmbedding as HTMEmbedding
    from htm_llamaindex import HTMIndexStore as HTMIndexStore
    from htm_llamaindex import HTMKVStore as HTMKVStore
    from htm_llamaindex import HTMVectorStore as HTMVectorStore

__all__ = [
    "HTMDocumentStore",
    "HTMEmbedding",
    "HTMIndexStore",
    "HTMKVStore",
    "HTMVectorStore",
]

__version__ = htm_llamaindex.__version__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(htm_llamaindex, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
