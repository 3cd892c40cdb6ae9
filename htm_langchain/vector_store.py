"""A vector store for chains, retrievers and `index()`, on a collection of the memory's database."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from pydantic import SecretStr

from htm_core import Collection, CollectionHit, CollectionItem, InvalidInput, Memory
from htm_core.prompt.documents import item_of
from htm_core.prompt.option_names import check_known
from htm_core.prompt.scope import as_secret, check_alone, warn_of_user

from .documents import document_of
from .embedder import HTMEmbeddings
from .options import one_name
from .vector_search import (
    OLDER,
    check_mode,
    check_options,
    find,
    find_by_vector,
    find_diverse,
    find_diverse_by_vector,
    numbers_of,
)

_log = logging.getLogger("htm.langchain")

ARGUMENTS = ("embedding", "collection", "memory", "url", "tenant", "mode")
# What other stores call these, by their names there.
ELSEWHERE = {
    "embeddings": "embedding", "embedding_function": "embedding", "embedding_service": "embedding",
    "collection_name": "collection", "table_name": "collection", "index_name": "collection",
    "connection": "url", "connection_string": "url", "engine": "url",
}  # fmt: skip
# How many texts are embedded and written at a time by default.
BATCH = 1_000
Scored = list[tuple[Document, float]]
Vectors = Sequence[Sequence[float]]


class HTMVectorStore(VectorStore):
    """Keep documents with their vectors and words, and find them by meaning, words and filters.

    Args:
        embedding: Any LangChain `Embeddings`; by default the memory's own model.
        collection: The collection's name, "default" by default. Everyone of the tenant who names it
            has the same one.
        memory: The memory to use; its user does not matter. Otherwise one is made of `url` and
            `tenant`; both at once raise `InvalidInput`.
        url: A PostgreSQL DSN; by default `HTM_DATABASE_URL`, else the embedded server.
        tenant: The tenant, "default" by default.
        mode: How it searches by default: "hybrid" (meaning and words, the default), "vector" or
            "text". Each search may name its own.
        strategy: The older name of `mode`. Deprecated.
        kwargs: None other: what other stores call by other names is refused, with the name that it
            has here.

    Ids are any text; adding a known one replaces its document. A document can be found as soon as
    adding returns, and comes back exactly, with every type in its metadata. Scores are in [0, 1], 1
    the best, and compare between queries. Nothing is opened before the first use. Awaited methods
    run on the memory's own threads, so any event loop will do. Its methods raise `InvalidInput`,
    `ModelError` when the model fails, `DimensionMismatch` for vectors of another model, and
    `StorageError`.

    All searches take the options `filter` (such as `{"year": {"$gte": 2025}}`), `mode`, and
    `score_threshold`, the lowest score from 0 to 1; another option is refused by its name.

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
        url: str | SecretStr | None = None,
        tenant: str = "default",
        mode: str | None = None,
        strategy: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_known(kwargs, ARGUMENTS, what="arguments of HTMVectorStore", elsewhere=ELSEWHERE)
        url = as_secret(url)
        check_alone(memory, tenant=tenant, url=url)
        warn_of_user(memory, of=type(self).__name__, log=_log)
        named = one_name({"mode": mode, "strategy": strategy}, OLDER)["mode"]
        self.memory = Memory(url=url, tenant=tenant) if memory is None else memory
        self.mode = check_mode("hybrid" if named is None else named)
        self._embeddings = HTMEmbeddings(self.memory) if embedding is None else embedding
        self._items = self.memory.collection(collection, embedder=self._embeddings)

    def __repr__(self) -> str:
        if not hasattr(self, "_items"):  # it could not be made, and an error report shows it
            return "HTMVectorStore()"
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

    @property
    def strategy(self) -> str:
        """The older name of `mode`. Deprecated."""
        return self.mode

    # -- making one --------------------------------------------------------------------------------

    @classmethod
    def from_documents(
        cls, documents: list[Document], embedding: Embeddings | None = None, **kwargs: Any
    ) -> Self:
        """A store with these documents in it.

            HTMVectorStore.from_documents(documents, memory=Memory("atlas"), collection="manuals")

        Args:
            documents: What is put into it, each under its id if it has one.
            embedding: The model; by default the memory's own.
            kwargs: Of `HTMVectorStore`, and `ids`.
        """
        return super().from_documents(documents, cast(Embeddings, embedding), **kwargs)

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
        """A store with these texts in it.

            HTMVectorStore.from_texts(["The harbour opens at six."], memory=Memory("atlas"),
            collection="manuals")

        Args:
            texts: The texts.
            embedding: The model; by default the memory's own.
            metadatas: The metadata of each text; by default none.
            ids: Their ids; by default new ones.
            kwargs: The other arguments of the constructor.
        """
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

    @classmethod
    def from_embeddings(
        cls,
        text_embeddings: Iterable[tuple[str, Sequence[float]]],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A store with texts whose vectors are there already.

            HTMVectorStore.from_embeddings([(text, vector)], model, memory=Memory("atlas"))

        Args:
            text_embeddings: Pairs of a text and its vector, made by `embedding`.
            embedding: The model; by default the memory's own.
            metadatas: The metadata of each text; by default none.
            ids: Their ids; by default new ones.
            kwargs: The other arguments of the constructor.
        """
        pairs = list(text_embeddings)
        store = cls(embedding, **kwargs)
        store.add_embeddings(
            [text for text, _ in pairs], [vector for _, vector in pairs], metadatas, ids=ids
        )
        return store

    @classmethod
    async def afrom_embeddings(
        cls,
        text_embeddings: Iterable[tuple[str, Sequence[float]]],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """`from_embeddings`, awaited."""
        pairs = list(text_embeddings)
        store = cls(embedding, **kwargs)
        await store.aadd_embeddings(
            [text for text, _ in pairs], [vector for _, vector in pairs], metadatas, ids=ids
        )
        return store

    # -- writing -----------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        index: bool = True,
        **kwargs: Any,
    ) -> list[str]:
        """Put texts with their metadata, and return their ids in order.

        Args:
            texts: The texts.
            metadatas: The metadata of each text; by default none.
            ids: Their ids; for None, and for a None among them, a new one is made. Of ids that come
                twice the last one counts.
            batch_size: How many texts at a time are embedded and then written in one transaction;
                1,000 by default.
            index: Whether they can be found by meaning and by words. With False nothing is
                embedded; ids and filters find them.
            kwargs: None other; the interface has it.

        Raises `InvalidInput`, and has then written nothing, `ModelError` and `StorageError`.

            store.add_texts(["The harbour opens at six."], [{"year": 2025}], ids=["harbour"])
        """
        check_options(kwargs, ())
        return self._put(
            _items(_listed(texts), metadatas, ids, index=index), _batch_size(batch_size)
        )

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        index: bool = True,
        **kwargs: Any,
    ) -> list[str]:
        """`add_texts`, awaited."""
        add = self.add_texts
        return await self.memory.aio.run(
            add, texts, metadatas, ids=ids, batch_size=batch_size, index=index, **kwargs
        )

    def add_embeddings(
        self,
        texts: Iterable[str],
        embeddings: Vectors,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Put texts whose vectors are there already, and return their ids in order; the model is
        not called.

        Args:
            texts: The texts.
            embeddings: The vector of each text, made by the store's own model.
            metadatas: The metadata of each text; by default none.
            ids: Their ids; for None, and for a None among them, a new one is made.
            batch_size: How many are written in one transaction; 1,000 by default.
            kwargs: None other; the interface has it.

        Raises `InvalidInput` for other than one vector for each text, `DimensionMismatch` for
        vectors of another length than those of the collection, and `StorageError`.

            store.add_embeddings(texts, model.embed_documents(texts))
        """
        check_options(kwargs, ())
        items = _items(_listed(texts), metadatas, ids, index=True)
        vectors = [numbers_of(vector) for vector in embeddings]
        if len(vectors) != len(items):
            raise InvalidInput(
                f"expected one embedding for each of the {len(items)} texts, got {len(vectors)}"
            )
        with_vectors = [
            replace(item, vector=vector) for item, vector in zip(items, vectors, strict=True)
        ]
        return self._put(with_vectors, _batch_size(batch_size))

    async def aadd_embeddings(
        self,
        texts: Iterable[str],
        embeddings: Vectors,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """`add_embeddings`, awaited."""
        add = self.add_embeddings
        return await self.memory.aio.run(
            add, texts, embeddings, metadatas, ids=ids, batch_size=batch_size, **kwargs
        )

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> bool:
        """Delete documents by their ids, by a filter, or by both; with neither, all documents of
        this collection.

        Args:
            ids: The ids. An empty list deletes nothing, and unknown ids are no error.
            filter: What the metadata of the documents must satisfy.
            kwargs: None other; the interface has it.

        Raises `InvalidInput` for an empty filter, and `StorageError`.

            store.delete(filter={"year": {"$lt": 2020}})
        """
        check_options({**kwargs, "filter": filter}, ("filter",))
        if ids is None and filter is None:
            self._items.clear()
            return True
        if ids is None and not filter:
            raise InvalidInput(
                "expected a filter that says something, got an empty one; delete() "
                "deletes everything"
            )
        self._items.delete(ids, where=filter)
        return True

    async def adelete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> bool:
        """`delete`, awaited."""
        return await self.memory.aio.run(self.delete, ids, filter=filter, **kwargs)

    # -- reading -----------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of these ids, in their order; those that are not there are left out.

        [harbour] = store.get_by_ids(["harbour"])
        """
        return [document_of(item) for item in self._items.get(ids)]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """`get_by_ids`, awaited."""
        return await self.memory.aio.run(self.get_by_ids, ids)

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents that answer a query, best first.

            store.similarity_search("When does the harbour open?", k=2, filter={"year": 2025},
            mode="text")

        Args:
            query: The query. A blank one lists what satisfies the filter, in the order in which it
                was first added.
            k: Documents at most; 4 by default.
            kwargs: The options `filter`, `mode` and `score_threshold`.
        """
        return _documents(find(self._items, query, k, self._options(kwargs)))

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """`similarity_search`, awaited."""
        return await self.memory.aio.run(self.similarity_search, query, k, **kwargs)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        """`similarity_search` with each document's score in [0, 1], 1 the best; for a blank query
        all are 0.

            [(document, score)] = store.similarity_search_with_score("harbour", k=1)

        Args:
            query: The query.
            k: Documents at most; 4 by default.
            kwargs: The options `filter`, `mode` and `score_threshold`.
        """
        return _scored(find(self._items, query, k, self._options(kwargs)))

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        """`similarity_search_with_score`, awaited."""
        return await self.memory.aio.run(self.similarity_search_with_score, query, k, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The documents nearest to a vector, best first.

        Args:
            embedding: A vector of the store's own model.
            k: Documents at most; 4 by default.
            kwargs: The options `filter` and `score_threshold`.

        Raises `DimensionMismatch` for a vector of another length.

            store.similarity_search_by_vector(model.embed_query("harbour"), k=2)
        """
        return _documents(find_by_vector(self._items, embedding, k, self._options(kwargs)))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """`similarity_search_by_vector`, awaited."""
        return await self.memory.aio.run(self.similarity_search_by_vector, embedding, k, **kwargs)

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> Scored:
        """`similarity_search_by_vector` with each document's score in [0, 1], 1 the best.

            [(document, score)] =
            store.similarity_search_with_score_by_vector(model.embed_query("harbour"), k=1)

        Args:
            embedding: A vector of the store's own model.
            k: Documents at most; 4 by default.
            kwargs: The options `filter` and `score_threshold`.
        """
        return _scored(find_by_vector(self._items, embedding, k, self._options(kwargs)))

    async def asimilarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> Scored:
        """`similarity_search_with_score_by_vector`, awaited."""
        return await self.memory.aio.run(
            self.similarity_search_with_score_by_vector, embedding, k, **kwargs
        )

    # -- diverse -----------------------------------------------------------------------------------

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Documents that are relevant to a query and unlike each other, by their vectors.

            store.max_marginal_relevance_search("harbour", k=3, fetch_k=50)

        Args:
            query: The query.
            k: Documents at most; 4 by default.
            fetch_k: How many of the best are chosen from; 20 by default.
            lambda_mult: From 0 (all diversity) to 1 (all relevance); 0.5 by default.
            kwargs: The options `filter`, `mode` and `score_threshold`.
        """
        return _documents(self._diverse(query, k, fetch_k, lambda_mult, kwargs))

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """`max_marginal_relevance_search`, awaited."""
        return await self.memory.aio.run(
            self.max_marginal_relevance_search, query, k, fetch_k, lambda_mult, **kwargs
        )

    def max_marginal_relevance_search_with_score(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> Scored:
        """`max_marginal_relevance_search` with each document's score in [0, 1], 1 the best.

        The documents come in the order in which they were chosen, which is not that of their
        scores.

            for document, score in store.max_marginal_relevance_search_with_score("harbour"): ...

        Args:
            query: The query.
            k: Documents at most; 4 by default.
            fetch_k: How many of the best are chosen from; 20 by default.
            lambda_mult: From 0 (all diversity) to 1 (all relevance); 0.5 by default.
            kwargs: The options `filter`, `mode` and `score_threshold`.
        """
        return _scored(self._diverse(query, k, fetch_k, lambda_mult, kwargs))

    async def amax_marginal_relevance_search_with_score(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> Scored:
        """`max_marginal_relevance_search_with_score`, awaited."""
        search = self.max_marginal_relevance_search_with_score
        return await self.memory.aio.run(search, query, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search`, for a query's vector.

            store.max_marginal_relevance_search_by_vector(model.embed_query("harbour"), k=3)

        Args:
            embedding: A vector of the store's own model.
            k: Documents at most; 4 by default.
            fetch_k: How many of the best are chosen from; 20 by default.
            lambda_mult: From 0 (all diversity) to 1 (all relevance); 0.5 by default.
            kwargs: The options `filter` and `score_threshold`.
        """
        return _documents(self._diverse_by_vector(embedding, k, fetch_k, lambda_mult, kwargs))

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search_by_vector`, awaited."""
        return await self.memory.aio.run(
            self.max_marginal_relevance_search_by_vector,
            embedding,
            k,
            fetch_k,
            lambda_mult,
            **kwargs,
        )

    def max_marginal_relevance_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> Scored:
        """`max_marginal_relevance_search_by_vector` with each document's score in [0, 1], 1 the
        best.

            store.max_marginal_relevance_search_with_score_by_vector(model.embed_query("harbour"),
            k=3)

        Args:
            embedding: A vector of the store's own model.
            k: Documents at most; 4 by default.
            fetch_k: How many of the best are chosen from; 20 by default.
            lambda_mult: From 0 (all diversity) to 1 (all relevance); 0.5 by default.
            kwargs: The options `filter` and `score_threshold`.
        """
        return _scored(self._diverse_by_vector(embedding, k, fetch_k, lambda_mult, kwargs))

    async def amax_marginal_relevance_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> Scored:
        """`max_marginal_relevance_search_with_score_by_vector`, awaited."""
        search = self.max_marginal_relevance_search_with_score_by_vector
        return await self.memory.aio.run(search, embedding, k, fetch_k, lambda_mult, **kwargs)

    # -- LangChain's relevance scores --------------------------------------------------------------

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> Scored:
        return self.similarity_search_with_score(query, k, **kwargs)

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> Scored:
        return await self.asimilarity_search_with_score(query, k, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float  # a score is a relevance already

    # -- inside ------------------------------------------------------------------------------------

    def _put(self, items: Sequence[CollectionItem], size: int) -> list[str]:
        model = self._items.embedder.name if self._items.embedder else None
        batches = [
            self._items.put(items[at : at + size], model=model) for at in range(0, len(items), size)
        ]
        return [id for batch in batches for id in batch]

    def _diverse(
        self, query: str, k: int, fetch_k: int, lambda_mult: float, arguments: Mapping[str, Any]
    ) -> list[CollectionHit]:
        options = self._options(arguments)
        return find_diverse(
            self._items, query, k, fetch_k=fetch_k, lambda_mult=lambda_mult, options=options
        )

    def _diverse_by_vector(
        self,
        vector: Sequence[float],
        k: int,
        fetch_k: int,
        lambda_mult: float,
        arguments: Mapping[str, Any],
    ) -> list[CollectionHit]:
        options = self._options(arguments)
        return find_diverse_by_vector(
            self._items, vector, k, fetch_k=fetch_k, lambda_mult=lambda_mult, options=options
        )

    def _options(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"mode": self.mode, **one_name(dict(arguments), OLDER)}


def _documents(hits: Iterable[CollectionHit]) -> list[Document]:
    return [document_of(hit.item) for hit in hits]


def _scored(hits: Iterable[CollectionHit]) -> Scored:
    return [(document_of(hit.item), hit.score or 0.0) for hit in hits]


def _listed(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise InvalidInput(
            "expected a list of texts, got one str, of which each letter would be "
            "a text; give [text]"
        )
    return list(texts)


def _items(
    texts: Sequence[str],
    metadatas: Sequence[Mapping[Any, Any]] | None,
    ids: Sequence[str | None] | None,
    *,
    index: bool,
) -> list[CollectionItem]:
    for values, what in ((metadatas, "metadatas"), (ids, "ids")):
        if values is not None and len(values) != len(texts):
            raise InvalidInput(
                f"expected as many {what} as texts, which are {len(texts)}, got {len(values)}"
            )
    if not isinstance(index, bool):
        raise InvalidInput(f"expected index to be True or False, got {index!r:.80}")
    rows = zip(texts, metadatas or [{}] * len(texts), ids or [None] * len(texts), strict=True)
    return [replace(item_of(text, metadata, id=id), index=index) for text, metadata, id in rows]


def _batch_size(size: int | None) -> int:
    if size is None:
        return BATCH
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InvalidInput(f"expected batch_size to be a whole number from 1, got {size!r}")
    return size
