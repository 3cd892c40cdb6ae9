"""htm-memory for LangChain, under the name by which LangChain's packages are found.

Nothing of the framework is imported before a name of this package is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import htm_langchain

if TYPE_CHECKING:
    from htm_langchain import AsyncHTMStore as AsyncHTMStore
    from htm_langchain import HTMByteStore as HTMByteStore
    from htm_langchain import HTMChatMessageHistory as HTMChatMessageHistory
    from htm_langchain import HTMEmbeddings as HTMEmbeddings
    from htm_langchain import HTMMemoryMiddleware as HTMMemoryMiddleware
    from htm_langchain import HTMRecordManager as HTMRecordManager
    from htm_langchain import HTMRetriever as HTMRetriever
    from htm_langchain import HTMStore as HTMStore
    from htm_langchain import HTMTranslator as HTMTranslator
    from htm_langchain import HTMVectorStore as HTMVectorStore
    from htm_langchain import LangChainPropositioner as LangChainPropositioner
    from htm_langchain import LangChainTagger as LangChainTagger
    from htm_langchain import create_forget_tool as create_forget_tool
    from htm_langchain import create_palace_tools as create_palace_tools
    from htm_langchain import create_recall_tool as create_recall_tool
    from htm_langchain import create_remember_tool as create_remember_tool
    from htm_langchain import document_drafts as document_drafts
    from htm_langchain import with_memory as with_memory

__all__ = [
    "AsyncHTMStore",
    "HTMByteStore",
    "HTMChatMessageHistory",
    "HTMEmbeddings",
    "HTMMemoryMiddleware",
    "HTMRecordManager",
    "HTMRetriever",
    "HTMStore",
    "HTMTranslator",
    "HTMVectorStore",
    "LangChainPropositioner",
    "LangChainTagger",
    "create_forget_tool",
    "create_palace_tools",
    "create_recall_tool",
    "create_remember_tool",
    "document_drafts",
    "with_memory",
]

__version__ = htm_langchain.__version__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(htm_langchain, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
