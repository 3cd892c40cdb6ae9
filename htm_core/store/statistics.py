"""Counts of what an owner has."""

from __future__ import annotations

from collections.abc import Sequence

from .database import Connection, Row
from .queries import load


def count(connection: Connection, *, owners: Sequence[str]) -> Row:
    """Nodes, mentions, forgotten, sessions, robots, tags, passages, vectors, oldest, newest and the server's version."""
    row = connection.execute(load("statistics")["count"], {"owners": list(owners)}).fetchone()
    assert row is not None  # a select without from has one row
    return row
