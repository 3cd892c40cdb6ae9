"""The connection on which a process receives notifications of committed changes."""

from __future__ import annotations

import re
import time

from ..base.errors import DatabaseUnavailable
from .connection import Connection, connect, refuse_pooler
from .database import Database
from .errors import translated
from .queries import load

MOST_IDS = 10_000
LONGEST_READ = 0.2  # seconds
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ListenConnection:
    """A connection that listens on the installation's channel for ids of changed rows. They are
    hints: the tables are the truth.

    Raises `DatabaseUnavailable`, and `StorageError` through a pooler, where notifications never
    arrive.
    """

    def __init__(self, database: Database) -> None:
        settings = database.settings
        with database.transaction("") as transaction:
            row = transaction.execute(load("engine/groups/store")["channel"]).fetchone()
        dsn = settings.listen_url or database.dsn("htm_app")
        assert row is not None  # the migration that made the table has put one row into it
        channel = row["name"]
        self._database, self._moves = database, database.moves
        with translated():
            self._connection: Connection = connect(dsn, patience=settings.pool_timeout)
            try:
                refuse_pooler(self._connection, setting="listen_url")
                self._connection.execute(
                    load("engine/groups/store")["name_channel"], {"channel": channel}
                )
                self._connection.execute(load("engine/groups/store")["listen"])
            except BaseException:
                self._connection.close()
                raise

    def hear(self, *, seconds: float) -> set[str]:
        """Wait for a notification for so many seconds at most; returns the ids received, `MOST_IDS`
        at most.

        What is no id is ignored. However many come, this reads for `LONGEST_READ` seconds at most:
        the server can only drop notifications that every listener has read. Raises when the
        connection is dead.
        """
        ids: set[str] = set()
        if self._database.moves != self._moves:
            raise DatabaseUnavailable(
                "expected the memories on the node that this listens to, but they have moved; "
                "listen there"
            )
        with translated():
            wait, end = seconds, time.monotonic() + seconds + LONGEST_READ
            while time.monotonic() < end:
                read = [
                    note.payload for note in self._connection.notifies(timeout=wait, stop_after=1)
                ]
                ids.update(
                    payload for payload in read if len(ids) < MOST_IDS and _ID.fullmatch(payload)
                )
                if not read:
                    break
                wait = 0
        return ids

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
