"""Collections: documents under the callers' ids, with their words and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.types import CollectionHit, CollectionItem
from ..db.connection import HalfVector, Vector
from ..db.database import Connection, Row
from ..db.queries import load
from .fusion import K1, B

# Below this dimension vectors are stored in full precision: with so few numbers the rounding of
# halfvec would show.
EXACT_BELOW = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPassage:
    """A searchable part of a document: words as the lexical index gets them, a vector, or both.

    `text` is the text that its vector must still be computed from.
    """

    words: str
    text: str | None = None
    vector: Sequence[float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One item, ready to be written, with its uid, its time of expiry and its parts."""

    uid: UUID
    id: str
    item: CollectionItem
    expires_at: datetime | None
    parts: tuple[DocumentPassage, ...]


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A collection's id, and the model and dimension of its vectors, which are None until it has
    one.
    """

    id: int
    model: str | None
    dimension: int | None
    indexed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilters:
    """Conditions that a document must satisfy. None means no condition; documents that have expired
    at `at` never match.
    """

    at: datetime
    uids: Sequence[UUID] | None = None
    namespace_prefix: Sequence[str] | None = None
    references: Sequence[str] | None = None
    metadata_equal: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    value_equal: Mapping[str, Any] | None = None
    value: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuery:
    """A search: `words` for the lexical arm, `embedding` for the vector arm, and the vector's
    weight from 0 to 1.

    Each arm gives at most as many candidates as its pool; an arm without its part does not run.
    """

    words: str | None
    embedding: Sequence[float] | None
    vector_share: float
    min_score: float
    vector_pool: int
    text_pool: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Part of the results to return; a limit of None means all. `newest_first` is for lists."""

    limit: int | None
    offset: int = 0
    with_vectors: bool = False
    newest_first: bool = False


def find(connection: Connection, name: str) -> CollectionState | None:
    """The collection of that name, if there is one."""
    row = connection.execute(load("collections/store")["find"], {"name": name}).fetchone()
    return CollectionState(**row) if row else None


def ensure(
    connection: Connection, name: str, *, language: str, model: str | None, dimension: int | None
) -> CollectionState:
    """The collection of a name, created if it is missing; `model` becomes its model if it has none
    yet.

    If the returned model is another one than the given, the caller must not write vectors.
    """
    values = {"name": name, "language": language, "model": model, "dimension": dimension}
    row = connection.execute(load("collections/store")["ensure"], values).fetchone()
    assert row is not None  # take_collection has just inserted it
    return CollectionState(**row)


def write(
    connection: Connection, documents: Sequence[Document], *, collection: int, at: datetime
) -> None:
    """Insert documents or replace those with the same uid; the uids must differ from each other."""
    items = [document.item for document in documents]
    uids = [document.uid for document in documents]
    values = {
        "collection": collection,
        "at": at,
        "uids": uids,
        "namespaces": [Jsonb(list(item.namespace)) for item in items],
        "ids": [document.id for document in documents],
        "contents": [item.content for item in items],
        "values": [Jsonb(item.value) for item in items],
        "metadatas": [Jsonb(item.metadata) for item in items],
        "payloads": [item.payload for item in items],
        "references": [item.reference for item in items],
        "ttls": [item.ttl for item in items],
        "expiries": [document.expires_at for document in documents],
    }
    connection.execute(load("collections/store")["upsert"], values)
    connection.execute(load("collections/store")["delete_passages"], {"uids": uids})
    parts = [
        (uid, at, part)
        for uid, each in zip(uids, documents, strict=True)
        for at, part in enumerate(each.parts)
    ]
    if parts:
        connection.execute(
            load("collections/store")["insert_passages"],
            _columns(parts) | {"collection": collection},
        )


def _columns(parts: Sequence[tuple[UUID, int, DocumentPassage]]) -> dict[str, Any]:
    vectors = [part.vector for _, _, part in parts]
    return {
        "documents": [uid for uid, _, _ in parts],
        "ordinals": [ordinal for _, ordinal, _ in parts],
        "words": [part.words for _, _, part in parts],
        "embeddings": [
            None if v is None or len(v) < EXACT_BELOW else HalfVector(list(v)) for v in vectors
        ],
        "exacts": [
            None if v is None or len(v) >= EXACT_BELOW else Vector(list(v)) for v in vectors
        ],
        "k1": K1,
        "b": B,
    }


def lock(connection: Connection, uids: Sequence[UUID]) -> None:
    """Lock these documents until the transaction ends."""
    connection.execute(load("collections/store")["lock"], {"uids": list(uids)})


def exceeds(connection: Connection, collection: int, *, threshold: int) -> bool:
    """True if a collection has more than `threshold` passages."""
    values = {"collection": collection, "threshold": threshold}
    row = connection.execute(load("collections/store")["exceeds"], values).fetchone()
    return bool(row and row["outgrown"])


def read(
    connection: Connection, uids: Sequence[UUID], *, at: datetime
) -> dict[UUID, CollectionItem]:
    """The items of these uids that exist and have not expired."""
    rows = connection.execute(load("collections/store")["read"], {"uids": list(uids), "at": at})
    return {row["uid"]: _item(row) for row in rows}


def extend_ttl(connection: Connection, uids: Sequence[UUID], *, at: datetime) -> None:
    """Start the time to live of documents again, for those that have one."""
    connection.execute(load("collections/store")["extend_ttl"], {"uids": list(uids), "at": at})


