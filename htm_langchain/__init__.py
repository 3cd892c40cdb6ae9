"""Memory for LangChain: agents, chat histories and retrievers over one `htm_core.Memory`.

Nothing of LangChain is imported before a name of this package is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from htm_core import __version__ as __version__

if TYPE_CHECKING:
    from .byte_store import HTMByteStore
    from .chains import with_memory
    from .drafts import document_drafts
    from .embedder import HTMEmbeddings
    from .history import HTMChatMessageHistory
    from .middleware import HTMMemoryMiddleware
    from .palace_tools import create_palace_tools
    from .record_manager import HTMRecordManager
    from .retriever import HTMRetriever
    from .self_query import HTMTranslator
    from .store import AsyncHTMStore, HTMStore
    from .tagger import LangChainPropositioner, LangChainTagger
    from .tools import create_forget_tool, create_recall_tool, create_remember_tool
    from .vector_store import HTMVectorStore

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

# Each name with its module, and the extra that installs what the module imports.
_MODULES = {
    "AsyncHTMStore": ("store", "agents"),
    "HTMByteStore": ("byte_store", "langchain"),
    "HTMChatMessageHistory": ("history", "langchain"),
    "HTMEmbeddings": ("embedder", "langchain"),
    "HTMMemoryMiddleware": ("middleware", "agents"),
    "HTMRecordManager": ("record_manager", "langchain"),
    "HTMRetriever": ("retriever", "langchain"),
    "HTMStore": ("store", "agents"),
    "HTMTranslator": ("self_query", "langchain"),
    "HTMVectorStore": ("vector_store", "langchain"),
    "LangChainPropositioner": ("tagger", "langchain"),
    "LangChainTagger": ("tagger", "langchain"),
    "create_forget_tool": ("tools", "langchain"),
    "create_palace_tools": ("palace_tools", "langchain"),
    "create_recall_tool": ("tools", "langchain"),
    "create_remember_tool": ("tools", "langchain"),
    "document_drafts": ("drafts", "langchain"),
    "with_memory": ("chains", "langchain"),
}
_FRAMEWORK = {"langchain", "langchain_core", "langgraph"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    module, extra = _MODULES[name]
    try:
        return getattr(import_module(f".{module}", __name__), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in _FRAMEWORK:
            raise
        raise ImportError(
            f"expected {missing} to be installed for {name}; run: pip install "
            f"'htm-memory[{extra}]'",
            name=error.name,
        ) from error


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
