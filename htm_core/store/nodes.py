"""Nodes: the contents of memories, with their passages and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..errors import StorageError
from ..types import DEFAULT_IMPORTANCE, Node
from .connection import HalfVector
from .database import Connection
from .queries import load
from .records import Entry, node_of


def insert(connection: Connection, entries: Sequence[Entry], *, owner: str) -> set[UUID]:
    """Insert the nodes of entries that do not exist yet, with their passages; returns the new ones."""
    first = {entry.node: entry for entry in reversed(entries) if entry.node is not None}
    rows = list(first.values())
    new = {
        row["id"]
        for row in connection.execute(
            load("nodes")["insert"],
            {
                "owner": owner,
                "ids": [entry.node for entry in rows],
                "contents": [entry.content for entry in rows],
                "tokens": [entry.tokens for entry in rows],
                "ats": [entry.at for entry in rows],
            },
        )
    }
    fresh = [entry for entry in rows if entry.node in new]
    if fresh:
        _insert_state(connection, fresh)
        _insert_passages(connection, fresh, owner=owner)
    return new


def _insert_state(connection: Connection, entries: Sequence[Entry]) -> None:
    connection.execute(
        load("nodes")["insert_state"],
        {
            "ids": [entry.node for entry in entries],
            "importances": [DEFAULT_IMPORTANCE if entry.importance is None else entry.importance for entry in entries],
            "metadatas": [Jsonb(entry.metadata) for entry in entries],
            "ats": [entry.at for entry in entries],
        },
    )


def _insert_passages(connection: Connection, entries: Sequence[Entry], *, owner: str) -> None:
    pieces = [(entry.node, ordinal, piece) for entry in entries for ordinal, piece in enumerate(entry.pieces)]
    written = connection.execute(
        load("nodes")["insert_passages"],
        {
            "owner": owner,
            "ids": [piece.id for _, _, piece in pieces],
            "nodes": [node for node, _, _ in pieces],
            "ordinals": [ordinal for _, ordinal, _ in pieces],
            "starts": [piece.starts for _, _, piece in pieces],
            "stops": [piece.stops for _, _, piece in pieces],
            "bodies": [piece.words for _, _, piece in pieces],
        },
    )
    if written.rowcount != len(pieces):
        raise StorageError(
            f"expected {len(pieces)} passages to be written, got {written.rowcount}; nothing was written"
        )


def insert_vectors(connection: Connection, vectors: Mapping[UUID, Sequence[float]], *, model: str) -> None:
    """Store vectors of passages; raises `DimensionMismatch` when the model has another dimension here."""
    if not vectors:
        return
    dimension = len(next(iter(vectors.values())))
    row = connection.execute(load("nodes")["take_space"], {"model": model, "dimension": dimension}).fetchone()
    assert row is not None  # a select without from has one row
    connection.execute(load("nodes")["lock_nodes_of_passages"], {"passages": list(vectors)})
    connection.execute(
        load("nodes")["insert_vectors"],
        {
            "space": row["space"],
            "passages": list(vectors),
            "embeddings": [HalfVector(list(vector)) for vector in vectors.values()],
        },
    )


def set_importances(connection: Connection, importances: Mapping[UUID, float]) -> None:
    """Set the importance of existing nodes."""
    if importances:
        ids = sorted(importances)
        values = {"ids": ids, "importances": [importances[id] for id in ids]}
        connection.execute(load("nodes")["set_importance"], values)


def refresh(connection: Connection, ids: Iterable[UUID], *, described: Iterable[UUID] = ()) -> None:
    """Recompute which nodes are live, and merge the metadata of `described` again."""
    connection.execute(load("nodes")["refresh"], {"ids": list(ids), "described": list(described)})


def read(
    connection: Connection, ids: Sequence[UUID], *, owners: Sequence[str], hidden: bool = False
) -> dict[UUID, Node]:
    """The nodes of these ids and owners; forgotten ones only with `hidden`."""
    rows = connection.execute(load("nodes")["read"], {"ids": list(ids), "owners": list(owners), "hidden": hidden})
    return {row["id"]: node_of(row) for row in rows}


def read_written(connection: Connection, ids: Sequence[UUID], *, owner: str) -> tuple[dict[UUID, Node], set[UUID]]:
    """The nodes of these ids, forgotten ones too, and which of them are live."""
    values = {"ids": list(ids), "owners": [owner], "hidden": True}
    rows = connection.execute(load("nodes")["read"], values).fetchall()
    return {row["id"]: node_of(row) for row in rows}, {row["id"] for row in rows if row["live"]}


def list_ids(
    connection: Connection,
    *,
    owners: Sequence[str],
    tags: Sequence[str] | None,
    equal: Mapping[str, Any] | None,
    metadata: Mapping[str, Any] | None,
    limit: int,
    after: UUID | None,
) -> list[UUID]:
    """The ids of live nodes that satisfy the filters, newest first, starting after `after`."""
    filters = {
        "owners": list(owners),
        "tags": None if tags is None else list(tags),
        "equal": None if equal is None else Jsonb(equal),
        "metadata": None if metadata is None else Jsonb(metadata),
        "limit": limit,
        "after": after,
    }
    return [row["id"] for row in connection.execute(load("nodes")["list_ids"], filters)]


def exists(connection: Connection, id: UUID, *, owners: Sequence[str]) -> bool:
    """Whether a node exists, live or not."""
    row = connection.execute(load("nodes")["exists"], {"id": id, "owners": list(owners)}).fetchone()
    return row is not None and bool(row["there"])


def containing(connection: Connection, text: str, *, owners: Sequence[str]) -> list[UUID]:
    """The live nodes that contain a text, ignoring letter case and white space; reads every node of the owners."""
    rows = connection.execute(load("nodes")["containing"], {"text": text, "owners": list(owners)})
    return [row["id"] for row in rows]


def add_accesses(connection: Connection, access_counts: Mapping[UUID, tuple[int, datetime]]) -> None:
    """Add to nodes' access counts, in the order of ids."""
    ids = sorted(access_counts)
    connection.execute(
        load("nodes")["add_accesses"],
        {"ids": ids, "times": [access_counts[id][0] for id in ids], "ats": [access_counts[id][1] for id in ids]},
    )


def live(connection: Connection, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these nodes are live."""
    return {row["id"] for row in connection.execute(load("nodes")["live"], {"ids": list(ids)})}
