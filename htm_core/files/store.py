"""Loaded files, with their digests and the places of their chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..db.database import Connection, Row
from ..db.queries import load
from ..db.transactions import take_locks
from ..text.markdown import Chunk
from ..working import store
from ..writing import nodes


def lock(connection: Connection, paths: Sequence[str], *, owner: str) -> dict[str, bytes]:
    """Lock files until the transaction ends, and return the digests of the last load of those that
    were loaded.
    """
    take_locks(connection, "file", *((owner, path) for path in paths))
    return digests(connection, paths, owner=owner)


def digests(connection: Connection, paths: Sequence[str], *, owner: str) -> dict[str, bytes]:
    """The digests of the last load of these files; those never loaded are missing."""
    rows = connection.execute(
        load("files/store")["digests"], {"owner": owner, "paths": list(paths)}
    )
    return {row["path"]: bytes(row["digest"]) for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file as it is stored, with a mention for each chunk."""

    path: str
    session: str
    digest: bytes
    size: int
    front: Mapping[str, Any]
    mentions: Sequence[UUID]
    chunks: Sequence[Chunk]


def put(connection: Connection, stored: Sequence[StoredFile], *, owner: str, at: datetime) -> None:
    """Store files as they are now."""
    statements = load("files/store")
    rows = {
        "paths": [file.path for file in stored],
        "sessions": [file.session for file in stored],
        "digests": [file.digest for file in stored],
        "sizes": [file.size for file in stored],
        "fronts": [Jsonb(dict(file.front)) for file in stored],
    }
    connection.execute(statements["put"], rows | {"owner": owner, "at": at})
    connection.execute(statements["delete_chunks"], {"owner": owner, "paths": rows["paths"]})
    places = [
        (file.path, ordinal, mention, chunk)
        for file in stored
        for ordinal, (mention, chunk) in enumerate(zip(file.mentions, file.chunks, strict=True), 1)
    ]
    chunks = {
        "paths": [path for path, _, _, _ in places],
        "ordinals": [ordinal for _, ordinal, _, _ in places],
        "mentions": [mention for _, _, mention, _ in places],
        "starts": [chunk.start for _, _, _, chunk in places],
        "stops": [chunk.stop for _, _, _, chunk in places],
        "headings": [Jsonb(list(chunk.headings)) for _, _, _, chunk in places],
    }
    connection.execute(statements["insert_chunks"], chunks | {"owner": owner})


def join(connection: Connection, path: str, digest: bytes, *, owner: str) -> None:
    """Store the digest of a file that was stored without one until its links were made."""
    connection.execute(
        load("files/store")["join"], {"owner": owner, "path": path, "digest": digest}
    )


def forget_missing(
    connection: Connection,
    sessions: Sequence[str],
    *,
    owner: str,
    by: str,
    at: datetime,
    kept: Sequence[UUID],
) -> tuple[Counter[str], set[UUID]]:
    """Forget the mentions of files that are not in `kept`; returns how many by session, and the
    nodes that nothing keeps.
    """
    values = {"owner": owner, "sessions": list(sessions), "by": by, "at": at, "kept": list(kept)}
    hidden = connection.execute(load("files/store")["forget_missing"], values).fetchall()
    touched = {row["node_id"] for row in hidden if row["node_id"] is not None}
    if touched:
        nodes.refresh(connection, touched, described=touched)
        store.remove_dead(connection, sorted(touched))
    dead = touched - nodes.live(connection, sorted(touched)) if touched else touched
    return Counter(str(row["session"]) for row in hidden), dead


def drop(connection: Connection, path: str, *, owner: str) -> str | None:
    """Remove a file from the list and return its session, if it was there."""
    row = connection.execute(load("files/store")["drop"], {"owner": owner, "path": path}).fetchone()
    return None if row is None else str(row["session"])


def list_files(connection: Connection, under: str | None, *, owners: Sequence[str]) -> list[Row]:
    """The files at a path or below it; None means all."""
    return connection.execute(
        load("files/store")["list_files"], {"owners": list(owners), "under": under}
    ).fetchall()


def chunks_below(connection: Connection, folder: str, *, owner: str) -> list[Row]:
    """The chunks of the files below a folder that are not forgotten, in order: path, node, headings
    and links.
    """
    return connection.execute(
        load("files/store")["chunks_below"], {"owner": owner, "under": folder}
    ).fetchall()


def chunks(connection: Connection, path: str, *, owners: Sequence[str]) -> list[Row]:
    """A file's chunks that are not forgotten, in order: node, positions and headings."""
    return connection.execute(
        load("files/store")["chunks"], {"owners": list(owners), "path": path}
    ).fetchall()
