"""The wall between the users of each tenant, as a process knows it: whether it is up, and the key.
docs/why/walls.md.

`owner_claims` says what is signed with the key.
"""

from __future__ import annotations

import psycopg
from pydantic import SecretStr

from ..base import time_limit
from ..base.errors import SchemaOutdated, StorageError
from ..base.fork import renewed_after_fork
from ..base.settings import Settings
from .connection import Connection
from .errors import retry_transaction, translated
from .installation import Installation
from .queries import load


class UserWall:
    """The wall between the users of each tenant of an installation."""

    def __init__(self, installation: Installation, *, settings: Settings) -> None:
        self._installation = installation
        self._settings = settings
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which has looked at nothing yet."""
        # What claims are signed with; None: there is no wall, as far as this process knows.
        self.key: bytes | None = None

    @property
    def known_key(self) -> bytes | None:
        """Key that this process signs its claims with, as far as it knows: by its settings, or
        since it opened the database.
        """
        return self.key if self._given_key is None else self._given_key

    @property
    def _given_key(self) -> bytes | None:
        secret = self._settings.user_walls_key
        return None if secret is None else bytes.fromhex(secret.get_secret_value())

    def find(self, *, is_up: bool) -> None:
        """Take over the key where the wall is up; build it where the settings want it.

        Raises `SchemaOutdated` where it is wanted and `Settings.auto_migrate` is off, and where the
        key is out of reach.
        """
        if not is_up:
            if not self._settings.user_walls:
                self.key = None
                return
            if not self._settings.auto_migrate:
                raise SchemaOutdated(
                    "expected a wall between users, as Settings.user_walls says, got none; run as "
                    "the owner: "
                    "htm migrate --user-walls on"
                )
            with time_limit.uncounted(), time_limit.limited(None):  # an upgrade
                self.change(up=True)
        self.key = self._read_key() if self._given_key is None else self._given_key

    def change(self, *, up: bool) -> None:
        """Put the wall up or take it down, as the owner; raises `SchemaOutdated` for a login
        without the owner's rights.
        """

        def changed() -> None:
            """Change it, in a transaction of the owner."""
            with translated(), self._installation.as_owner() as connection:
                connection.execute(load("db/user_walls")["change"], {"up": up})

        try:
            retry_transaction(changed, repeatable=True)
        except StorageError as error:
            if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
                raise
            raise SchemaOutdated(
                "expected the owner's rights, to change the wall between users; run as the owner: "
                f"htm migrate --user-walls {'on' if up else 'off'}"
            ) from error

    def ask_key(self) -> SecretStr | None:
        """The key as the database has it, in hexadecimal digits; None where there is no wall.

        Raises `SchemaOutdated` for a login without the owner's rights.
        """

        def is_up() -> bool:
            """As the application's login sees it."""
            with (
                self._installation.address.connect("htm_app") as connection,
                connection.transaction(),
            ):
                self._installation.enter(connection)
                return self._installation.has_user_walls(connection)

        up = self._installation.address.on_its_node(is_up)
        return SecretStr(self._read_key().hex()) if up else None

    def _read_key(self) -> bytes:
        try:
            with self._installation.as_owner() as connection:
                row = connection.execute(load("db/user_walls")["key"]).fetchone()
        except psycopg.errors.InsufficientPrivilege as error:
            raise SchemaOutdated(
                "expected the key of the wall between users: this login cannot read it, and "
                "should not; give "
                "Settings.user_walls_key what `htm migrate --user-walls key` prints for the "
                "owner, or Settings.migrate_url"
            ) from error
        if row is None:
            raise SchemaOutdated(
                "expected a wall between users, which was just taken down; try again"
            )
        return bytes(row["key"])


def copy_user_walls(home: Connection, cell: Connection) -> None:
    """Put the wall between users up in a cell, or take it down, as it is at home and with home's
    key: both are owners.
    """
    row = home.execute(load("db/user_walls")["state"]).fetchone()
    assert row is not None  # its migration has put one row into it
    with cell.transaction():
        if row["enabled"]:
            cell.execute(load("db/user_walls")["set_key"], {"key": row["key"]})
        cell.execute(load("db/user_walls")["change"], {"up": row["enabled"]})
