"""Locks that a transaction holds until it ends, on things that may have no row of their own yet. Why rows: docs/why/store.md."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .database import Connection
from .queries import load


def take(connection: Connection, kind: str, *named: tuple[str, ...]) -> None:
    """Lock things of the transaction's tenant until the transaction ends, in one order for all; waits for other holders.

    A thing is a kind and what names it there. Locking again what the transaction holds changes nothing.
    """
    if named:
        names = {"names": _hashes(kind, named)}
        connection.queue(load("db/locks")["insert"], names)
        connection.queue(load("db/locks")["delete"], names)


def _hashes(kind: str, named: Iterable[tuple[str, ...]]) -> list[bytes]:
    """Each thing's hash, in order: no two have the same, and names may be long."""
    return sorted({hashlib.sha256("\x1f".join((kind, *parts)).encode()).digest() for parts in named})
