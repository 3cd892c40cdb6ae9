"""htm-memory and the stores that it is compared with, each used the way its own documentation says.

Each system gets an empty database of its own on one server, the same rows, and an embedder that knows their vectors. Rows have
owners, and a search is always that of one owner. A system is opened in variants, which differ in settings of pgvector, and has
several ways to search: `DENSE` and `HYBRID` are what a user writes first, the others turn what else it offers.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import numpy as np
import psycopg

from htm_core import Draft, Memory, Mode, Settings
from htm_core.db import indexes
from htm_core.memory.process import runtime

DIMENSION = 384
LIMIT = 10
DEEP = 50  # hits of each kind that a fusion gets, where it is more than those that are shown
BATCH = 1_000
HTM = "htm-memory"
DENSE, HYBRID = "dense", "hybrid"
# An iterative scan goes on until a filter leaves enough rows.
VARIANTS = {
    "": {},
    "ef_search 200": {"hnsw.ef_search": "200", "hnsw.iterative_scan": "relaxed_order"},
}
NOTED = "select shobj_description(oid, 'pg_database') from pg_database where datname = current_database()"
# The units of each hit, best hit first, of a text, an owner, and a topic or None.
Search = Callable[[str, str, str | None], list[list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A text to store, with its vector; `unit` is its id, `topic` what it is filtered by."""

    unit: str
    content: str
    vector: np.ndarray
    owner: str
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
    """Gives the vectors that are known already, so that databases are timed and not a model; others are asked for.

    `seconds` is how long all its answers took.
    """

    model = "ready-384"

    def __init__(self, known: Mapping[str, np.ndarray], other: Embeds | None = None) -> None:
        self._known = known
        self._other = other
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Give the vector of a query."""
        began = time.perf_counter()
        vector = self._known.get(text)
        if vector is None and self._other is None:
            raise KeyError(f"expected a text whose vector is known, got {text!r}")
        numbers = self._other.embed_query(text) if vector is None else vector.tolist()
        self.seconds += time.perf_counter() - began
        return numbers


class System(Protocol):
    """A store of texts with their vectors.

    `table` has a row for each text, in the order in which they were stored; `words` says which texts its search by words finds.
    """

    table: str
    words: str
    ways: Mapping[str, Search]

    def fill(self, rows: Sequence[Row]) -> None:
        """Store rows."""

    def index(self) -> None:
        """Index what is stored."""

    def close(self) -> None:
        """Close its connections."""


class HTMSystem:
    """This package, with its default settings; hits are not held in working memory, which no other has."""

    table = "htm.mentions"
    words = "any word, BM25"

    def __init__(self, dsn: str, embedder: ReadyEmbedder, clocks: Mapping[str, datetime]) -> None:
        self._url, self._embedder, self._clocks = dsn, embedder, clocks
        self._settings = Settings(worker="off", max_drafts=1_000_000)
        self._memories: dict[str, Memory] = {}
        self.ways = {
            DENSE: self._way("vector"), HYBRID: self._way("hybrid"),
            "hybrid, reader": self._way("hybrid", reader=True),
        }  # fmt: skip

    def _memory(self, owner: str) -> Memory:
        now = self._clocks.get(owner)
        return Memory(
            "bench", url=self._url, user=owner, embedder=self._embedder, settings=self._settings,
            clock=None if now is None else lambda: now,
        )  # fmt: skip

    def fill(self, rows: Sequence[Row]) -> None:
        for owner, own in groupby(rows, attrgetter("owner")):
            with self._memory(owner) as memory:
                memory.remember_many(
                    [
                        Draft(
                            content=row.content, vector=row.vector.tolist(), at=row.at, session=row.session,
                            role=row.role, name=row.name, metadata={"unit": row.unit, "topic": row.topic},
                        )
                        for row in own
                    ]
                )  # fmt: skip

    def index(self) -> None:
        with self._memory("nobody") as memory:
            if not memory.flush():
                raise SystemExit("some memories could not be embedded: see the log")
        indexes.build_due(runtime(self._url, self._settings).database)

    def _way(self, mode: Mode, *, reader: bool = False) -> Search:
        def search(text: str, owner: str, topic: str | None) -> list[list[str]]:
            memory = self._memories.get(owner) or self._memories.setdefault(
                owner, self._memory(owner)
            )
            where = None if topic is None else {"topic": topic}
            hits = memory.recall(
                text, limit=LIMIT, mode=mode, where=where, reader=reader, hold=False
            )
            return [[str(mention.metadata["unit"]) for mention in hit.mentions] for hit in hits]

        return search

    def close(self) -> None:
        for memory in self._memories.values():
            memory.close()


def _metadata(owner: str, topic: str | None) -> dict[str, str]:
    return {"owner": owner} | ({} if topic is None else {"topic": topic})


class LangChainSystem:
    """langchain-postgres' PGVectorStore: what is filtered in indexed columns, HNSW built after filling, hybrid by fusion.

    It has no reranker of its own; LangChain's need weights from a hub, or a paid service.
    """

    table = "memories"
    words = "every word (plainto_tsquery)"

    def __init__(self, dsn: str, embedder: ReadyEmbedder, options: Mapping[str, str]) -> None:
        from langchain_core.embeddings import Embeddings
        from langchain_postgres import Column, PGEngine, PGVectorStore
        from langchain_postgres.v2.hybrid_search_config import (
            HybridSearchConfig,
            reciprocal_rank_fusion,
            weighted_sum_ranking,
        )

        class Known(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return embedder.embed_documents(texts)

            def embed_query(self, text: str) -> list[float]:
                return embedder.embed_query(text)

        def hybrid(k: int, fusion: Any, **parameters: float) -> HybridSearchConfig:
            # A new one for each search: it keeps the words of its first.
            return HybridSearchConfig(
                tsv_column="content_tsv", fusion_function=fusion, fusion_function_parameters=parameters,
                primary_top_k=k, secondary_top_k=k,
            )  # fmt: skip

        self._dsn = dsn
        self._engine = PGEngine.from_connection_string(
            url=dsn.replace("postgresql://", "postgresql+asyncpg://"),
            connect_args={"server_settings": dict(options)},
        )
        columns = ["unit", "owner", "topic"]
        config = hybrid(LIMIT, reciprocal_rank_fusion)
        if stored(dsn, self.table) is None:
            execute(dsn, "create extension if not exists vector")
            self._engine.init_vectorstore_table(
                self.table, DIMENSION, metadata_columns=[Column(name, "TEXT") for name in columns], hybrid_search_config=config
            )  # fmt: skip
            execute(dsn, f"create index on {self.table} (owner, topic)")
        self._dense, self._hybrid = (
            PGVectorStore.create_sync(
                self._engine,
                Known(),
                self.table,
                metadata_columns=columns,
                hybrid_search_config=own,
            )
            for own in (None, config)
        )

        def way(store: PGVectorStore, *made: Any, **parameters: float) -> Search:
            def search(text: str, owner: str, topic: str | None) -> list[list[str]]:
                own = {"hybrid_search_config": hybrid(*made, **parameters)} if made else {}
                found = store.similarity_search(
                    text, k=LIMIT, filter=_metadata(owner, topic), **own
                )
                return [[document.metadata["unit"]] for document in found]

            return search

        weights = {"primary_results_weight": 0.2, "secondary_results_weight": 0.8}
        self.ways = {
            DENSE: way(self._dense),
            HYBRID: way(self._hybrid, LIMIT, reciprocal_rank_fusion),
            f"hybrid, rank fusion of {DEEP}": way(self._hybrid, DEEP, reciprocal_rank_fusion),
            f"hybrid, 0.2 : 0.8 of {DEEP}": way(self._hybrid, DEEP, weighted_sum_ranking, **weights),
        }  # fmt: skip

    def fill(self, rows: Sequence[Row]) -> None:
        self._hybrid.add_embeddings(
            [row.content for row in rows],
            [row.vector.tolist() for row in rows],
            [{"unit": row.unit} | _metadata(row.owner, row.topic) for row in rows],
        )

    def index(self) -> None:
        from langchain_postgres.v2.indexes import HNSWIndex

        if not self._hybrid.is_valid_index():
            self._hybrid.apply_vector_index(HNSWIndex())
        if not self._hybrid.is_valid_index("langchain_tsv_index"):
            self._hybrid.apply_hybrid_search_index()

    def close(self) -> None:
        self._engine._run_as_sync(self._engine.close())


class LlamaIndexSystem:
    """LlamaIndex' PGVectorStore with its HNSW options and indexes for what is filtered; fusion by its QueryFusionRetriever.

    Its rerankers need weights from a hub, a chat model, or a paid service.
    """

    table = "data_memories"
    words = "any word, ts_rank; hybrid: behind those of the vectors"

    def __init__(self, dsn: str, embedder: ReadyEmbedder, options: Mapping[str, str]) -> None:
        from llama_index.core import MockEmbedding, VectorStoreIndex
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.schema import QueryBundle
        from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
        from llama_index.core.vector_stores.types import VectorStoreQuery as Query
        from llama_index.vector_stores.postgres import PGVectorStore

        self._store = PGVectorStore.from_params(
            connection_string=dsn.replace("postgresql://", "postgresql+psycopg2://"),
            async_connection_string=dsn.replace("postgresql://", "postgresql+asyncpg://"),
            create_engine_kwargs={"connect_args": {"options": _options(options)}},
            table_name="memories", embed_dim=DIMENSION, hybrid_search=True, use_jsonb=True,
            indexed_metadata_keys={("owner", "text"), ("topic", "text")},
            hnsw_kwargs={
                "hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": int(options.get("hnsw.ef_search", 40)),
                "hnsw_dist_method": "vector_cosine_ops",
            },
        )  # fmt: skip
        store = VectorStoreIndex.from_vector_store(
            self._store, embed_model=MockEmbedding(embed_dim=DIMENSION)
        )

        def filters(owner: str, topic: str | None) -> MetadataFilters:
            pairs = _metadata(owner, topic).items()
            return MetadataFilters(filters=[MetadataFilter(key=k, value=v) for k, v in pairs])

        def way(mode: str, k: int = LIMIT) -> Search:
            def search(text: str, owner: str, topic: str | None) -> list[list[str]]:
                result = self._store.query(
                    Query(
                        query_embedding=embedder.embed_query(text), query_str=text, similarity_top_k=k, sparse_top_k=LIMIT,
                        mode=mode, filters=filters(owner, topic),
                    )
                )  # fmt: skip
                return [[node.metadata["unit"]] for node in result.nodes or []][:LIMIT]

            return search

        def fused(mode: str, weights: list[float] | None = None) -> Search:
            def search(text: str, owner: str, topic: str | None) -> list[list[str]]:
                own = filters(owner, topic)
                arms = [
                    store.as_retriever(similarity_top_k=DEEP, filters=own, vector_store_query_mode=arm)
                    for arm in ("default", "sparse")
                ]  # fmt: skip
                fusion = QueryFusionRetriever(
                    arms, llm=MockLLM(), mode=mode, similarity_top_k=LIMIT, num_queries=1, use_async=False,
                    retriever_weights=weights,
                )  # fmt: skip
                found = fusion.retrieve(QueryBundle(text, embedding=embedder.embed_query(text)))
                return [[hit.node.metadata["unit"]] for hit in found]

            return search

        self.ways = {
            DENSE: way("default"), HYBRID: way("hybrid"),
            f"hybrid, {LIMIT // 2} + {LIMIT // 2}": way("hybrid", LIMIT // 2), "words alone": way("sparse"),
            f"hybrid, rank fusion of {DEEP}": fused("reciprocal_rerank"),
            f"hybrid, relative score of {DEEP}": fused("relative_score"),
            f"hybrid, relative score 0.35 : 0.65 of {DEEP}": fused("relative_score", [0.35, 0.65]),
        }  # fmt: skip

    def fill(self, rows: Sequence[Row]) -> None:
        from llama_index.core.schema import TextNode

        self._store.add(
            [
                TextNode(
                    text=row.content,
                    embedding=row.vector.tolist(),
                    metadata={"unit": row.unit} | _metadata(row.owner, row.topic),
                )
                for row in rows
            ]
        )

    def index(self) -> None:
        """Nothing: its indexes are there from the start."""

    def close(self) -> None:
        asyncio.run(self._store.close())


class LangGraphSystem:
    """LangGraph's PostgresStore with its vector index, a namespace for each owner; it has no search by words and no reranker."""

    table = "store_vectors"
    words = "has no search by words"

    def __init__(self, dsn: str, embedder: ReadyEmbedder, options: Mapping[str, str]) -> None:
        from langgraph.store.postgres import PostgresStore

        self._stack = ExitStack()
        self._store = self._stack.enter_context(
            PostgresStore.from_conn_string(
                f"{dsn}?options={quote(_options(options))}",
                index={"dims": DIMENSION, "embed": embedder.embed_documents, "fields": ["text"]},
            )
        )
        self._store.setup()
        self.ways = {DENSE: self._search}

    def fill(self, rows: Sequence[Row]) -> None:
        from langgraph.store.base import PutOp

        self._store.batch(
            [
                PutOp(
                    ("memories", row.owner),
                    row.unit,
                    {"text": row.content, "unit": row.unit, "topic": row.topic},
                )
                for row in rows
            ]
        )

    def index(self) -> None:
        """Nothing: its index is there from the start."""

    def _search(self, text: str, owner: str, topic: str | None) -> list[list[str]]:
        filtered = None if topic is None else {"topic": topic}
        found = self._store.search(("memories", owner), query=text, filter=filtered, limit=LIMIT)
        return [[item.value["unit"]] for item in found]

    def close(self) -> None:
        self._stack.close()


