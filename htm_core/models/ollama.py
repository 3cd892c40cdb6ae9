"""Models of an Ollama server: embedders, with the prefixes that they expect in front of a text, and
chat models.

Ollama and langchain-ollama send a text to an embedding model unchanged. Many models were trained
with one prefix for queries and another for documents; without the prefixes they still answer, but
find less. The table is from the models' cards.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..base.errors import ModelError

if TYPE_CHECKING:
    from langchain_ollama import OllamaEmbeddings

TIMEOUT = 120.0  # seconds for one answer; the first one waits for the server to load the model


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes of documents and of queries."""

    document: str = ""
    query: str = ""


_PASSAGES = Prefixes(query="Represent this sentence for searching relevant passages: ")
_QUERY = Prefixes(query="query: ")
_E5 = Prefixes("passage: ", "query: ")
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"

# By the beginning of the model's name; of several that fit, the longest counts.
PREFIXES = {
    "nomic-embed-text": Prefixes("search_document: ", "search_query: "),
    "mxbai-embed": _PASSAGES,
    "snowflake-arctic-embed": _PASSAGES,
    "snowflake-arctic-embed2": _QUERY,
    "snowflake-arctic-embed-l-v2": _QUERY,
    "snowflake-arctic-embed-m-v2": _QUERY,
    "bge-small-en": _PASSAGES,
    "bge-base-en": _PASSAGES,
    "bge-large": _PASSAGES,
    "bge-large-zh": Prefixes(),
    "e5-": _E5,
    "e5-mistral": Prefixes(query=f"{_TASK}Query: "),
    "multilingual-e5": _E5,
    "multilingual-e5-large-instruct": Prefixes(query=f"{_TASK}Query: "),
    "embeddinggemma": Prefixes("title: none | text: ", "task: search result | query: "),
    "qwen3-embedding": Prefixes(query=f"{_TASK}Query:"),
}


def name_of(model: str) -> str:
    """Give the name that is stored with a model's vectors, without `:latest`, which is
    the default.
    """
    return f"ollama:{model.strip().removesuffix(':latest')}"


def prefixes_of(model: str) -> Prefixes:
    """Give a model's prefixes, by its name without owner and tag; empty ones for a model that is
    not in the table.
    """
    bare = model.strip().rpartition("/")[2].partition(":")[0].lower()
    fitting = [beginning for beginning in PREFIXES if bare.startswith(beginning)]
    return PREFIXES[max(fitting, key=len)] if fitting else Prefixes()


@dataclass(frozen=True, slots=True)
class OllamaEmbedder:
    """An embedding model of the Ollama server at `OLLAMA_HOST`, by default on this machine."""

    client: OllamaEmbeddings
    prefixes: Prefixes

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents, in one request."""
        return self._embed([self.prefixes.document + text for text in texts])

    def embed_query(self, text: str) -> list[float]:
        """Embed a query."""
        return self._embed([self.prefixes.query + text])[0]

    def _embed(self, texts: list[str]) -> list[list[float]]:
        try:
            return self.client.embed_documents(texts)
        except Exception as error:
            raise ModelError(
                f"Ollama could not embed with {self.client.model!r}: {type(error).__name__}: "
                f"{error}; check that "
                "the server runs (ollama serve, or OLLAMA_HOST) and has the model: ollama pull "
                f"{self.client.model}"
            ) from error


def load(model: str) -> OllamaEmbedder:
    """Make an embedder for a model of Ollama; nothing is sent to the server yet."""
    try:
        from langchain_ollama import OllamaEmbeddings
    except ImportError as error:
        raise ModelError(
            f"{name_of(model)} needs langchain-ollama, which is not installed: pip install "
            '"htm-memory[ollama]"'
        ) from error
    client = OllamaEmbeddings(model=model.strip(), client_kwargs={"timeout": TIMEOUT})
    return OllamaEmbedder(client, prefixes_of(model))


def load_chat(model: str) -> Any:
    """Make a chat model of Ollama with temperature 0: LangChain's, or LlamaIndex's where only that
    is installed.

    Nothing is sent to the server yet. Raises `ModelError` where neither is installed.
    """
    try:
        from langchain_ollama import ChatOllama
    except ImportError:
        return _load_chat_of_llamaindex(model)
    return ChatOllama(model=model.strip(), temperature=0.0, client_kwargs={"timeout": TIMEOUT})


def _load_chat_of_llamaindex(model: str) -> Any:
    try:
        from llama_index.llms.ollama import Ollama  # type: ignore[import-untyped]
        from ollama import Client
    except ImportError as error:
        raise ModelError(missing_chat(model)) from error
    client = Client(timeout=TIMEOUT)  # it reads OLLAMA_HOST
    return Ollama(model=model.strip(), temperature=0.0, client=client)


def has_chat() -> bool:
    """Say whether a package that talks to Ollama's chat models is installed, without
    importing it.
    """
    with suppress(ModuleNotFoundError):  # of llama_index, whose part it is
        return (
            find_spec("langchain_ollama") is not None
            or find_spec("llama_index.llms.ollama") is not None
        )
    return False


def missing_chat(model: str) -> str:
    """Say what to install for a chat model."""
    return (
        f"{name_of(model)} needs langchain-ollama or llama-index-llms-ollama, and neither is "
        "installed: "
        'pip install "htm-memory[ollama]", or pip install llama-index-llms-ollama'
    )
