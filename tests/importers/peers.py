"""Databases as other packages fill them, by their own classes, and what these say is in them.

Each function makes a package's tables in an empty database, and returns what its own reads and searches answer.
"""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.engine import URL

from tests.stand_ins import HashEmbedder

DIMENSION = 32
TOPICS = ("harbour", "lighthouse", "bakery", "library", "station", "market")
PLACES = ("north", "south", "east", "west", "old", "new", "upper", "lower", "inner", "outer")
QUERIES = [f"{TOPICS[at % 6]} {place} opens" for at, place in enumerate(PLACES)]
TEXTS = [f"The {place} {topic} opens at {at} and closes at {at + 7}." for at, (topic, place) in enumerate(
    (topic, place) for topic in TOPICS for place in PLACES)]  # fmt: skip


class Model(HashEmbedder, Embeddings):
    """The model that made all the vectors, as LangChain has models."""


def embedder() -> Model:
    """The model that made all the vectors."""
    return Model(DIMENSION)


def address(dsn: str, driver: str) -> URL:
    """A DSN as SQLAlchemy has it."""
    parts = conninfo_to_dict(dsn)
    host = str(parts.get("host") or "")
    socket = {"host": host} if host.startswith("/") else {}
    if socket and parts.get("port"):
        socket["port"] = str(parts["port"])
    return URL.create(
        f"postgresql+{driver}", username=parts.get("user"), password=parts.get("password"), database=parts.get("dbname"),
        host=None if socket else host, port=None if socket or not parts.get("port") else int(str(parts["port"])), query=socket,
    )  # fmt: skip


def metadata(at: int) -> dict[str, Any]:
    """Metadata with what JSON has, and what `jsonb` would change."""
    return {
        "at": at,
        "topic": TOPICS[at // 10],
        "even": at % 2 == 0,
        "nested": {"list": [at, None, 1.5]},
        "zero": -0.0,
        "big": 1e300,
    }


def langchain_postgres(dsn: str) -> dict[str, Any]:
    """`PGVectorStore` with a single column for the topic."""
    from langchain_core.documents import Document
    from langchain_postgres import Column, PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(address(dsn, "psycopg"))
    try:
        engine.init_vectorstore_table(
            "guide", DIMENSION, metadata_columns=[Column("topic", "TEXT")], id_column=Column("langchain_id", "TEXT")
        )
        store = PGVectorStore.create_sync(engine, embedder(), "guide", metadata_columns=["topic"])
        ids = [f"guide-{at:02}" for at in range(len(TEXTS))]
        store.add_documents([Document(text, metadata=metadata(at)) for at, text in enumerate(TEXTS)], ids=ids)
        store.add_documents([Document("\u00fcber alles \U0001f600", metadata={"nul": "a\u2028b"})], ids=["odd id/1"])
        documents = store.get_by_ids([*ids, "odd id/1"])
        return {
            "documents": {each.id: [each.page_content, each.metadata] for each in documents},
            "found": {query: [each.id for each in store.similarity_search(query, k=10)] for query in QUERIES},
        }
    finally:
        engine._run_as_sync(engine.close())
