"""Models of an Ollama server: to embed with, with the words that the model expects in front of a text, and to chat with.

Ollama sends a text to an embedding model as it comes, and so does langchain-ollama. Many models were trained with a
prefix that tells a question from a document; without it they still answer, and find less. The table is from the model
cards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ModelError

if TYPE_CHECKING:
    from langchain_ollama import ChatOllama, OllamaEmbeddings

TIMEOUT = 120.0  # seconds for one answer; the first one waits for the server to load the model


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What goes in front of a text that is to be found, and in front of a question."""

    document: str = ""
    query: str = ""


_PASSAGES = Prefixes(query="Represent this sentence for searching relevant passages: ")
_QUERY = Prefixes(query="query: ")
_E5 = Prefixes("passage: ", "query: ")
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"

# By the beginning of the model's name; the longest that fits counts.
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
    """Name a model as it is kept with its vectors; `:latest` is what no tag means."""
    return f"ollama:{model.strip().removesuffix(':latest')}"


def prefixes_of(model: str) -> Prefixes:
    """Give a model's prefixes, by its name without owner and tag; none for a model that is not in the table."""
    bare = model.strip().rpartition("/")[2].partition(":")[0].lower()
    fitting = [beginning for beginning in PREFIXES if bare.startswith(beginning)]
    return PREFIXES[max(fitting, key=len)] if fitting else Prefixes()


@dataclass(frozen=True, slots=True)
class OllamaEmbedder:
    """A model of the Ollama server that `OLLAMA_HOST` names, by default the one on this machine."""

    client: OllamaEmbeddings
    prefixes: Prefixes

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are to be found, in one request."""
        return self._embedded([self.prefixes.document + text for text in texts])

    def embed_query(self, text: str) -> list[float]:
        """Embed a question."""
        return self._embedded([self.prefixes.query + text])[0]

    def _embedded(self, texts: list[str]) -> list[list[float]]:
        try:
            return self.client.embed_documents(texts)
        except Exception as error:
            raise ModelError(
                f"Ollama could not embed with {self.client.model!r}: {type(error).__name__}: {error}; see that the "
                f"server runs (ollama serve, or OLLAMA_HOST) and has the model: ollama pull {self.client.model}"
            ) from error


def load(model: str) -> OllamaEmbedder:
    """Make an embedder for a model of Ollama; the server is not asked yet."""
    try:
        from langchain_ollama import OllamaEmbeddings
    except ImportError as error:
        raise ModelError(
            f'{name_of(model)} needs langchain-ollama, which is not installed: pip install "htm-memory[ollama]"'
        ) from error
    client = OllamaEmbeddings(model=model.strip(), client_kwargs={"timeout": TIMEOUT})
    return OllamaEmbedder(client, prefixes_of(model))


def load_chat(model: str) -> ChatOllama:
    """Make a chat model of Ollama, which answers alike each time; the server is not asked yet."""
    try:
        from langchain_ollama import ChatOllama
    except ImportError as error:
        raise ModelError(
            f'{name_of(model)} needs langchain-ollama, which is not installed: pip install "htm-memory[ollama]"'
        ) from error
    return ChatOllama(model=model.strip(), temperature=0.0, client_kwargs={"timeout": TIMEOUT})
