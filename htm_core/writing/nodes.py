"""Nodes: the contents of memories, with their passages and vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.types import Node
from ..db.connection import HalfVector, Reader
from ..db.database import Connection, Row
from ..db.queries import load
from ..db.records import node_of
from ..reading.relevance import FITTED_ON


def insert_vectors(
    connection: Connection, vectors: Mapping[UUID, Sequence[float]], *, model: str
) -> None:
    """Have vectors of passages stored; what sends it raises `DimensionMismatch` when the model has
    another dimension here.
    """
    if not vectors:
        return
    dimension = len(next(iter(vectors.values())))
    connection.queue(load("writing/nodes")["take_space"], {"model": model, "dimension": dimension})
    connection.queue(load("writing/nodes")["lock_nodes_of_passages"], {"passages": list(vectors)})
    connection.queue(
        load("writing/nodes")["insert_vectors"],
        {
            "model": model,
            "passages": list(vectors),
            "embeddings": [HalfVector(list(vector)) for vector in vectors.values()],
            "calibrated": None if FITTED_ON in model.split(":") else model,
        },
    )


def cosine_scale(connection: Connection, model: str) -> float:
    """Return the factor that a cosine's distance from 1 is multiplied by before it counts; 1 for a
    model that is new here.
    """
    row = connection.execute(load("writing/nodes")["cosine_scale"], {"model": model}).fetchone()
    return 1.0 if row is None else float(row["scale"])


def refresh(connection: Connection, ids: Iterable[UUID], *, described: Iterable[UUID] = ()) -> None:
    """Recompute which nodes are live, and merge the metadata of `described` again."""
    connection.queue(
        load("writing/nodes")["refresh"], {"ids": list(ids), "described": list(described)}
    )


def read(
    reads: Reader,
    ids: Sequence[UUID],
    *,
    owners: Sequence[str],
    hidden: bool = False,
    as_of: datetime | None = None,
) -> dict[UUID, Node]:
    """The nodes of these ids and owners; forgotten ones only with `hidden`, and with `as_of` those
    that were said by then.
    """
    values = {"ids": list(ids), "owners": list(owners), "hidden": hidden, "as_of": as_of}
    return {row["id"]: node_of(row) for row in reads(load("writing/nodes")["read"], values)}


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
    return [row["id"] for row in connection.execute(load("writing/nodes")["list_ids"], filters)]


def exists(connection: Connection, id: UUID, *, owners: Sequence[str]) -> bool:
    """True if a node exists, live or not."""
    row = connection.execute(
        load("writing/nodes")["exists"], {"id": id, "owners": list(owners)}
    ).fetchone()
    return row is not None and bool(row["there"])


def containing(connection: Connection, text: str, *, owners: Sequence[str]) -> list[UUID]:
    """The live nodes that contain a text, ignoring letter case and white space; reads every node of
    the owners.
    """
    rows = connection.execute(
        load("writing/nodes")["containing"], {"text": text, "owners": list(owners)}
    )
    return [row["id"] for row in rows]


def add_accesses(
    connection: Connection, access_counts: Mapping[UUID, tuple[int, datetime]]
) -> None:
    """Add to nodes' access counts, in the order of ids."""
    ids = sorted(access_counts)
    connection.queue(
        load("writing/nodes")["add_accesses"],
        {
            "ids": ids,
            "times": [access_counts[id][0] for id in ids],
            "ats": [access_counts[id][1] for id in ids],
        },
    )


def live(connection: Connection, ids: Sequence[UUID]) -> set[UUID]:
    """Return those of these nodes that are live."""
    return queue_live(connection, ids)()


def queue_live(connection: Connection, ids: Sequence[UUID]) -> Callable[[], set[UUID]]:
    """`live`, read with what is sent next."""
    if not ids:
        return set
    queued = connection.queue(load("writing/nodes")["live"], {"ids": list(ids)})
    return lambda: {row["id"] for row in queued.rows}


def owners(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Whose each of these nodes is."""
    return {
        row["id"]: row["owner"]
        for row in connection.execute(load("writing/nodes")["owners"], {"ids": list(ids)})
    }


@dataclass(frozen=True, slots=True)
class MapStamp:
    """Nodes of a map: how many there are, those with a vector, newest first, and a digest of all
    that.
    """

    nodes: int
    placed: list[UUID]
    stamp: str


def map_stamp(
    connection: Connection, *, owners: Sequence[str], tags: Sequence[str] | None, limit: int
) -> MapStamp:
    """Return the stamp of a map of the newest nodes, without their contents and vectors."""
    values = {"owners": list(owners), "tags": None if tags is None else list(tags), "limit": limit}
    row = connection.execute(load("writing/nodes")["map_stamp"], values).fetchone()
    assert row is not None  # an aggregate without groups has one row
    return MapStamp(**row)


def map_points(connection: Connection, ids: Sequence[UUID], *, characters: int) -> list[Row]:
    """The nodes of a map, oldest first, with the beginning of their contents and a vector (d,) as
    numpy has it.
    """
    rows = connection.execute(
        load("writing/nodes")["map_points"], {"ids": list(ids), "characters": characters}
    )
    return [{**row, "embedding": row["embedding"].to_numpy()} for row in rows]