def set_times(connection: Connection, times: Mapping[UUID, tuple[datetime, datetime]]) -> None:
    """Set when documents were first and last put: for those that come from elsewhere, with their
    times.
    """
    uids = sorted(times)  # one order for all writers: no deadlock
    values = {
        "uids": uids,
        "created": [times[uid][0] for uid in uids],
        "updated": [times[uid][1] for uid in uids],
    }
    lock(connection, uids)
    connection.execute(load("collections/store")["set_times"], values)


def search(
    connection: Connection,
    query: DocumentQuery,
    filters: DocumentFilters,
    page: Page,
    *,
    collection: int,
) -> list[CollectionHit]:
    """One page of the best documents for a query."""
    values = {
        "query_words": query.words,
        "embedding": None if query.embedding is None else Vector(list(query.embedding)),
        "vector_pool": query.vector_pool,
        "text_pool": query.text_pool,
        "vector_share": query.vector_share,
        "min_score": query.min_score,
    }
    columns = values | _filter_columns(filters, collection) | _page_columns(page)
    return [_hit(row) for row in connection.execute(load("collections/store")["search"], columns)]


def list_items(
    connection: Connection, filters: DocumentFilters, page: Page, *, collection: int
) -> list[CollectionHit]:
    """One page of documents, in the order of their first insertion; or those first that were put
    last.
    """
    statement = load("collections/store")["list_latest" if page.newest_first else "list_items"]
    columns = _filter_columns(filters, collection) | _page_columns(page)
    return [_hit(row) for row in connection.execute(statement, columns)]


def ids(
    connection: Connection,
    *,
    collection: int,
    namespace: Sequence[str],
    prefix: str,
    after: UUID | None,
    limit: int | None,
    at: datetime,
) -> list[str]:
    """The ids in exactly this namespace that begin with `prefix`, in an order of their own, behind
    the uid `after`.
    """
    values = {
        "collection": collection,
        "namespace": list(namespace),
        "prefix": prefix,
        "after": after,
        "limit": limit,
    }
    return [
        row["id"]
        for row in connection.execute(load("collections/store")["ids"], values | {"at": at})
    ]


def server_time(connection: Connection) -> datetime:
    """Return the time by the server's clock."""
    row = connection.execute(load("collections/store")["server_time"]).fetchone()
    assert row is not None  # a select without a table has one row
    now: datetime = row["now"]
    return now


def count(connection: Connection, filters: DocumentFilters, *, collection: int) -> int:
    """Count the documents that satisfy the filters."""
    row = connection.execute(
        load("collections/store")["count"], _filter_columns(filters, collection)
    ).fetchone()
    return int(row["count"]) if row else 0


def delete(connection: Connection, filters: DocumentFilters, *, collection: int) -> int:
    """Delete the documents that satisfy the filters, with their vectors, and return how many."""
    return connection.execute(
        load("collections/store")["delete"], _filter_columns(filters, collection)
    ).rowcount


def clear(connection: Connection, *, collection: int) -> int:
    """Delete every document of a collection and return how many; its next vector may be of any
    model.
    """
    connection.execute(load("collections/store")["release_space"], {"collection": collection})
    return connection.execute(
        load("collections/store")["clear"], {"collection": collection}
    ).rowcount


def sweep(connection: Connection, *, collection: int, at: datetime) -> int:
    """Delete expired documents and return how many."""
    return connection.execute(
        load("collections/store")["sweep"], {"collection": collection, "at": at}
    ).rowcount


def namespaces(
    connection: Connection,
    page: Page,
    *,
    collection: int,
    prefix: Sequence[str],
    suffix: Sequence[str],
    depth: int | None,
    at: datetime,
) -> list[tuple[str, ...]]:
    """The namespaces with documents, cut at `depth` labels, without duplicates, sorted."""
    values = {
        "collection": collection,
        "prefix": list(prefix),
        "suffix": list(suffix),
        "depth": depth,
        "at": at,
    }
    rows = connection.execute(load("collections/store")["namespaces"], values | _page_columns(page))
    return [tuple(row["namespace"]) for row in rows]


def _page_columns(page: Page) -> dict[str, Any]:
    return {"limit": page.limit, "offset": page.offset, "with_vectors": page.with_vectors}


def _filter_columns(filters: DocumentFilters, collection: int) -> dict[str, Any]:
    trees = {
        name: getattr(filters, name)
        for name in ("metadata_equal", "metadata", "value_equal", "value")
    }
    return {name: None if tree is None else Jsonb(tree) for name, tree in trees.items()} | {
        "collection": collection,
        "uids": None if filters.uids is None else list(filters.uids),
        "namespace_prefix": None
        if filters.namespace_prefix is None
        else list(filters.namespace_prefix),
        "references": None if filters.references is None else list(filters.references),
        "at": filters.at,
    }


def _item(row: Row) -> CollectionItem:
    ttl: timedelta | None = row["ttl"]
    return CollectionItem(
        id=row["id"],
        content=row["content"],
        value=row["value"],
        metadata=row["metadata"],
        namespace=tuple(row["namespace"]),
        payload=row["payload"],
        reference=row["reference"],
        ttl=ttl,
        expires_at=row["expires_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _hit(row: Row) -> CollectionHit:
    return CollectionHit(
        item=_item(row),
        score=row["score"],
        vector_rank=row["vector_rank"],
        text_rank=row["text_rank"],
        cosine=row["cosine"],
        words=row["words"],
        vector=None if row["vector"] is None else tuple(row["vector"]),
    )