PEERS = {
    "langchain-postgres": LangChainSystem,
    "LlamaIndex PGVectorStore": LlamaIndexSystem,
    "LangGraph PostgresStore": LangGraphSystem,
}


def opened(
    name: str, dsn: str, embedder: ReadyEmbedder, clocks: Mapping[str, datetime]
) -> Iterator[tuple[str, System]]:
    """Open a system in each of its variants, the plain one first; `clocks` are the times at which owners ask, where not now."""
    if name == HTM:
        yield HTM, HTMSystem(dsn, embedder, clocks)
    else:
        for variant, options in VARIANTS.items():
            yield ", ".join(filter(None, (name, variant))), PEERS[name](dsn, embedder, options)


def filled(dsn: str, system: System, rows: Sequence[Row]) -> float:
    """Store the rows that are not stored yet, index them, and return the seconds that filling and indexing took in all runs.

    The seconds so far are the comment of the database; once it is indexed, they end it.
    """
    noted = json.loads(_one(dsn, NOTED) or '{"seconds": 0, "indexed": false}')

    def spend(what: Callable[[], object]) -> None:
        began = time.perf_counter()
        what()
        noted["seconds"] += time.perf_counter() - began
        name = urlsplit(dsn).path[1:]
        execute(dsn, f"comment on database {name} is '{json.dumps(noted)}'")

    if not noted["indexed"]:
        for start in range(stored(dsn, system.table) or 0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            spend(lambda batch=batch: system.fill(batch))
        spend(system.index)
        execute(dsn, "vacuum analyze")  # what autovacuum would do some time later
        execute(dsn, "checkpoint")
        noted["indexed"] = True
        spend(lambda: None)
    return float(noted["seconds"])


def stored(dsn: str, table: str) -> int | None:
    """Count the rows of a table; None where there is none."""
    with suppress(psycopg.errors.UndefinedTable):
        return int(_one(dsn, f"select count(*) from {table}"))
    return None


def database(server: str, name: str) -> str:
    """Make a database where it is not there yet, and give its DSN."""
    with suppress(psycopg.errors.DuplicateDatabase):
        execute(server, f"create database {name}")
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def execute(dsn: str, statement: str) -> None:
    """Execute a statement outside of a transaction."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


def _one(dsn: str, query: str) -> Any:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row and row[0]


def _options(settings: Mapping[str, str]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in settings.items())
