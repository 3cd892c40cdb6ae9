"""Which indexes a question went through, by the server's own counts."""

from __future__ import annotations

import time
from collections.abc import Callable

from htm_core.store.database import Database


def used(database: Database, ask: Callable[[], object]) -> set[str]:
    """The indexes that a question, asked as the application's role, went through."""
    database.close()  # sessions publish their counts as they end, which over a network takes a moment
    before = _settled(database)
    ask()
    database.close()
    for _ in range(50):
        if found := {name for name, count in _settled(database).items() if count > before.get(name, 0)}:
            return found
    return set()


def _settled(database: Database) -> dict[str, int]:
    counts = _scans(database)
    for _ in range(50):
        time.sleep(0.1)
        counts, before = _scans(database), counts
        if counts == before:
            break
    return counts


def _scans(database: Database) -> dict[str, int]:
    with database.owner() as connection:
        rows = connection.execute(
            "select indexrelname, idx_scan from pg_stat_user_indexes where schemaname = current_schema()"
        ).fetchall()
    return {row["indexrelname"]: row["idx_scan"] for row in rows}
