"""A vector store for chains, retrievers and `index()`, on a collection of the memory's database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from htm_core import Collection, CollectionHit, CollectionItem, InvalidInput, Memory
from htm_core.integration.scope import check_alone

from .documents import document_of, item_of
from .embedder import HTMEmbeddings
from .vector_search import check_options, check_strategy, find, find_by_vector, find_diverse, find_diverse_by_vector

# How many texts are embedded and written at a time by default.
BATCH = 1_000
Scored = list[tuple[Document, float]]


class HTMVectorStore(VectorStore):
    """Keep documents with their vectors and words, and find them by meaning, words and filters.

    Args:
        embedding: Any LangChain `Embeddings`; by default the memory's own model.
        collection: The collection's name. Everyone of the tenant who names it has the same one.
        memory: The memory to use. Otherwise one is made of `url` and `tenant`; both at once raise `InvalidInput`.
        url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
        tenant: The tenant, "default" by default.
        strategy: How it searches by default: "hybrid" (meaning and words), "vector" or "text". Each search may name its
            own.

    Ids are any text; adding a known one replaces its document. A document can be found as soon as adding returns, and comes
    back exactly, with every type in its metadata. Scores are in [0, 1], 1 the best, and compare between queries. Nothing is
    opened before the first use. Awaited methods run on the memory's own threads, so any event loop will do. Raises
    `InvalidInput`, `ModelError`, `DimensionMismatch` and `StorageError`.

        store = HTMVectorStore(memory=Memory("atlas"), collection="manuals")
        store.add_texts(["The harbour opens at six."], [{"year": 2025}])
        store.similarity_search("When does the harbour open?", k=1, filter={"year": {"$gte": 2025}})
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        *,
        collection: str = "default",
        memory: Memory | None = None,
        url: str | None = None,
        tenant: str = "default",
        strategy: str = "hybrid",
    ) -> None:
        check_alone(memory, tenant=tenant, url=url)
        self.memory = Memory(url=url, tenant=tenant) if memory is None else memory
        self.strategy = check_strategy(strategy)
        self._embeddings = HTMEmbeddings(self.memory) if embedding is None else embedding
        self._items = self.memory.collection(collection, embedder=self._embeddings)

    def __repr__(self) -> str:
        return f"HTMVectorStore(collection={self._items.name!r}, tenant={self._items.tenant!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a handle, like the memory itself

    @property
    def embeddings(self) -> Embeddings:
        """The model that makes its vectors."""
        return self._embeddings

    @property
    def client(self) -> Collection:
        """The collection behind it."""
        return self._items

    # -- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A store with these texts in it; `kwargs` are those of the constructor."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """`from_texts`, awaited."""
        store = cls(embedding, **kwargs)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    # -- writing ------------------------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Put texts with their metadata, and return their ids in order; for None among the ids one is made.

        `batch_size` (default 1,000) of them at a time are embedded and then written in one transaction. When an id comes
        twice, the last one counts. Raises `InvalidInput`, and has then written nothing, and `ModelError`.
        """
        check_options(kwargs, ())
        size = _batch_size(batch_size)
        if isinstance(texts, str):
            raise InvalidInput(
                "expected a list of texts, got one str, of which each letter would be a text; give [text]"
            )
        items = _items(list(texts), metadatas, ids)
        batches = [self._items.put(items[start : start + size]) for start in range(0, len(items), size)]
        return [id for batch in batches for id in batch]

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """`add_texts`, awaited."""
        add = self.add_texts
        return await self.memory.aio.run(add, texts, metadatas, ids=ids, batch_size=batch_size, **kwargs)

    def delete(
        self, ids: Sequence[str] | None = None, *, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> bool:
        """Delete documents by their ids, by a filter, or by both; with neither, all documents of this collection.

        An empty list deletes nothing. Unknown ids are no error. Raises `InvalidInput` for an empty filter.
        """
        check_options({**kwargs, "filter": filter}, ("filter",))
        if ids is None and filter is None:
            self._items.clear()
            return True
        if ids is None and not filter:
            raise InvalidInput("expected a filter that says something, got an empty one; delete() deletes everything")
        self._items.delete(ids, where=filter)
        return True

    async def adelete(
        self, ids: Sequence[str] | None = None, *, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> bool:
        """`delete`, awaited."""
        return await self.memory.aio.run(self.delete, ids, filter=filter, **kwargs)

    # -- reading ------------------------------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of these ids, in their order; those that are not there are left out."""
        return [document_of(item) for item in self._items.get(ids)]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """`get_by_ids`, awaited."""
        return await self.memory.aio.run(self.get_by_ids, ids)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents that answer a query, best first.

        Options: `filter` (`{"year": {"$gte": 2025}}`), `strategy`, `score_threshold`. Others raise `InvalidInput`. A
        blank query lists what satisfies the filter, in the order in which it was first added.
        """
        return _documents(find(self._items, query, k, self._options(kwargs)))

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """`similarity_search`, awaited."""
        return await self.memory.aio.run(self.similarity_search, query, k, **kwargs)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        """`similarity_search` with each document's score in [0, 1], 1 the best; for a blank query all are 0."""
        hits = find(self._items, query, k, self._options(kwargs))
        return [(document_of(hit.item), hit.score or 0.0) for hit in hits]

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        """`similarity_search_with_score`, awaited."""
        return await self.memory.aio.run(self.similarity_search_with_score, query, k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents nearest to a vector of the store's own model, best first."""
        return _documents(find_by_vector(self._items, embedding, k, kwargs))

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """`similarity_search_by_vector`, awaited."""
        return await self.memory.aio.run(self.similarity_search_by_vector, embedding, k, **kwargs)

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Of the best `fetch_k` documents, `k` that are relevant to the query and unlike each other, by their vectors.

        `lambda_mult` goes from 0 (all diversity) to 1 (all relevance).
        """
        options = self._options(kwargs)
        return _documents(
            find_diverse(self._items, query, k, fetch_k=fetch_k, lambda_mult=lambda_mult, options=options)
        )

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """`max_marginal_relevance_search`, awaited."""
        return await self.memory.aio.run(self.max_marginal_relevance_search, query, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """`max_marginal_relevance_search`, for a vector of the store's own model."""
        return _documents(
            find_diverse_by_vector(self._items, embedding, k, fetch_k=fetch_k, lambda_mult=lambda_mult, options=kwargs)
        )

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """`max_marginal_relevance_search_by_vector`, awaited."""
        return await self.memory.aio.run(
            self.max_marginal_relevance_search_by_vector, embedding, k, fetch_k, lambda_mult, **kwargs
        )

    # -- LangChain's relevance scores ---------------------------------------------------------------------------------

    def _similarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        return self.similarity_search_with_score(query, k, **kwargs)

    async def _asimilarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        return await self.asimilarity_search_with_score(query, k, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float  # a score is a relevance already

    def _options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"strategy": self.strategy, **given}


def _documents(hits: Iterable[CollectionHit]) -> list[Document]:
    return [document_of(hit.item) for hit in hits]


def _items(
    texts: Sequence[str], metadatas: Sequence[Mapping[Any, Any]] | None, ids: Sequence[str | None] | None
) -> list[CollectionItem]:
    for given, what in ((metadatas, "metadatas"), (ids, "ids")):
        if given is not None and len(given) != len(texts):
            raise InvalidInput(f"expected as many {what} as texts, which are {len(texts)}, got {len(given)}")
    rows = zip(texts, metadatas or [{}] * len(texts), ids or [None] * len(texts), strict=True)
    return [item_of(text, metadata, id=id) for text, metadata, id in rows]


def _batch_size(size: int | None) -> int:
    if size is None:
        return BATCH
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InvalidInput(f"expected batch_size to be a whole number from 1, got {size!r}")
    return size
