"""htm-memory and the stores that it is compared with, each used the way its own documentation says.

Each system gets an empty database of its own on one server, the same rows, and an embedder that knows their vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import psycopg

from htm_core import Draft, Memory, Mode, Settings
from htm_core.db import indexes
from htm_core.memory.process import runtime

DIMENSION = 384
LIMIT = 10
BATCH = 1_000
HTM = "htm-memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A text to store, with its vector; `unit` is its id, `topic` what it is filtered by."""

    unit: str
    content: str
    vector: np.ndarray
    topic: str
    at: datetime | None = None
    session: str | None = None
    role: str | None = None
    name: str | None = None


class Embeds(Protocol):
    """Embedder of single texts."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text."""

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of a query."""


class ReadyEmbedder:
    """Gives the vectors that are known already, at once, so that databases are timed and not a model; others are asked for."""

    model = "ready-384"

    def __init__(self, known: Mapping[str, np.ndarray], other: Embeds | None = None) -> None:
        self._known = known
        self._other = other

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of a query."""
        vector = self._known.get(text)
        if vector is not None:
            return [float(number) for number in vector]
        if self._other is None:
            raise KeyError(f"expected a text whose vector is known, got {text!r}")
        return self._other.embed_query(text)


class System(Protocol):
    """A store of texts with their vectors. Each search gives the units of its hits, best hit first."""

    name: str

    def fill(self, rows: Sequence[Row]) -> None:
        """Store all rows, and have them indexed."""

    def dense(self, query: str) -> list[list[str]]:
        """Search by the vector."""

    def hybrid(self, query: str) -> list[list[str]] | None:
        """Search by the vector and by words; None where the store cannot."""

    def filtered(self, query: str, topic: str) -> list[list[str]]:
        """Search by the vector among the rows of one topic."""

    def close(self) -> None:
        """Close its connections."""


