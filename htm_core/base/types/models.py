"""Protocols of the models that a memory can use, and the types of its options for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias


class Embedder(Protocol):
    """Anything that turns texts into vectors; LangChain's `Embeddings` already does.

    All vectors have the same number of dimensions, and are comparable by their cosine.
    """

    def embed_documents(self, texts: list[str], /) -> list[list[float]]:
        """One vector for each text, in the same order."""

    def embed_query(self, text: str, /) -> list[float]:
        """The vector of one query."""


class TextEmbedding(Protocol):
    """Methods of LlamaIndex's `BaseEmbedding` that are used."""

    def get_text_embedding_batch(self, texts: list[str], /) -> list[list[float]]:
        """One vector for each text, in the same order."""

    def get_query_embedding(self, query: str, /) -> list[float]:
        """The vector of one query."""


class NamedEmbedder(Protocol):
    """An embedder that a memory already uses, as `Collection.embedder` has it: with a name, and
    with checked answers.
    """

    @property
    def name(self) -> str:
        """The name that its vectors are stored under."""

    @property
    def dimension(self) -> int:
        """Number of values in each vector. Calls the model where that is not known yet."""

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in the same order."""

    def query(self, text: str) -> list[float]:
        """The vector of one query."""


class ChatModel(Protocol):
    """Methods of LangChain's `BaseChatModel` that are used."""

    def with_structured_output(self, schema: Any, /) -> Any:
        """The same model with answers that follow a schema."""


class StructuredModel(Protocol):
    """Methods of a chat model of LlamaIndex that are used."""

    def as_structured_llm(self, output_cls: Any, /) -> Any:
        """The same model with answers that follow a schema."""


class Tagger(Protocol):
    """Anything that gives a text its tags."""

    def tag(self, text: str, known: Sequence[str]) -> Sequence[str]:
        """The tags of one text, such as `["user:preference"]`. `known` are the tags already in use,
        most used first.
        """


class Propositioner(Protocol):
    """Anything that splits a text into facts.

    If `propose` also takes `speaker` and `at`, it is told who said the text (a name or a role, or
    None) and when (a datetime with a time zone): "I moved to Oslo yesterday" says little without.
    """

    def propose(self, text: str) -> Sequence[str]:
        """The facts of one text, each a sentence that stands by itself; an empty list when it
        states none.
        """


class Reranker(Protocol):
    """Anything that compares a question with texts, one by one, and so knows better than a search
    which of them answer it.
    """

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One number for each text, in the same order: the higher, the better it
        answers the query.
        """


class DocumentCompressor(Protocol):
    """Methods of LangChain's `BaseDocumentCompressor` that are used."""

    def compress_documents(self, documents: Sequence[Any], query: str, /) -> Sequence[Any]:
        """The documents that answer the query, best first."""


class NodePostprocessor(Protocol):
    """Methods of LlamaIndex's `BaseNodePostprocessor` that are used."""

    def postprocess_nodes(
        self, nodes: list[Any], /, *, query_str: str | None = None
    ) -> Sequence[Any]:
        """The nodes that answer the query, best first."""


class PairScorer(Protocol):
    """Methods of a `CrossEncoder` of sentence-transformers that are used."""

    def predict(self, pairs: list[tuple[str, str]], /) -> Any:
        """One number for each pair of a query and a text: the higher, the better the text answers
        it.
        """


class Expander(Protocol):
    """Anything that asks a question in other words, or takes it apart."""

    def expand(self, question: str) -> Sequence[str]:
        """More questions to search for; an empty list when the question itself is enough."""


class Summarizer(Protocol):
    """Anything that says in a few lines what a conversation was about."""

    def summarize(self, messages: Sequence[str]) -> Sequence[str]:
        """The lines of a summary. Each message begins with the day and with who said it."""


class TokenCounter(Protocol):
    """Counts the tokens of a text as a model would."""

    def __call__(self, text: str) -> int: ...


# What the options of `Memory` take. `htm_core.models` turns each into an object with a name and
# checked answers.
EmbedderLike: TypeAlias = str | Embedder | TextEmbedding | NamedEmbedder
ModelsLike: TypeAlias = str | ChatModel | StructuredModel
TaggerLike: TypeAlias = (
    str | Tagger | ChatModel | StructuredModel | Callable[[str, Sequence[str]], Sequence[str]]
)
PropositionerLike: TypeAlias = (
    str | Propositioner | ChatModel | StructuredModel | Callable[[str], Sequence[str]]
)
RerankerLike: TypeAlias = (
    str
    | Reranker
    | DocumentCompressor
    | NodePostprocessor
    | PairScorer
    | ChatModel
    | StructuredModel
    | Callable[[str, Sequence[str]], Sequence[float]]
)
ReaderLike: TypeAlias = bool | RerankerLike
JudgeLike: TypeAlias = str | ChatModel | StructuredModel | Callable[[str, str], str]
ExpanderLike: TypeAlias = (
    str | Expander | ChatModel | StructuredModel | Callable[[str], Sequence[str]]
)
SummarizerLike: TypeAlias = (
    str | Summarizer | ChatModel | StructuredModel | Callable[[Sequence[str]], Sequence[str]]
)
Tokenizer: TypeAlias = Callable[[str], int | Sequence[Any]]
