"""Loaded files, with their digests and the places of their chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..rules.text.markdown import Chunk
from . import locks, nodes, working
from .database import Connection, Row
from .queries import load


def lock(connection: Connection, path: str, *, owner: str) -> bytes | None:
    """Lock a file until the transaction ends, and return the digest of its last load, if there is one."""
    values = {"owner": owner, "path": path}
    locks.take(connection, "file", (owner, path))
    row = connection.execute(load("files")["digest"], values).fetchone()
    return None if row is None else bytes(row["digest"])


def digests(connection: Connection, paths: Sequence[str], *, owner: str) -> dict[str, bytes]:
    """The digests of the last load of these files; those never loaded are missing."""
    rows = connection.execute(load("files")["digests"], {"owner": owner, "paths": list(paths)})
    return {row["path"]: bytes(row["digest"]) for row in rows}


def put(
    connection: Connection,
    path: str,
    *,
    owner: str,
    session: str,
    digest: bytes,
    size: int,
    front: Mapping[str, Any],
    at: datetime,
    mentions: Sequence[UUID],
    chunks: Sequence[Chunk],
) -> None:
    """Store a file as it is now, with a mention for each chunk."""
    statements, file = load("files"), {"owner": owner, "path": path}
    connection.execute(
        statements["put"],
        file | {"session": session, "digest": digest, "size": size, "front": Jsonb(dict(front)), "at": at},
    )
    connection.execute(statements["delete_chunks"], file)
    places = {
        "mentions": list(mentions),
        "starts": [chunk.start for chunk in chunks],
        "stops": [chunk.stop for chunk in chunks],
        "headings": [Jsonb(list(chunk.headings)) for chunk in chunks],
    }
    connection.execute(statements["insert_chunks"], file | places)


def forget_missing(
    connection: Connection, session: str, *, owner: str, by: str, at: datetime, kept: Sequence[UUID]
) -> tuple[int, set[UUID]]:
    """Forget the mentions of a file that are not in `kept`; returns how many, and the nodes that no other mention keeps."""
    values = {"owner": owner, "session": session, "by": by, "at": at, "kept": list(kept)}
    hidden = [row["node_id"] for row in connection.execute(load("files")["forget_missing"], values)]
    touched = {node for node in hidden if node is not None}
    if touched:
        nodes.refresh(connection, touched, described=touched)
        working.remove_dead(connection, sorted(touched))
    return len(hidden), touched - nodes.live(connection, sorted(touched))


def drop(connection: Connection, path: str, *, owner: str) -> str | None:
    """Remove a file from the list and return its session, if it was there."""
    row = connection.execute(load("files")["drop"], {"owner": owner, "path": path}).fetchone()
    return None if row is None else str(row["session"])


def list_files(connection: Connection, under: str | None, *, owners: Sequence[str]) -> list[Row]:
    """The files at a path or below it; None means all."""
    return connection.execute(load("files")["list_files"], {"owners": list(owners), "under": under}).fetchall()


def chunks_below(connection: Connection, folder: str, *, owner: str) -> list[Row]:
    """The chunks of the files below a folder that are not forgotten, in order: path, node, headings and links."""
    return connection.execute(load("files")["chunks_below"], {"owner": owner, "under": folder}).fetchall()


def chunks(connection: Connection, path: str, *, owners: Sequence[str]) -> list[Row]:
    """A file's chunks that are not forgotten, in order: node, positions and headings."""
    return connection.execute(load("files")["chunks"], {"owners": list(owners), "path": path}).fetchall()