def batches(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Give the rows in parts of equal size."""
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


class HTMSystem:
    """This package, with its default settings; hits are not held in working memory, which no other has."""

    name = HTM

    def __init__(self, dsn: str, embedder: ReadyEmbedder, *, now: datetime | None = None) -> None:
        self._settings = Settings(worker="off", max_drafts=1_000_000)
        self._url = dsn
        clock = None if now is None else lambda: now
        self._memory = Memory(
            "bench", url=dsn, embedder=embedder, settings=self._settings, clock=clock
        )

    def fill(self, rows: Sequence[Row]) -> None:
        for batch in batches(rows):
            self._memory.remember_many(
                [
                    Draft(
                        content=row.content, vector=row.vector.tolist(), at=row.at, session=row.session,
                        role=row.role, name=row.name, metadata={"unit": row.unit, "topic": row.topic},
                    )
                    for row in batch
                ]
            )  # fmt: skip
        if not self._memory.flush():
            raise SystemExit("some memories could not be embedded: see the log")
        indexes.build_due(runtime(self._url, self._settings).database)

    def dense(self, query: str) -> list[list[str]]:
        return self._units(query, mode="vector")

    def hybrid(self, query: str) -> list[list[str]] | None:
        return self._units(query, mode="hybrid")

    def filtered(self, query: str, topic: str) -> list[list[str]]:
        return self._units(query, mode="vector", where={"topic": topic})

    def _units(
        self, query: str, *, mode: Mode, where: Mapping[str, Any] | None = None
    ) -> list[list[str]]:
        hits = self._memory.recall(query, limit=LIMIT, mode=mode, where=where, hold=False)
        return [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in hits]

    def close(self) -> None:
        self._memory.close()


class LangChainSystem:
    """langchain-postgres' PGVectorStore: the topic in a column of its own, HNSW built after filling, hybrid by rank fusion."""

    name = "langchain-postgres"

    def __init__(self, dsn: str, embedder: ReadyEmbedder) -> None:
        from langchain_core.embeddings import Embeddings
        from langchain_postgres import Column, PGEngine, PGVectorStore
        from langchain_postgres.v2.hybrid_search_config import (
            HybridSearchConfig,
            reciprocal_rank_fusion,
        )

        class Known(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return embedder.embed_documents(texts)

            def embed_query(self, text: str) -> list[float]:
                return embedder.embed_query(text)

        _execute(dsn, "create extension vector")
        self._engine = PGEngine.from_connection_string(
            url=dsn.replace("postgresql://", "postgresql+asyncpg://")
        )
        hybrid = HybridSearchConfig(
            tsv_column="content_tsv", tsv_lang="pg_catalog.english", fusion_function=reciprocal_rank_fusion,
            fusion_function_parameters={"rrf_k": 60, "fetch_top_k": LIMIT}, primary_top_k=LIMIT, secondary_top_k=LIMIT,
        )  # fmt: skip
        self._engine.init_vectorstore_table(
            "memories", DIMENSION, metadata_columns=[Column("unit", "TEXT"), Column("topic", "TEXT")],
            hybrid_search_config=hybrid,
        )  # fmt: skip
        columns = ["unit", "topic"]
        self._dense = PGVectorStore.create_sync(
            self._engine, Known(), "memories", metadata_columns=columns
        )
        self._hybrid = PGVectorStore.create_sync(
            self._engine, Known(), "memories", metadata_columns=columns, hybrid_search_config=hybrid
        )

    def fill(self, rows: Sequence[Row]) -> None:
        from langchain_postgres.v2.indexes import HNSWIndex

        for batch in batches(rows):
            self._hybrid.add_embeddings(
                [row.content for row in batch],
                [row.vector.tolist() for row in batch],
                [{"unit": row.unit, "topic": row.topic} for row in batch],
            )
        self._hybrid.apply_vector_index(HNSWIndex())
        self._hybrid.apply_hybrid_search_index()

    def dense(self, query: str) -> list[list[str]]:
        return [[each.metadata["unit"]] for each in self._dense.similarity_search(query, k=LIMIT)]

    def hybrid(self, query: str) -> list[list[str]] | None:
        return [[each.metadata["unit"]] for each in self._hybrid.similarity_search(query, k=LIMIT)]

    def filtered(self, query: str, topic: str) -> list[list[str]]:
        documents = self._dense.similarity_search(query, k=LIMIT, filter={"topic": topic})
        return [[each.metadata["unit"]] for each in documents]

    def close(self) -> None:
        self._engine._run_as_sync(self._engine.close())


class LlamaIndexSystem:
    """LlamaIndex' PGVectorStore with its HNSW options, an index for the topic, and hybrid search."""

    name = "llama-index PGVectorStore"

    def __init__(self, dsn: str, embedder: ReadyEmbedder) -> None:
        from llama_index.vector_stores.postgres import PGVectorStore

        self._embedder = embedder
        server = urlsplit(dsn)
        self._store = PGVectorStore.from_params(
            host=server.hostname, port=str(server.port), database=server.path[1:], user=server.username,
            password=server.password, table_name="memories", embed_dim=DIMENSION, hybrid_search=True,
            text_search_config="english", indexed_metadata_keys={("topic", "text")},
            hnsw_kwargs={
                "hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": 40, "hnsw_dist_method": "vector_cosine_ops"
            },
        )  # fmt: skip

    def fill(self, rows: Sequence[Row]) -> None:
        from llama_index.core.schema import TextNode

        for batch in batches(rows):
            self._store.add(
                [
                    TextNode(
                        text=row.content,
                        embedding=row.vector.tolist(),
                        metadata={"unit": row.unit, "topic": row.topic},
                    )
                    for row in batch
                ]
            )

    def dense(self, query: str) -> list[list[str]]:
        return self._asked(query, "default")

    def hybrid(self, query: str) -> list[list[str]] | None:
        return self._asked(query, "hybrid")

    def filtered(self, query: str, topic: str) -> list[list[str]]:
        return self._asked(query, "default", topic)

    def _asked(self, query: str, mode: str, topic: str | None = None) -> list[list[str]]:
        from llama_index.core.vector_stores.types import (
            MetadataFilter,
            MetadataFilters,
            VectorStoreQuery,
            VectorStoreQueryMode,
        )

        result = self._store.query(
            VectorStoreQuery(
                query_embedding=self._embedder.embed_query(query), query_str=query, similarity_top_k=LIMIT,
                mode=VectorStoreQueryMode(mode),
                filters=None if topic is None else MetadataFilters(filters=[MetadataFilter(key="topic", value=topic)]),
            )
        )  # fmt: skip
        return [[node.metadata["unit"]] for node in (result.nodes or [])][
            :LIMIT
        ]  # its hybrid search gives up to twice as many

    def close(self) -> None:
        import asyncio

        asyncio.run(self._store.close())


class LangGraphSystem:
    """LangGraph's PostgresStore with its vector index; it has no search by words."""

    name = "LangGraph PostgresStore"

    def __init__(self, dsn: str, embedder: ReadyEmbedder) -> None:
        from langgraph.store.postgres import PostgresStore

        self._stack = ExitStack()
        self._store = self._stack.enter_context(
            PostgresStore.from_conn_string(
                dsn,
                index={"dims": DIMENSION, "embed": embedder.embed_documents, "fields": ["text"]},
            )
        )
        self._store.setup()

    def fill(self, rows: Sequence[Row]) -> None:
        from langgraph.store.base import PutOp

        for batch in batches(rows):
            self._store.batch(
                [
                    PutOp(
                        ("memories",),
                        row.unit,
                        {"text": row.content, "unit": row.unit, "topic": row.topic},
                    )
                    for row in batch
                ]
            )

    def dense(self, query: str) -> list[list[str]]:
        return [
            [item.value["unit"]]
            for item in self._store.search(("memories",), query=query, limit=LIMIT)
        ]

    def hybrid(self, query: str) -> list[list[str]] | None:
        del query  # it has none
        return None

    def filtered(self, query: str, topic: str) -> list[list[str]]:
        items = self._store.search(("memories",), query=query, filter={"topic": topic}, limit=LIMIT)
        return [[item.value["unit"]] for item in items]

    def close(self) -> None:
        self._stack.close()


PEERS = {peer.name: peer for peer in (LangChainSystem, LlamaIndexSystem, LangGraphSystem)}


def opened(name: str, dsn: str, embedder: ReadyEmbedder, *, now: datetime | None = None) -> System:
    """Open a system in an empty database."""
    if name == HTM:
        return HTMSystem(dsn, embedder, now=now)
    return PEERS[name](dsn, embedder)


def new_database(server: str, name: str) -> str:
    """Make an empty database, and give its DSN."""
    _execute(server, f"create database {name}")
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def settle(dsn: str) -> None:
    """Leave no work behind that a search could meet: what autovacuum would do some time later is done now."""
    _execute(dsn, "vacuum analyze")
    _execute(dsn, "checkpoint")


def _execute(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())
