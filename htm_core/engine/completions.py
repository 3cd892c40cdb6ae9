"""Completions of a word that somebody has begun to type: keys and robots."""

from __future__ import annotations

from collections.abc import Sequence

from ..db.database import Connection
from ..db.queries import load


def beginning(
    connection: Connection, kind: str, begins: str, *, owners: Sequence[str], limit: int
) -> list[tuple[str, str]]:
    """The "keys" or "robots" that begin so, each with a few words about it."""
    values = {"owners": list(owners), "begins": begins, "limit": limit}
    return [
        (row["value"], row["about"])
        for row in connection.execute(load("engine/completions")[kind], values)
    ]
