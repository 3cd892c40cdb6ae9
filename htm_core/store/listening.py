"""The one connection on which a process is told of changes as they are committed."""

from __future__ import annotations

from .connection import Connection, connect, refuse_pooler
from .database import Database
from .errors import translated
from .queries import load


class ListenConnection:
    """A connection that listens on the schema's channel. What it hears are ids of rows that changed: hints, not news.

    Raises `DatabaseUnavailable`, and `StorageError` through a pooler, where nothing would ever be heard.
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
        """Wait for news so long at most, and give every id that was told until then; raises when the line is dead."""
        with translated():
            heard = self._connection.notifies(timeout=seconds, stop_after=1)
            return {note.payload for note in heard} | self._rest()

    def _rest(self) -> set[str]:
        return {note.payload for note in self._connection.notifies(timeout=0)}

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
