"""The schema of an installation as a process finds it: current or brought up to date, of which
roles, and what its login may.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg

from ..base import time_limit
from ..base.errors import InvalidInput, SchemaOutdated
from ..base.fork import renewed_after_fork
from ..base.settings import Settings
from .address import Address
from .cluster import citus
from .cluster.tenant_locations import HOME
from .connection import Connection, connect, refuse_encoding, refuse_pooler
from .errors import translated
from .migrate import migrate
from .queries import load
from .roles import EMBEDDED, choose, find, rights
from .schema_files import pending_steps, read_applied, schema_files
from .schemas import register_types, search_path


class Installation:
    """The schema of one cell, its roles and its owner."""

    def __init__(self, address: Address, *, settings: Settings, cell: str) -> None:
        self.address = address
        self._settings = settings
        self._cell = cell
        self.path = search_path(settings.schema_)
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which has looked at nothing yet."""
        self.roles = EMBEDDED
        # whether the login may do jobs: whether it is a member of the workers' role
        self.may_work = True
        self.extension = ""  # the schema of the extension vector
        # whether something was refused since the last look: the next use looks again
        self.is_refused = False

    def find(self) -> bool:
        """Look at the schema, or bring it up to date, and say whether the wall between users is up.

        Raises `SchemaOutdated` where it is behind and `Settings.auto_migrate` is off, or where this
        version cannot use it.
        """
        with translated(), self.address.found() as connection:
            refuse_encoding(connection)
            behind = self._behind(connection)
            if not behind:
                return self._look(connection)
        if not self._settings.auto_migrate:
            raise SchemaOutdated(
                f"expected this version's schema, but {behind}; run `htm migrate` as the owner"
            )
        self.migrate()
        with translated(), self.address.found() as connection:
            return self._look(connection)

    def migrate(self) -> list[str]:
        """Bring the schema up to date as the owner, and name the steps that were applied; takes as
        long as it takes.
        """
        with time_limit.uncounted(), time_limit.limited(None):
            dsn = self._settings.migrate_url or self.address.given_dsn("htm_root")
            applied = migrate(
                dsn,
                schema=self._settings.schema_,
                logins=self.address.is_embedded,
                roles=self._prefix,
            )
            return applied.names

    def look_again(self) -> None:
        """After a refusal, have the next call look which roles the installation has now, and what
        its login may.
        """
        self.is_refused = True

    @property
    def _prefix(self) -> str | None:
        """Prefix that the names of the roles are asked to have. On the embedded server they are
        logins with fixed names.
        """
        return "htm" if self.address.is_embedded else self._settings.roles

    def _behind(self, connection: Connection) -> str | None:
        """Return what is pending, in words, or None.

        Raises `SchemaOutdated` for a schema that this version cannot use or upgrade, and for a
        login without membership.
        """
        try:
            with connection.transaction():
                self.enter(connection)
                applied = read_applied(connection)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
            _refuse_outsider(connection, self._settings.schema_)
            return f"there is none in the schema {self._settings.schema_} that this login may read"
        steps = pending_steps(applied, schema_files())
        return str(steps) if steps else None

    def _look(self, connection: Connection) -> bool:
        """Note the schema of the extension, the roles and what the login may; say whether the wall
        between users is up.
        """
        with connection.transaction():
            connection.execute(load("db/bootstrap")["pin"])
            self.address.enter(connection)
            row = connection.execute(load("db/installation")["vector_home"]).fetchone()
            self.roles = choose(connection, self._settings.schema_, prefix=self._prefix)
            self.may_work = self.address.is_embedded or bool(
                rights(connection, self.roles)["worker"]
            )
            if row is None:
                raise SchemaOutdated(
                    "expected the extension pgvector, got none; run `htm migrate` as a superuser"
                )
            connection.execute(load("db/installation")["look_in"], {"path": self.path})
            walls = self.has_user_walls(connection)
            self.refuse_cells(connection)
            self.extension = str(row["nspname"])
            return walls

    # -- inside of transactions --------------------------------------------------------------------

    def enter(self, connection: Connection) -> None:
        """Have a transaction that has begun find the tables, as the login and without a tenant."""
        self.address.enter(connection)
        connection.execute(load("db/installation")["look_in"], {"path": self.path})

    def has_user_walls(self, connection: Connection) -> bool:
        """True if the wall between users is up, asked in a transaction that finds the tables."""
        row = connection.execute(load("db/user_walls")["is_up"]).fetchone()
        return row is not None and bool(row["enabled"])

    def refuse_cells(self, connection: Connection) -> None:
        """Raise `InvalidInput` where there are cells and this process would not ask for them; the
        search path is set.

        It is asked on each new connection: whoever had none when the first cell was made finds out
        before it writes.
        """
        if self._settings.cells or self._cell != HOME:
            return
        row = connection.execute(load("db/installation")["has_cells"]).fetchone()
        if row is not None and row["found"]:
            self.is_refused = True  # later calls look before they ask the pool
            raise InvalidInput(
                "expected Settings(cells=True), or HTM_CELLS=1, since the schema "
                f"{self._settings.schema_} has cells and tenants "
                "may live in another one, got cells=False; nothing was read or written"
            )

    def admit(self, connection: Connection) -> None:
        """Have a new connection of a pool see, in a transaction, whether it may serve verbs; raises
        like a verb's beginning.
        """
        if self._settings.cells:  # it serves all cells of its node, and is refused by none
            return
        nobody = {
            "path": self.path,
            "role": "none",
            "tenant": "",
            "now": "",
            "timeout": "0",
            "idle": "0",
        }
        connection.execute(load("db/transactions")["enter"], nobody)
        self.address.enter(connection)
        self.refuse_cells(connection)

    # -- as the owner ------------------------------------------------------------------------------

    def owner_connection(self) -> Connection:
        """A new connection as the owner, outside any transaction, on which the shards of a
        cluster's node are known too.

        Raises `StorageError` through a pooler.
        """
        connection = connect(
            self.address.owner_dsn("htm_owner"), patience=self._settings.pool_timeout
        )
        try:
            refuse_pooler(connection)
            connection.execute(
                load("db/connection")["settings"].replace(", true)", ", false)")
            )  # it is nobody else's session
            connection.execute(
                self.roles.statements("db/bootstrap")["become_owner"].replace("local ", "")
            )
            placement = self.address.placement
            path = self.path if placement is None else placement.owner_path
            connection.execute(load("db/installation")["search_path"], {"path": path})
            if placement is not None:
                citus.become_owner_of(connection, placement)
            register_types(connection, self.extension)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def as_owner(self) -> Iterator[Connection]:
        """A transaction of the schema's owner, on a connection of its own."""
        with contextlib.ExitStack() as held:

            def begun() -> Connection:
                """One that has begun on the node where the tables live."""
                dsn, schema = self.address.owner_dsn("htm_owner"), self._settings.schema_
                with contextlib.ExitStack() as ended:
                    connection = ended.enter_context(
                        connect(dsn, patience=self._settings.pool_timeout)
                    )
                    ended.enter_context(connection.transaction())
                    self.address.enter(connection)
                    connection.execute(self.roles.statements("db/bootstrap")["become_owner"])
                    connection.execute(
                        self.roles.statements("db/bootstrap")["enter"], {"schema": schema}
                    )
                    connection.execute(load("db/installation")["look_in"], {"path": self.path})
                    held.enter_context(ended.pop_all())
                return connection

            yield self.address.on_its_node(begun)


def _refuse_outsider(connection: Connection, schema: str) -> None:
    """Raise `SchemaOutdated` with the command when the schema is there and only the login's
    membership is missing.
    """
    with connection.transaction():
        connection.execute(load("db/bootstrap")["pin"])
        roles = find(connection, schema)
        if roles is None:
            return
        held = rights(connection, roles)
    if not held["app"]:
        raise SchemaOutdated(
            f"expected a login that is a member of {roles.app}, got {held['login']}; ask an "
            "administrator to run: "
            f'grant {roles.app}, {roles.worker} to "{held["login"]}";  (without {roles.worker} it '
            "serves verbs and does no jobs)"
        )
