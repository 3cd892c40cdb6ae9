"""A PostgreSQL as this process uses it: transactions of one tenant, each in the cell that the
tenant is in.

What it is made of has a module each: `address` (where the tables are), `installation` (their
schema, roles and owner), `user_walls`, `pools`, `transactions`, `replicas` and `tenant_cells`.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, LiteralString, TypeVar

import psycopg
from pydantic import SecretStr

from .. import embedded
from ..base import time_limit
from ..base.errors import InvalidInput
from ..base.fork import renewed_after_fork
from ..base.settings import Settings, as_secret
from .address import Address
from .cluster import citus
from .cluster.replicas import NoReplica, Replicas, replica_options, written_through
from .cluster.tenant_cells import TenantCells
from .cluster.tenant_locations import HOME
from .connection import Connection, Row, merged, readable
from .errors import translated
from .installation import Installation
from .jobs import Growth
from .known_speakers import KnownSpeakers, SupersedingTenants
from .owner_claims import EVERYBODY, NOBODY, OwnerClaim
from .pools import Pools
from .roles import Roles
from .transactions import First, Message, Start, Transactions, in_one_message
from .user_walls import UserWall, copy_user_walls

__all__ = ["Connection", "Database", "Row", "close_all", "database"]

T = TypeVar("T")

# What a server says that has no log of its own, or keeps its position to itself.
NOT_TOLD = (
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ObjectNotInPrerequisiteState,
)
# Seconds to wait for the primary to say how far it is, where a replica could answer meanwhile.
PRIMARY_PATIENCE = 0.5


class Database:
    """A PostgreSQL, reached by its DSN or embedded under a home directory; shared by all memories
    of its url.

    With `Settings.cells` a transaction of a tenant is one in the cell that the tenant is in: a
    schema of its own, here or on another server. Each cell is a `Database` too, whose `origin` is
    the one with the directory; those of one url share their pools.

    Raises `InvalidInput` for a DSN that cannot be read.
    """

    def __init__(
        self,
        *,
        url: str | SecretStr | None,
        home: Path,
        settings: Settings,
        cell: str = HOME,
        origin: Database | None = None,
    ) -> None:
        url = as_secret(url)
        if url is not None:
            readable(url)
        self.settings = settings
        self.cell = cell
        self.address = Address(
            url=url, home=home, settings=settings, when_moved=self._close_unused_pools
        )
        self.installation = Installation(self.address, settings=settings, cell=cell)
        self.user_wall = UserWall(self.installation, settings=settings)
        # The database whose pools this one uses, of which it is a schema.
        self._pooled: Database = (
            origin if origin is not None and origin.address.url == url else self
        )
        self.pools: Pools = (
            Pools(self.installation, settings=settings)
            if self._pooled is self
            else self._pooled.pools
        )
        self.transactions = Transactions(
            self.installation,
            self.pools,
            self.user_wall,
            settings=settings,
            written=written_through(url),
        )
        self._replicas: Replicas | None = (
            self._make_replicas() if self._pooled is self else self._pooled._replicas
        )
        self._cells: TenantCells[Database] | None = None
        if settings.cells:
            self._cells = TenantCells(
                self,
                ask=self._ask_directory,
                make=lambda name, schema, url: self.at(name, schema=schema, url=url),
            )
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which knows of no rows that are there; what this is made
        of does so by itself.
        """
        self._lock = threading.RLock()  # of whoever opens or closes it
        # tenant, robot and model whose rows are known to be there
        self.settled: set[tuple[str, str, str]] = set()
        self.growth = Growth()
        self.known_speakers = KnownSpeakers()
        self.superseding = SupersedingTenants()
        # by tenant, how often this process has hidden or erased something
        self.forgettings = Counter[str]()

    def __repr__(self) -> str:
        # in a traceback with variables, of one that could not be made
        if not hasattr(self, "address"):
            return "<Database>"
        return f"<Database {'embedded' if self.is_embedded else 'by url'}>"

    @property
    def is_embedded(self) -> bool:
        """True if this is the private server under `HTM_HOME`."""
        return self.address.is_embedded

    @property
    def place(self) -> tuple[str | SecretStr, str]:
        """Identifies where the memories are: the url or the home, and the schema."""
        return (self.address.url or str(self.address.home), self.settings.schema_)

    @property
    def extension(self) -> str:
        """The schema of the extension vector; the database must be open."""
        return self.installation.extension

    @property
    def opened(self) -> bool:
        """True if this process has reached the server."""
        return self.address.is_reached

    @property
    def placement(self) -> citus.Placement | None:
        """Where the tables live, when Citus distributes them and the database is open."""
        return self.address.placement

    @property
    def moves(self) -> int:
        """Number of times that the tables were found on another node of a cluster."""
        return self.address.moves

    @property
    def may_work(self) -> bool:
        """True if this process's login may do jobs, as a member of the workers' role. Connects the
        first time.
        """
        self.open()
        return self.installation.may_work

    @property
    def roles(self) -> Roles:
        """The roles of this installation. Connects the first time."""
        self.open()
        return self.installation.roles

    def dsn(self, role: str) -> SecretStr:
        """The connection string for a role, to the node where the tables live; the embedded server
        is found or started.
        """
        return self.address.dsn(role)

    @contextlib.contextmanager
    def transaction(
        self,
        tenant: str,
        *,
        role: str = "htm_app",
        claim: OwnerClaim | None = None,
        patient: bool = False,
        now: datetime | None = None,
        followed: bool | None = None,
        at_home: bool = False,
        first: First | None = None,
        alone: bool = False,
    ) -> Iterator[Connection]:
        """A transaction as `role` that sees one tenant; committed at the end, rolled back on any
        error.

        `role` is `htm_app` or `htm_worker`, by whatever name this installation has it. Where there
        is a wall between users, it sees the owners of `claim`: by default a worker sees all,
        anybody else nothing that has an owner. Outside of verbs, and when it is `patient`, it may
        take any time, but each answer of the server has its limit. What has expired by `now` is
        hidden; by default it is the server's time. Reads on a replica wait for what is `followed`:
        by default what the application writes. With `at_home` it is in the schema of the directory,
        whatever cell the tenant is in. `first` queues what travels with the beginning; `alone` says
        that this is all, and may be done twice: then the transaction is one message.

        Raises `DatabaseUnavailable`, `QueryTimeout`, `SchemaOutdated`, `StorageError`.
        """
        if claim is None:
            claim = EVERYBODY if role == "htm_worker" else NOBODY
        followed = role == "htm_app" if followed is None else followed
        limit = self.transactions.limit(patient=patient)
        with time_limit.limited(limit), contextlib.ExitStack() as held:

            def begun(cell: Database, version: int | None) -> Connection:
                """A transaction that has begun there."""
                cell.open()
                start = cell.transactions.start(
                    tenant,
                    role,
                    claim,
                    patient=patient,
                    now=now,
                    followed=followed,
                    version=version,
                    first=first,
                    alone=alone,
                )
                return held.enter_context(cell.transactions.run(start))

            yield self._in_cell("" if at_home else tenant, begun)
            held.close()
            if limit.slides:
                limit.restart()

    def in_one_message(
        self,
        tenant: str,
        queue: Callable[[Connection], T],
        *,
        role: str = "htm_app",
        claim: OwnerClaim | None = None,
        followed: bool | None = None,
    ) -> T:
        """The answer of `queue`, which queues all statements of a transaction: it is one message,
        and may be done twice. The rest is as in `transaction`.
        """
        return in_one_message(
            lambda first: self.transaction(
                tenant, role=role, claim=claim, followed=followed, first=first, alone=True
            ),
            queue,
        )

    def reading(
        self,
        tenant: str,
        work: Callable[[Connection], T],
        *,
        claim: OwnerClaim = NOBODY,
        patient: bool = False,
        now: datetime | None = None,
    ) -> T:
        """The answer of `work`, which only reads, in a transaction: on a replica where one may
        answer, else on the primary.

        On a replica that fails, `work` is called once more on the primary. The rest is as in
        `transaction`.
        """
        limit = self.transactions.limit(patient=patient)
        with time_limit.limited(limit):
            answer = self._in_cell(
                tenant,
                lambda cell, version: cell._reading(
                    tenant, work, claim=claim, patient=patient, now=now, version=version
                ),
            )
            if limit.slides:
                limit.restart()
            return answer

    def read(
        self,
        tenant: str,
        statement: LiteralString,
        parameters: Mapping[str, Any],
        *,
        claim: OwnerClaim = NOBODY,
        now: datetime | None = None,
        primary: bool = False,
    ) -> list[Row]:
        """The rows of one statement that only reads, as a transaction of its own that sees one
        tenant.

        The settings of the transaction and the statement travel in one message there and back, and
        the transaction ends with it. Where a claim must be signed by the transaction's own terms,
        or the client library is too old for that, it is an ordinary transaction. Nothing is
        changed, so what fails since its session has ended is done once more in another one. `now`
        is as in `transaction`. With `primary` no replica is asked, which may have it a little
        later.

        Raises as `transaction` does.
        """
        limit = self.transactions.limit(patient=False)
        with time_limit.limited(limit):
            rows = self._in_cell(
                tenant,
                lambda cell, version: cell._read_alone(
                    tenant,
                    statement,
                    parameters,
                    claim=claim,
                    now=now,
                    primary=primary,
                    version=version,
                ),
            )
            if limit.slides:
                limit.restart()
            return rows

    def _reading(
        self,
        tenant: str,
        work: Callable[[Connection], T],
        *,
        claim: OwnerClaim,
        patient: bool,
        now: datetime | None,
        version: int | None,
    ) -> T:
        self.open()

        def start() -> Start:
            """As the transaction begins, on whichever server."""
            return self.transactions.start(
                tenant, "htm_app", claim, patient=patient, now=now, version=version
            )

        def on_replica(connection: Connection) -> T:
            """The same, in a transaction that is rolled back: there is nothing to commit."""
            self.transactions.begin(connection, start())
            answer = work(connection)
            connection.rollback()
            return answer

        if self._replicas is not None:
            with contextlib.suppress(NoReplica), translated():
                return self._replicas.run(on_replica)
        with self.transactions.run(start()) as connection:
            return work(connection)

    def _read_alone(
        self,
        tenant: str,
        statement: LiteralString,
        parameters: Mapping[str, Any],
        *,
        claim: OwnerClaim,
        now: datetime | None,
        primary: bool,
        version: int | None,
    ) -> list[Row]:
        self.open()
        if self.user_wall.key is not None or not Connection.sends_batches():

            def work(connection: Connection) -> list[Row]:
                """Read it in one transaction."""
                return connection.execute(statement, parameters, binary=True).fetchall()

            if not primary:
                return self._reading(
                    tenant, work, claim=claim, patient=False, now=now, version=version
                )
            start = self.transactions.start(
                tenant, "htm_app", claim, patient=False, now=now, version=version
            )
            with self.transactions.run(start) as connection:
                return work(connection)

        def message() -> Message:
            """Return the message to send, by where the tables are now."""
            return self.transactions.message(
                tenant, statement, parameters, now=now, version=version
            )

        if self._replicas is not None and not primary:
            with contextlib.suppress(NoReplica), translated():
                return self._replicas.run(
                    lambda connection: connection.read(*message(), prepare=self.pools.is_direct)
                )
        return self.transactions.read(message)

    # -- cells -------------------------------------------------------------------------------------

    def of(self, tenant: str, *, asked: bool = False) -> Database:
        """The cell that a tenant is in, as far as this process knows, or as the directory says when
        it is `asked`.
        """
        if self._cells is None:
            return self
        self.open()
        return self._cells.of(tenant, asked=asked)

    def cells(self) -> list[Database]:
        """All cells, this one first; without cells this database alone. The list is read again
        every few seconds.
        """
        if self._cells is None:
            return [self]
        self.open()
        return self._cells.all()

    def forget_cells(self) -> None:
        """Read the list of cells again at its next use."""
        if self._cells is not None:
            self._cells.forget()

    @property
    def is_one_server(self) -> bool:
        """True if all cells that this process has opened are on the server of this database, and on
        its node of a cluster.
        """
        opened = [each for each in self._other_cells if each.opened]
        return all(
            each._pooled is self and each.address.node == self.address.node for each in opened
        )

    @property
    def _other_cells(self) -> list[Database]:
        return [] if self._cells is None else self._cells.others

    def _in_cell(self, tenant: str, work: Callable[[Database, int | None], T]) -> T:
        """The answer of `work`, which begins a transaction, in the cell of a tenant."""
        if self._cells is None or not tenant:
            return work(self, None)
        self.open()
        return self._cells.run(tenant, work)

    def _ask_directory(self, tenant: str, statement: LiteralString) -> list[Row]:
        """Ask the directory, in a transaction of a tenant in this schema."""
        start = self.transactions.start(
            tenant, "htm_app", NOBODY, patient=False, now=None, followed=False
        )
        with self.transactions.run(start) as connection:
            return connection.execute(statement).fetchall()

    def at(self, name: str, *, schema: str, url: str | None) -> Database:
        """A cell of this database: another schema, here or on the server of `url`, which lacks what
        is as in this one's.
        """
        settings = self.settings.model_copy(
            update={"schema_": schema, "cells": False, "roles": None, "user_walls": False}
        )
        dsn = self.address.url
        if url is not None:
            settings = settings.model_copy(
                update={
                    "read_url": None,
                    "listen_url": None,
                    "migrate_url": None
                    if settings.migrate_url is None
                    else merged(settings.migrate_url, url),
                }
            )
            dsn = None if dsn is None else merged(dsn, url)
        return Database(url=dsn, home=self.address.home, settings=settings, cell=name, origin=self)

    def _close_unused_pools(self) -> None:
        """Close the pools of nodes on which none of the cells that share them lives any more."""
        holder = self._pooled
        self.pools.close_unused({each.address.node for each in (holder, *holder._other_cells)})

    # -- replicas ----------------------------------------------------------------------------------

    def follow(self) -> None:
        """Let reads on a replica wait for all that was committed until now, also by other
        processes.
        """
        written = self.transactions.written
        if written.is_asked_for:
            with translated():
                written.note(self.transactions.ask_position(patience=self.settings.pool_timeout))

    def _make_replicas(self) -> Replicas | None:
        dsn, written = self.settings.read_url, self.transactions.written
        if dsn is None:
            return None
        if self.is_embedded:
            raise InvalidInput(
                "expected url= beside Settings.read_url, got the private server, which has no "
                "replica; give the primary's url "
                "(or HTM_DATABASE_URL), or leave read_url out"
            )
        readable(dsn)
        written.is_asked_for = True
        return Replicas(
            dsn,
            settings=self.settings,
            written=written,
            make_pool=lambda dsn: self.pools.make(dsn, name="htm-replica", **replica_options(dsn)),
            ask_primary=lambda: self.transactions.ask_position(patience=PRIMARY_PATIENCE),
        )

    def _require_replicas_can_serve(self) -> None:
        """Refuse `Settings.read_url` where the primary does not tell its position: else each commit
        would end with an error.
        """
        try:
            self.transactions.ask_position(patience=self.settings.pool_timeout)
        except NOT_TOLD as error:
            self.address.is_reached = False
            raise InvalidInput(
                "expected a primary that says how far its log is (pg_current_wal_flush_lsn), for "
                "Settings.read_url, got: "
                f"{str(error).splitlines()[0]}; leave read_url out with this server"
            ) from error

    # -- opening, closing, and the owner -----------------------------------------------------------

    def open(self) -> None:
        """Connect to the server and check its schema; does so once, and again after a fork."""
        if self.address.is_reached and not self.installation.is_refused:
            return
        # A private server takes its time to start, once, and so does an upgrade: that says nothing
        # of their health. What is asked of the server after its start has the verb's time.
        if self.is_embedded and not self.opened:
            with contextlib.ExitStack() as held:
                with time_limit.uncounted(), time_limit.limited(None), translated():
                    held.enter_context(self._lock)  # while another thread starts it, or upgrades
                    if not self.opened:
                        self.address.start()
                self._open()
        else:
            with time_limit.locked(self._lock, what="opening the database"):
                self._open()

    def _open(self) -> None:
        if self.address.is_reached and not self.installation.is_refused:
            return
        with translated():
            self.user_wall.find(is_up=self.installation.find())
        if self.placement is not None and self._replicas is not None:
            raise InvalidInput(
                "expected Settings.read_url with a schema of one server, got one that Citus "
                "distributes; its "
                "nodes have replicas of their own, so leave read_url out"
            )
        self.address.is_reached = True
        self.installation.is_refused = False
        if self._replicas is not None:
            self._require_replicas_can_serve()

    def close(self) -> None:
        """Close every connection; a later use opens new ones."""
        for other in self._other_cells:
            other.close()
        with self._lock:
            if self._pooled is self:
                self.pools.close()
                if self._replicas is not None:
                    self._replicas.close()
            self.settled.clear()
            self.address.is_reached = False

    @contextlib.contextmanager
    def owner(self) -> Iterator[Connection]:
        """A new connection as the owner, outside any transaction, for indexes.

        Raises `SchemaOutdated` without the owner's rights, and `StorageError` through a pooler,
        where the role, the search path and the locks of the session would pass to its next client.
        """
        self.open()
        with (
            translated(),
            self.address.on_its_node(self.installation.owner_connection) as connection,
        ):
            yield connection

    def migrate(self) -> list[str]:
        """Bring the schema up to date as the owner, and name the steps that were applied; takes as
        long as it takes.
        """
        return self.installation.migrate()

    def set_user_walls(self, *, up: bool) -> None:
        """Put up the wall between the users of each tenant, or take it down, as the owner.

        Other processes find out by an error of their next verb, after which they sign their claims.
        Raises `SchemaOutdated` for a login without the owner's rights.
        """
        self.open()
        cells = self.cells()[1:]
        with time_limit.uncounted(), time_limit.limited(None):
            self.user_wall.change(up=up)
            for cell in cells:
                with (
                    translated(),
                    self.installation.as_owner() as home,
                    cell.installation.as_owner() as there,
                ):
                    copy_user_walls(home, there)
                cell.installation.is_refused = True
        self.installation.is_refused = True  # so that the next verb looks again

    def user_walls_key(self) -> SecretStr | None:
        """The key that claims are signed with, for `Settings.user_walls_key`; None where there is
        no wall between users.

        Raises `SchemaOutdated` for a login without the owner's rights.
        """
        self.open()
        return self.user_wall.ask_key()


_databases: dict[tuple[SecretStr | None, str, Settings], Database] = {}
_registry = threading.Lock()


def database(*, url: SecretStr | None, home: Path, settings: Settings) -> Database:
    """The process's one `Database` for a url (or an embedded home) and settings."""
    # the settings themselves: as text all secrets look alike
    key = (url, "" if url else str(home), settings)
    with _registry:
        if key not in _databases:
            _databases[key] = Database(url=url, home=home, settings=settings)
        return _databases[key]


def close_all() -> None:
    """Close every database of this process and release the embedded servers; a later use opens them
    again.
    """
    with _registry:
        known = list(_databases.values())
    for database in known:
        database.close()
    for home in {database.address.home for database in known if database.is_embedded}:
        embedded.release(home)


def _renew_registry() -> None:
    global _registry
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_registry)
