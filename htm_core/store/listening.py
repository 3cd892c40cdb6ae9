"""The connection on which a process receives notifications of committed changes."""

from __future__ import annotations

from .connection import Connection, connect, refuse_pooler
from .database import Database
from .errors import translated
from .queries import load


class ListenConnection:
    """A connection that listens on the schema's channel for ids of changed rows. They are hints: the tables are the truth.

    Raises `DatabaseUnavailable`, and `StorageError` through a pooler, where notifications never arrive.
    """

    def __init__(self, database: Database) -> None:
        settings = database.settings
        secret = settings.listen_url
        dsn = database.dsn("htm_app") if secret is None else secret.get_secret_value()
        with translated():
            self._connection: Connection = connect(dsn, patience=settings.pool_timeout)
            try:
                refuse_pooler(self._connection, setting="listen_url")
                self._connection.execute(load("groups")["name_channel"], {"channel": f"htm_{settings.schema_}"})
                self._connection.execute(load("groups")["listen"])
            except BaseException:
                self._connection.close()
                raise

    def hear(self, *, seconds: float) -> set[str]:
        """Wait for a notification for so many seconds at most; returns all ids received. Raises when the connection is dead."""
        with translated():
            first = {note.payload for note in self._connection.notifies(timeout=seconds, stop_after=1)}
            return first | {note.payload for note in self._connection.notifies(timeout=0)}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
