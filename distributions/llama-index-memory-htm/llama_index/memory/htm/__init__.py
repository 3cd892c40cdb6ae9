"""htm-memory's memory for chat engines and agents, where LlamaIndex's packages are found.

Nothing of the framework is imported before a name of this package is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import htm_llamaindex

if TYPE_CHECKING:
    from htm_llamaindex import HTMChatStore as HTMChatStore
    from htm_llamaindex import HTMEmbedding as HTMEmbedding
    from htm_llamaindex import HTMMemory as HTMMemory
    from htm_llamaindex import HTMMemoryBlock as HTMMemoryBlock
    from htm_llamaindex import HTMPalaceToolSpec as HTMPalaceToolSpec
    from htm_llamaindex import HTMRetriever as HTMRetriever
    from htm_llamaindex import HTMToolSpec as HTMToolSpec
    from htm_llamaindex import node_drafts as node_drafts

__all__ = [
    "HTMChatStore",
    "HTMEmbedding",
    "HTMMemory",
    "HTMMemoryBlock",
    "HTMPalaceToolSpec",
    "HTMRetriever",
    "HTMToolSpec",
    "node_drafts",
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
