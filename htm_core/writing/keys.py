"""Keys: the caller's name for a value that changes. Each value is a version, and old
versions stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from ..db.connection import Reader
from ..db.database import Connection
from ..db.queries import load
from ..db.records import Entry
from ..db.transactions import take_locks


def lock(connection: Connection, key: str, *, owner: str) -> tuple[UUID, int] | None:
    """Lock a key until the transaction ends, and return its node and version, if it has one."""
    lock_all(connection, [key], owner=owner)
    rows = connection.fetch(load("writing/keys")["current"], {"owner": owner, "key": key})
    return (rows[0]["node_id"], rows[0]["version"]) if rows else None


def lock_all(connection: Connection, names: Sequence[str], *, owner: str) -> None:
    """Lock keys until the transaction ends, in one order for all writers."""
    take_locks(connection, "key", *((owner, name) for name in names))


def assign(
    connection: Connection, entries: Sequence[Entry], *, owner: str, robot: str
) -> set[UUID]:
    """Give keys, which are locked, their new values, in order; returns the nodes that may have
    become live or hidden.
    """
    assignments = [
        (entry.key, entry.node, entry.at)
        for entry in entries
        if entry.key is not None and entry.node is not None
    ]
    if not assignments:
        return set()
    names = sorted({key for key, _, _ in assignments})
    rows = connection.fetch(load("writing/keys")["values"], {"owner": owner, "keys": names})
    reached = {row["key"]: (row["node_id"], row["version"]) for row in rows}
    changed: set[UUID] = set()
    superseded: set[str] = set()
    values: list[tuple[str, int, UUID, datetime]] = []
    for key, node, at in assignments:
        before, version = reached[key]
        if before == node:
            continue
        changed.add(node)
        if before is not None:
            changed.add(before)
            superseded.add(key)
        reached[key] = (node, version + 1)
        values.append((key, version + 1, node, at))
    if superseded:
        connection.queue(
            load("writing/keys")["supersede"], {"owner": owner, "keys": sorted(superseded)}
        )
    if values:
        keys, versions, nodes, ats = (list(column) for column in zip(*values, strict=True))
        current = [version == reached[key][1] for key, version, _, _ in values]
        connection.queue(
            load("writing/keys")["insert"],
            {
                "owner": owner,
                "robot": robot,
                "keys": keys,
                "versions": versions,
                "nodes": nodes,
                "ats": ats,
            }
            | {"current": current},
        )
    return changed


def find(read: Reader, key: str, *, owners: Sequence[str]) -> UUID | None:
    """The present node of a key; the user's own comes before the shared one."""
    rows = read(load("writing/keys")["find"], {"owners": list(owners), "key": key})
    return rows[0]["node_id"] if rows else None


def find_as_of(
    connection: Connection, key: str, *, owners: Sequence[str], as_of: datetime
) -> tuple[UUID, int] | None:
    """The node that a key had at a time, and its version; the user's own comes before the shared
    one.
    """
    row = connection.execute(
        load("writing/keys")["find_as_of"], {"owners": list(owners), "key": key, "as_of": as_of}
    ).fetchone()
    return (row["node_id"], row["version"]) if row else None


def history(connection: Connection, key: str, *, owners: Sequence[str]) -> list[tuple[UUID, int]]:
    """All values of a key that are not forgotten, oldest first, with their versions."""
    row = connection.execute(
        load("writing/keys")["owner"], {"owners": list(owners), "key": key}
    ).fetchone()
    if row is None:
        return []
    rows = connection.execute(load("writing/keys")["history"], {"owner": row["owner"], "key": key})
    return [(each["node_id"], each["version"]) for each in rows]
