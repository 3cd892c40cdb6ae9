"""One PostgreSQL as this process uses it: pools opened on first use, and transactions of one tenant."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.pq.abc import PGresult
from psycopg.sql import Literal
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests
from pydantic import SecretStr

from .. import time_limit
from ..errors import InvalidInput, SchemaOutdated, StorageError
from ..fork import renewed_after_fork
from ..settings import Settings, as_secret
from . import citus
from .connection import (
    AnswerOverdue,
    Connection,
    NoAnswer,
    Row,
    check,
    connect,
    is_direct,
    merged,
    options,
    readable,
    refuse_pooler,
    refuse_spread,
)
from .embedded import server
from .errors import detect_lost_session, retry_transaction, translated
from .known_speakers import KnownSpeakers
from .merged_owners import MergedOwners
from .migrate import client_name, migrate, pending_steps, read_applied, schema_files
from .owner_claims import EVERYBODY, NOBODY, OwnerClaim, sign
from .queries import load
from .replicas import UNPREPARED, NoReplica, Replicas, Written, replica_options
from .roles import EMBEDDED, Roles, choose, find, rights
from .schemas import register_types, search_path
from .superseding_tenants import SupersedingTenants
from .tenant_locations import HOME, Location, TenantLocations, departure

__all__ = ["Connection", "Database", "Row", "close_all", "database"]

_log = logging.getLogger("htm.database")
T = TypeVar("T")

# Who may not take a role is told so, and who may not use a schema finds nothing in it.
REFUSALS = (
    psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
)  # fmt: skip
MOST_MOVES = 5  # that one transaction follows: a tenant that is moved again and again is waited for no longer
CELLS_SECONDS = 5.0  # after which the list of cells is read again

# The share of a verb's time in which it must get a connection.
POOL_SHARE = 0.7
# From this version on the server bounds a whole transaction too.
TRANSACTION_TIMEOUT_SINCE = 170000
# The largest time-out that PostgreSQL takes, in milliseconds.
LONGEST = 2**31 - 1
# Seconds that the server waits longer than this process, whose error says more.
GRACE = 1.0
# What a server says that has no log of its own, or keeps its position to itself.
NOT_TOLD = (
    psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFunction, psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ObjectNotInPrerequisiteState,
)  # fmt: skip
# Seconds to wait for the primary to say how far it is, where a replica could answer meanwhile.
PRIMARY_PATIENCE = 0.5
# So often the tables may move to another node while one transaction begins.
MOST_NODES = 3
# Transactions that go with somebody else's pace, such as a backup's, may wait so many times longer for their client.
PATIENT = 20

FIRST_COUNT = 500  # new nodes of a tenant, after which its words are counted for the first time


class Growth:
    """How many nodes this process has added to each tenant since it last asked for a count of words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: dict[str, tuple[int, int]] = {}

    def grew(self, tenant: str, new: int) -> bool:
        """Note new nodes, and say whether it is time to count: after 500 more, or a fifth more than were added before."""
        with self._lock:
            total, since = self._added.get(tenant, (0, 0))
            total, since = total + new, since + new
            due = since >= max(FIRST_COUNT, total // 5)
            self._added[tenant] = (total, 0 if due else since)
            return due


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """How a transaction begins: as whom, for which owners, and the seconds that it has, in all and between two statements."""

    role: str
    tenant: str
    claim: OwnerClaim
    key: bytes | None  # that the claim is signed with; None: nobody asks for one
    whole: float
    idle: float
    now: datetime | None = None  # the memory's time; None: the server's
    version: int | None = None  # as of which the tenant is in this cell; None: there are no cells, or it is no tenant's
    followed: bool = True  # whether this process's reads on a replica must see what it writes


def _patience(share: float) -> float:
    """Seconds that one wait may take, of a share of the running verb's time."""
    limit = time_limit.current()
    return math.inf if limit is None else share * min(limit.left, limit.seconds)


def _for_beginning(limit: time_limit.TimeLimit | None) -> time_limit.TimeLimit | None:
    return time_limit.TimeLimit(limit.seconds) if limit is not None and math.isinf(limit.ends) else limit


class Database:
    """A PostgreSQL, reached by its DSN or embedded under a home directory; shared by all memories of its url.

    With `Settings.cells` a transaction of a tenant is one in the cell that the tenant is in: a schema of its own, here or on
    another server. Each cell is a `Database` too, whose `origin` is the one with the directory; those of one url share their pools.

    Raises `InvalidInput` for a DSN that cannot be read.
    """

    def __init__(
        self, *, url: str | SecretStr | None, home: Path, settings: Settings, cell: str = HOME, origin: Database | None = None
    ) -> None:  # fmt: skip
        self._url = url = as_secret(url)
        if url is not None:
            readable(url)
        self._home = home
        self.settings = settings
        self.cell = cell
        self._failures: dict[str, int] = {}  # of each pool to open a connection, as far as they were looked at
        self._written = _written.setdefault(url, Written())
        # The database whose pools this one uses, of which it is a schema.
        self._pooled: Database = origin if origin is not None and origin._url == url else self
        self._replicas: Replicas | None = self._make_replicas() if self._pooled is self else self._pooled._replicas
        self._others: dict[str, Database] = {}  # the cells besides this one, by name
        self._cells_read: float | None = None
        self._inherited: list[ConnectionPool[Connection]] = []
        self._pools: dict[str, ConnectionPool[Connection]] = {}  # by role and node
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which must not use or close the parent's sockets: that would end its sessions.

        The parent's pools are kept as they are: freeing them would need threads and locks that do not exist here.
        """
        self._lock = threading.RLock()
        self._locations = TenantLocations() if self.settings.cells else None
        self._inherited += self._pools.values()
        self._pools = {}
        if self._pooled is self and self._replicas is not None and (pool := self._replicas.inherited()) is not None:
            self._inherited.append(pool)
        self._path: str | None = None
        self._roles = EMBEDDED
        self._may_work = True
        self._refused = False
        self._is_direct = True  # there is no pooler in between, as far as is known
        self._extension = ""  # the schema of the extension vector
        self._claim_key: bytes | None = None  # None: there is no wall between users
        self._placement: citus.Placement | None = None  # where the tables live, when Citus distributes them
        self.moves = 0  # how often the tables were found on another node of a cluster
        self.settled: set[tuple[str, str, str]] = set()  # tenant, robot and model whose rows are known to be there
        self.growth = Growth()
        self.known_speakers = KnownSpeakers()
        self.superseding = SupersedingTenants()
        self.merged_owners = MergedOwners()

    def __repr__(self) -> str:
        return f"<Database {'embedded' if self.is_embedded else 'by url'}>"

    @property
    def is_embedded(self) -> bool:
        """Whether this is the private server under `HTM_HOME`."""
        return self._url is None

    @property
    def place(self) -> tuple[str | SecretStr, str]:
        """Identifies where the memories are: the url or the home, and the schema."""
        return (self._url or str(self._home), self.settings.schema_)

    @property
    def extension(self) -> str:
        """The schema of the extension vector; the database must be open."""
        return self._extension

    @property
    def opened(self) -> bool:
        """Whether this process has reached the server."""
        return self._path is not None

    @property
    def placement(self) -> citus.Placement | None:
        """Where the tables live, when Citus distributes them and the database is open."""
        return self._placement

    @property
    def may_work(self) -> bool:
        """Whether this process's login may do jobs: whether it is a member of the workers' role. Connects the first time."""
        self.open()
        return self._may_work

    @property
    def roles(self) -> Roles:
        """The roles of this installation. Connects the first time."""
        self.open()
        return self._roles

    @contextlib.contextmanager
    def transaction(
        self, tenant: str, *, role: str = "htm_app", claim: OwnerClaim | None = None, patient: bool = False,
        now: datetime | None = None, followed: bool | None = None, at_home: bool = False,
    ) -> Iterator[Connection]:  # fmt: skip
        """A transaction as `role` that sees one tenant; committed at the end, rolled back on any error.

        `role` is `htm_app` or `htm_worker`, by whatever name this installation has it. Where there is a wall between users, it sees
        the owners of `claim`: by default a worker sees all, anybody else nothing that has an owner. Outside of verbs, and when
        it is `patient`, it may take any time, but each answer of the server has its limit. What has expired by `now` is hidden; by
        default it is the server's time. Reads on a replica wait for what is `followed`: by default what the application writes.
        With `at_home` it is in the schema of the directory, whatever cell the tenant is in.

        Raises `DatabaseUnavailable`, `QueryTimeout`, `SchemaOutdated`, `StorageError`.
        """
        claim = claim or (EVERYBODY if role == "htm_worker" else NOBODY)
        followed = role == "htm_app" if followed is None else followed
        with time_limit.limited(self._limit(patient=patient)), contextlib.ExitStack() as held:

            def begun(cell: Database, version: int | None) -> Connection:
                """A transaction that has begun there."""
                cell.open()
                start = cell._start(tenant, role, claim, patient=patient, now=now, followed=followed, version=version)
                return held.enter_context(cell._transaction(start))

            yield self._in_cell("" if at_home else tenant, begun)
            held.close()
            time_limit.transaction_ended()

    def reading(
        self,
        tenant: str,
        work: Callable[[Connection], T],
        *,
        claim: OwnerClaim = NOBODY,
        patient: bool = False,
        now: datetime | None = None,
    ) -> T:
        """The answer of `work`, which only reads, in a transaction: on a replica where one may answer, else on the primary.

        On a replica that fails, `work` is called once more on the primary. The rest is as in `transaction`.
        """
        with time_limit.limited(self._limit(patient=patient)):
            answer = self._in_cell(
                tenant,
                lambda cell, version: cell._reading(
                    tenant, work, claim=claim, patient=patient, now=now, version=version
                ),
            )
            time_limit.transaction_ended()
            return answer

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

        def start() -> _Start:
            """As the transaction begins, on whichever server."""
            return self._start(tenant, "htm_app", claim, patient=patient, now=now, version=version)

        def on_replica(connection: Connection) -> T:
            """The same, in a transaction that is rolled back: there is nothing to commit."""
            self._begin(connection, start())
            answer = work(connection)
            connection.rollback()
            return answer

        if self._replicas is not None:
            with contextlib.suppress(NoReplica), translated():
                return self._replicas.run(on_replica)
        with self._transaction(start()) as connection:
            return work(connection)

    # -- cells ---------------------------------------------------------------------------------------------------------

    def of(self, tenant: str, *, asked: bool = False) -> Database:
        """The cell that a tenant is in, as far as this process knows, or as the directory says when it is `asked`."""
        if self._locations is None:
            return self
        self.open()
        known = None if asked else self._locations.of(tenant)
        return self._cell((known or self._locate(tenant)).cell)

    def cells(self) -> list[Database]:
        """All cells, this one first; without cells this database alone. The list is read again every few seconds."""
        if self._locations is None:
            return [self]
        self.open()
        if self._cells_read is None or time.monotonic() - self._cells_read > CELLS_SECONDS:
            self._read_cells()
        return [self, *self._others.values()]

    def forget_cells(self) -> None:
        """Read the list of cells again at its next use."""
        self._cells_read = None

    @property
    def is_one_server(self) -> bool:
        """Whether all cells that this process has opened are on the server of this database, and on its node of a cluster."""
        others = [each for each in list(self._others.values()) if each.opened]
        return all(each._pooled is self and each._node == self._node for each in others)

    def _in_cell(self, tenant: str, work: Callable[[Database, int | None], T]) -> T:
        """The answer of `work`, which begins a transaction, in the cell of a tenant; where it has left since, in the next one."""
        if self._locations is None or not tenant:
            return work(self, None)
        self.open()
        for _ in range(MOST_MOVES):
            location = self._locations.of(tenant) or self._locate(tenant)
            try:
                return work(self._cell(location.cell), location.version)
            except StorageError as error:
                moved = departure(error)
                if moved is None and location.cell != self.cell:
                    # A cell that cannot be asked may have been emptied and dropped since.
                    self._locations.forget(tenant)
                    moved = self._locate(tenant)
                if moved is None or moved.version <= location.version:
                    raise
                self._locations.learn(tenant, moved)
        location = self._locate(tenant)
        return work(self._cell(location.cell), location.version)

    def _locate(self, tenant: str) -> Location:
        """Where a tenant is, by the directory; what this process knows of a later move is newer."""
        assert self._locations is not None  # asked for with Settings.cells only
        start = self._start(tenant, "htm_app", NOBODY, patient=False, now=None, followed=False)
        with self._transaction(start) as connection:
            row = connection.execute(load("cells")["locate"]).fetchone()
        assert row is not None  # the function answers with one row
        self._locations.learn(tenant, Location(row["cell"], row["version"]))
        return self._locations.of(tenant) or Location(row["cell"], row["version"])

    def _cell(self, name: str) -> Database:
        if name == self.cell:
            return self
        if name not in self._others:
            self._read_cells()
        try:
            return self._others[name]
        except KeyError:
            raise StorageError(
                f"expected the cell {name!r} in the directory, got none of this name; see htm cells list"
            ) from None

    def _read_cells(self) -> None:
        """Take over the list of cells from the directory."""
        with self._transaction(
            self._start("", "htm_app", NOBODY, patient=False, now=None, followed=False)
        ) as connection:
            rows = connection.execute(load("cells")["all"]).fetchall()
        with self._lock:
            known = {row["name"] for row in rows}
            for row in rows:
                if row["name"] not in {self.cell, *self._others}:
                    self._others[row["name"]] = self.at(row["name"], schema=row["place"], url=row["url"])
            dropped = [self._others.pop(name) for name in set(self._others) - known]
            self._cells_read = time.monotonic()
        for cell in dropped:
            cell.close()

    def at(self, name: str, *, schema: str, url: str | None) -> Database:
        """A cell of this database: another schema, here or on the server of `url`, which lacks what is as in this one's."""
        settings = self.settings.model_copy(
            update={"schema_": schema, "cells": False, "roles": None, "user_walls": False}
        )
        dsn = self._url
        if url is not None:
            settings = settings.model_copy(
                update={
                    "read_url": None,
                    "listen_url": None,
                    "migrate_url": None if settings.migrate_url is None else merged(settings.migrate_url, url),
                }
            )
            dsn = None if self._url is None else merged(self._url, url)
        return Database(url=dsn, home=self._home, settings=settings, cell=name, origin=self)

    def follow(self) -> None:
        """Let reads on a replica wait for all that was committed until now, also by other processes."""
        if self._written.is_asked_for:
            with translated():
                self._written.note(self._ask_position(patience=self.settings.pool_timeout))

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
        """The rows of one statement that only reads, as a transaction of its own that sees one tenant.

        The settings of the transaction and the statement travel in one message there and back, and the transaction ends with it.
        Where a claim must be signed by the transaction's own terms, or the client library is too old for that, it is an ordinary
        transaction. Nothing is changed, so what fails since its session has ended is done once more in another one. `now` is as in
        `transaction`. With `primary` no replica is asked, which may have it a little later.

        Raises as `transaction` does.
        """
        with time_limit.limited(self._limit(patient=False)):
            rows = self._in_cell(
                tenant,
                lambda cell, version: cell._read_alone(
                    tenant, statement, parameters, claim=claim, now=now, primary=primary, version=version
                ),
            )
            time_limit.transaction_ended()
            return rows

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
        if self._claim_key is not None or not Connection.sends_batches():

            def work(connection: Connection) -> list[Row]:
                """Read it in one transaction."""
                return connection.execute(statement, parameters, binary=True).fetchall()

            if not primary:
                return self._reading(tenant, work, claim=claim, patient=False, now=now, version=version)
            with self._transaction(
                self._start(tenant, "htm_app", claim, patient=False, now=now, version=version)
            ) as connection:
                return work(connection)

        def message() -> list[tuple[LiteralString, Mapping[str, Any]]]:
            """What is sent, by where the tables are now."""
            return self._statements(tenant, statement, parameters, now=now, version=version)

        if self._replicas is not None and not primary:
            with contextlib.suppress(NoReplica), translated():
                return self._replicas.run(
                    lambda connection: connection.read(*message(), prepare=self._pooled._is_direct)
                )
        with translated(), self._looking_again_when_refused():
            return self._on_its_node(lambda: self._read(message()))

    def _statements(
        self, tenant: str, statement: LiteralString, parameters: Mapping[str, Any], *, now: datetime | None, version: int | None
    ) -> list[tuple[LiteralString, Mapping[str, Any]]]:  # fmt: skip
        """The message of one statement that only reads: the settings of its transaction, the fence of its cell, and itself."""
        settings = {
            "role": self._roles.name("htm_app"),
            "path": self._path,
            "tenant": tenant,
            "now": _moment(now),
            "timeout": _milliseconds(min(self.settings.statement_timeout, _patience(1.0))),
            "idle": "0",  # it never waits for this process
        }
        enter: list[tuple[LiteralString, Mapping[str, Any]]] = [(load("database")["enter"], settings)]
        if self._placement is not None:
            enter.append((self._placement.enter, {}))
        if version is not None:
            enter.append((load("database")["enter_cell"], {"version": version}))
        return [*enter, (statement, parameters)]

    def _read(self, statements: Sequence[tuple[LiteralString, Mapping[str, Any]]]) -> list[Row]:
        pool = self._pool("htm_app")
        try:
            with self._lent(pool) as connection, _refusing_spread(connection):
                return connection.read(*statements, prepare=self._pooled._is_direct)
        except UNPREPARED:
            self._pooled._is_direct = False  # an upgrade, or a pooler that hides itself
            with self._lent(pool) as connection, detect_lost_session(connection, committing=False):
                return connection.read(*statements, prepare=False)
        except psycopg.OperationalError as error:
            # As at the beginning of a transaction: see `_alive`.
            if isinstance(error, PoolTimeout):
                self._connect_to_node("htm_app").close()
                if self._has_failed(pool):
                    with self._lent(pool) as connection, detect_lost_session(connection, committing=False):
                        return connection.read(*statements, prepare=self._pooled._is_direct)
            if isinstance(error, NoAnswer | PoolTimeout | PoolClosed | TooManyRequests) or not connection.closed:
                raise
            self.dsn("htm_app")
            pool.check()
            with self._lent(pool) as connection, detect_lost_session(connection, committing=False):
                return connection.read(*statements, prepare=self._pooled._is_direct)

    @contextlib.contextmanager
    def _lent(self, pool: ConnectionPool[Connection]) -> Iterator[Connection]:
        """A connection of the pool, for which enough time must be left to find out why there is none."""
        connection = pool.getconn(timeout=min(self.settings.pool_timeout, _patience(POOL_SHARE)))
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _limit(self, *, patient: bool) -> time_limit.TimeLimit:
        """The limit of the verb that is running, or one for each answer alone."""
        limit = time_limit.current()
        if limit is not None:
            return time_limit.TimeLimit(limit.seconds, total=math.inf) if patient else limit
        longest = max(self.settings.verb_timeout, self.settings.statement_timeout + GRACE)
        return time_limit.TimeLimit(longest, total=math.inf)

    def _start(
        self, tenant: str, role: str, claim: OwnerClaim, *, patient: bool, now: datetime | None, followed: bool = True,
        version: int | None = None,
    ) -> _Start:  # fmt: skip
        limit = time_limit.current()
        return _Start(
            role=role,
            tenant=tenant,
            claim=claim,
            key=self._claim_key if claim else None,
            whole=math.inf if limit is None else limit.left,
            idle=self.settings.verb_timeout * (PATIENT if patient else 1),
            now=now,
            version=version,
            followed=followed,
        )

    @contextlib.contextmanager
    def _transaction(self, start: _Start) -> Iterator[Connection]:
        with (
            translated(),
            self._looking_again_when_refused(),
            self._begun(start) as connection,
            detect_lost_session(connection, committing=True),
            _refusing_spread(connection),
            self._concluded(connection, start),
            detect_lost_session(connection, committing=False),
        ):
            yield connection

    @contextlib.contextmanager
    def _concluded(self, connection: Connection, start: _Start) -> Iterator[None]:
        """Commit at the end, or roll back after any error and raise that error even if the rollback fails."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            raise
        if not (start.followed and self._written.is_asked_for):
            connection.commit()
        else:
            self._written.note(_commit_position(connection, patience=_patience(1.0)))

    def _opening(self, connection: Connection, start: _Start) -> bytes:
        """The statements that begin a transaction, in one message, which takes literals but no parameters."""
        settings = {
            "role": self._roles.name(start.role),
            "path": self._path,
            "tenant": start.tenant,
            "now": _moment(start.now),
            "timeout": _milliseconds(min(self.settings.statement_timeout, _patience(1.0))),
            "idle": _milliseconds(start.idle + GRACE),
            "whole": _milliseconds(start.whole + GRACE),
        }
        literals = {name: Literal(value).as_string(connection) for name, value in settings.items()}
        statements, opening = load("database"), "begin; "
        if connection.info.server_version >= TRANSACTION_TIMEOUT_SINCE and math.isfinite(start.whole):
            opening += statements["transaction_timeout"] % literals + "; "
        opening += statements["enter"] % literals
        if self._placement is not None:
            opening += "; " + self._placement.enter
        if start.version is not None:
            opening += "; " + statements["enter_cell"] % {"version": start.version}
        if start.key is not None:
            opening += "; " + statements["claim_terms"]
        return opening.encode()

    def _say_claim(self, connection: Connection, start: _Start, key: bytes, terms: PGresult) -> None:
        """Set the signed claim of a transaction that has begun, by its own terms: one round trip more."""
        backend, started = ((terms.get_value(0, column) or b"").decode() for column in (0, 1))
        claim = sign(start.claim, key=key, tenant=start.tenant, backend=backend, started=started)
        statement = load("database")["claim"] % {"claim": Literal(claim).as_string(connection)}
        check(connection, patience=self.settings.pool_timeout, opening=statement.encode())

    @contextlib.contextmanager
    def owner(self) -> Iterator[Connection]:
        """A new connection as the owner, outside any transaction, for indexes.

        Raises `SchemaOutdated` without the owner's rights, and `StorageError` through a pooler, where the role, the search
        path and the locks of the session would pass to its next client.
        """
        self.open()
        with translated(), self._on_its_node(self._owner_connection) as connection:
            yield connection

    def _owner_connection(self) -> Connection:
        connection = connect(self._owner_dsn("htm_owner"), patience=self.settings.pool_timeout)
        try:
            refuse_pooler(connection)
            connection.execute(self._roles.statements("bootstrap")["become_owner"].replace("local ", ""))
            path = self._path if self._placement is None else self._placement.owner_path
            connection.execute(load("database")["search_path"], {"path": path})
            if self._placement is not None:
                citus.become_owner_of(connection, self._placement)
            register_types(connection, self._extension)
        except BaseException:
            connection.close()
            raise
        return connection

    def open(self) -> None:
        """Connect to the server and check its schema; does so once, and again after a fork."""
        if self.opened and not self._refused:
            return
        # A private server takes its time to start, once, and so does an upgrade: that says nothing of their health. What is
        # asked of the server after its start has the verb's time.
        if self.is_embedded and not self.opened:
            with contextlib.ExitStack() as held:
                with time_limit.uncounted(), time_limit.limited(None), translated():
                    held.enter_context(self._lock)  # while another thread starts it, or upgrades
                    if not self.opened:
                        server.start(self._home)
                self._open()
        else:
            with time_limit.locked(self._lock, what="opening the database"):
                self._open()

    def _open(self) -> None:
        if self._path is None or self._refused:
            with translated():
                self._extension, walls = self._ensure_schema()
                self._claim_key = self._ensure_walls(up=walls)
            if self._placement is not None and self._replicas is not None:
                raise InvalidInput(
                    "expected Settings.read_url with a schema of one server, got one that Citus distributes; its "
                    "nodes have replicas of their own, so leave read_url out"
                )
            self._path = search_path(self.settings.schema_)
            self._refused = False
            if self._replicas is not None:
                self._require_position()

    def close(self) -> None:
        """Close every connection; a later use opens new ones."""
        for other in list(self._others.values()):
            other.close()
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()
            if self._replicas is not None and self._pooled is self:
                self._replicas.close()
            self.settled.clear()
            self._path = None

    def migrate(self) -> list[str]:
        """Bring the schema up to date as the owner, and name the steps that were applied; takes as long as it takes."""
        with time_limit.uncounted(), time_limit.limited(None):
            dsn = self.settings.migrate_url or self._given_dsn("htm_root")
            return migrate(dsn, schema=self.settings.schema_, logins=self.is_embedded, roles=self._prefix).names

    def set_user_walls(self, *, up: bool) -> None:
        """Put up the wall between the users of each tenant, or take it down, as the owner.

        Other processes find out by an error of their next verb, after which they sign their claims. Raises `SchemaOutdated` for a
        login without the owner's rights.
        """
        self.open()
        cells = self.cells()[1:]
        with time_limit.uncounted(), time_limit.limited(None):
            self._set_walls(up=up)
            for cell in cells:
                with translated(), self._as_owner() as home, cell._as_owner() as there:
                    cell.copy_user_walls(home, there)
                cell._refused = True
        self._refused = True  # so that the next verb looks again

    def copy_user_walls(self, home: Connection, here: Connection) -> None:
        """Put the wall between users up in this cell, or take it down, as it is at home and with home's key: both are owners."""
        row = home.execute(load("cells")["walls"]).fetchone()
        assert row is not None  # its migration has put one row into it
        with here.transaction():
            if row["enabled"]:
                here.execute(load("cells")["set_walls_key"], {"key": row["key"]})
            here.execute(load("database")["set_user_walls"], {"up": row["enabled"]})

    def user_walls_key(self) -> SecretStr | None:
        """The key that claims are signed with, for `Settings.user_walls_key`; None where there is no wall between users.

        Raises `SchemaOutdated` for a login without the owner's rights.
        """
        self.open()
        with connect(self.dsn("htm_app"), patience=self.settings.pool_timeout) as connection, connection.transaction():
            self._enter(connection)
            up = self._has_walls(connection)
        return SecretStr(self._read_key().hex()) if up else None

    @property
    def walls_key(self) -> bytes | None:
        """What this process signs its claims with, as far as it knows: by its settings, or since it opened the database."""
        given = self.settings.user_walls_key
        return self._claim_key if given is None else bytes.fromhex(given.get_secret_value())

    def dsn(self, role: str) -> SecretStr:
        """The connection string for a role, to the node where the tables live; the embedded server is found or started."""
        given = self._given_dsn(role)
        return given if self._placement is None else self._placement.node.dsn(given)

    def _given_dsn(self, role: str) -> SecretStr:
        if self._url is not None:
            return self._url
        if not self.opened:
            return SecretStr(server.start(self._home).dsn(role))
        try:  # it was running, and is found in milliseconds unless it has stopped
            return SecretStr(
                time_limit.in_time(lambda: server.start(self._home).dsn(role), client=("home", self._home))
            )
        except time_limit.OutOfTime as error:
            raise AnswerOverdue("the private server gave no answer in time") from error

    @property
    def _prefix(self) -> str | None:
        """What the names of the roles are asked to begin with. On the embedded server they are logins with fixed names."""
        return "htm" if self.is_embedded else self.settings.roles

    def _owner_dsn(self, role: str) -> SecretStr:
        given = self.settings.migrate_url or self._given_dsn(role)
        return given if self._placement is None else self._placement.node.dsn(given)

    @contextlib.contextmanager
    def _reached(self) -> Iterator[Connection]:
        """A new connection to the server where the tables live, after a look where that is. The caller holds the lock."""
        with connect(self._given_dsn("htm_root"), patience=self.settings.pool_timeout) as connection:
            self._find_node(connection)
            if self._placement is None or self._placement.node.is_here:
                yield connection
                return
        with self._connect_to_node("htm_root") as connection:
            yield connection

    def _connect_to_node(self, role: str) -> Connection:
        """A new connection to the server where the tables live, as far as this process knows."""
        try:
            return connect(self.dsn(role), patience=self.settings.pool_timeout)
        except AnswerOverdue:
            raise
        except psycopg.OperationalError as error:
            if self._placement is None or self._placement.node.is_here:
                raise
            raise citus.unreachable(self._placement.node, error) from error

    def _find_node(self, connection: Connection) -> None:
        """Find the node where the tables live, if Citus distributes them; pools of another node are closed.

        Whoever has one of their connections returns it there.
        """
        if self.is_embedded:
            return
        before, addresses = self._placement, self.settings.node_addresses
        self._placement = citus.find_placement(connection, self.settings.schema_, addresses=addresses)
        if self._placement != before:
            _log.info("the memories live on %s", self._placement.node if self._placement else "the server of the url")
            self._pooled._close_unused_pools()
            self.moves += 1

    def _close_unused_pools(self) -> None:
        """Close the pools of nodes on which none of the cells that share them lives any more."""
        with self._lock:
            used = {each._node for each in (self, *self._others.values())}
            unused = [place for place in self._pools if place.partition("@")[2] not in used]
            closed = [self._pools.pop(place) for place in unused]
        for pool in closed:
            pool.close()

    @property
    def _node(self) -> str:
        """The node where the tables live, as HOST:PORT; empty for the server of the url."""
        return "" if self._placement is None or self._placement.node.is_here else self._placement.node_name

    def _follow_move(self, before: citus.Placement | None) -> None:
        """Go to the node where the tables live now, unless another thread has done so."""
        with self._lock:
            if self._placement == before:
                with connect(self._given_dsn("htm_root"), patience=self.settings.pool_timeout) as connection:
                    self._find_node(connection)

    @contextlib.contextmanager
    def _looking_again_when_refused(self) -> Iterator[None]:
        """After a refusal the next call looks which roles the installation has now, and what its login may."""
        try:
            yield
        except REFUSALS:
            self._refused = True
            raise

    @contextlib.contextmanager
    def _begun(self, start: _Start) -> Iterator[Connection]:
        """A pooled connection on which a transaction has begun."""
        # The beginning has a verb's time, also where the transaction has more.
        with time_limit.limited(_for_beginning(time_limit.current())):
            pool, connection = self._on_its_node(lambda: self._begin_on(self._pool(start.role), start))
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _begin_on(
        self, pool: ConnectionPool[Connection], start: _Start
    ) -> tuple[ConnectionPool[Connection], Connection]:
        return pool, self._alive(pool, start)

    def _on_its_node(self, work: Callable[[], T]) -> T:
        """The answer of `work`, which begins on the node where the tables live: where they have moved to another one, there.

        The node that they have left may be gone meanwhile.
        """
        for _ in range(MOST_NODES):
            placement = self._placement
            try:
                return work()
            except (psycopg.Error, PoolClosed) as error:
                gone = isinstance(error, citus.NodeUnreachable)
                if placement is None or not (gone or citus.is_moved(error) or isinstance(error, PoolClosed)):
                    raise
                self._follow_move(placement)
                if gone and self._placement == placement:
                    raise
        return work()

    def _alive(self, pool: ConnectionPool[Connection], start: _Start) -> Connection:
        """A connection that answers. When there is none in time, the error says why the pool cannot open one."""
        try:
            try:
                return self._answering(pool, start)
            except psycopg.OperationalError as error:
                # If one connection gives no answer, no other will: trying each would only wait again.
                if isinstance(error, NoAnswer | PoolTimeout | PoolClosed | TooManyRequests):
                    raise
                self.dsn(start.role)  # restarts a dead embedded server before the pool opens a new connection
                pool.check()  # the same event has probably ended other sessions; finding them one by one takes longer
                return self._answering(pool, start)
        except PoolTimeout:
            with self._connect_to_node(start.role) as connection, connection.transaction():
                self._enter(connection)
                connection.execute(load("database")["look_in"], {"path": self._path})
                self._refuse_cells(connection)
            if not self._has_failed(pool):
                raise
            return self._answering(pool, start)  # the server is back; the pool only looks for it at growing intervals

    def _has_failed(self, pool: ConnectionPool[Connection]) -> bool:
        """Whether the pool has failed to open a connection since the last look: then it is no use to say that all are in use."""
        failures = pool.get_stats().get("connections_errors", 0)
        known, self._failures[pool.name] = self._failures.get(pool.name, 0), failures
        return failures > known

    def _answering(self, pool: ConnectionPool[Connection], start: _Start) -> Connection:
        """A connection on which a transaction has begun; on an error it goes back to the pool."""
        # When there is none, enough time must be left to find out why.
        connection = pool.getconn(timeout=min(self.settings.pool_timeout, _patience(POOL_SHARE)))
        try:
            self._begin(connection, start)
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            pool.putconn(connection)
            raise
        return connection

    def _begin(self, connection: Connection, start: _Start) -> None:
        """Begin a transaction, in one message, or in two where its claim is signed."""
        opening = self._opening(connection, start)
        answers = check(connection, patience=self.settings.pool_timeout, opening=opening)
        if start.key is not None:
            self._say_claim(connection, start, start.key, answers[-1])

    def _pool(self, role: str) -> ConnectionPool[Connection]:
        holder, place = self._pooled, f"{role if self.is_embedded else 'any'}@{self._node}"
        pool = holder._pools.get(place)
        if pool is None:
            with holder._lock:
                pool = holder._pools.get(place) or holder._make_pool(self.dsn(role), name=f"htm-{place.rstrip('@')}")
                holder._pools[place] = pool
        return pool

    def _make_pool(self, dsn: SecretStr, *, name: str, **besides: str) -> ConnectionPool[Connection]:
        return ConnectionPool(
            connection_class=Connection,
            kwargs=options(dsn, patience=self.settings.pool_timeout)
            | {"fallback_application_name": client_name(self.settings.schema_, cells=self.settings.cells)}
            | besides,
            min_size=self.settings.pool_min,
            max_size=max(self.settings.pool_max, self.settings.pool_min),
            timeout=self.settings.pool_timeout,
            # The pool retries at growing intervals. After this time it stops, and the next caller's attempt is immediate.
            reconnect_timeout=self.settings.pool_timeout,
            configure=self._configure,
            name=name,
            open=True,
        )

    def _make_replicas(self) -> Replicas | None:
        dsn = self.settings.read_url
        if dsn is None:
            return None
        if self.is_embedded:
            raise InvalidInput(
                "expected url= beside Settings.read_url, got the private server, which has no replica; give the primary's url "
                "(or HTM_DATABASE_URL), or leave read_url out"
            )
        readable(dsn)
        self._written.is_asked_for = True
        return Replicas(
            dsn,
            settings=self.settings,
            written=self._written,
            make_pool=lambda dsn: self._make_pool(dsn, name="htm-replica", **replica_options(dsn)),
            ask_primary=lambda: self._ask_position(patience=PRIMARY_PATIENCE),
        )

    def _require_position(self) -> None:
        """Refuse `Settings.read_url` where the primary does not tell its position: else each commit would end with an error."""
        try:
            self._ask_position(patience=self.settings.pool_timeout)
        except NOT_TOLD as error:
            self._path = None
            raise InvalidInput(
                "expected a primary that says how far its log is (pg_current_wal_flush_lsn), for Settings.read_url, got: "
                f"{str(error).splitlines()[0]}; leave read_url out with this server"
            ) from error

    def _ask_position(self, *, patience: float) -> int:
        """How far the primary's log is; raises psycopg's errors."""
        pool = self._pool("htm_app")
        connection = pool.getconn(timeout=min(patience, _patience(POOL_SHARE)))
        try:
            (found,) = check(connection, patience=patience, opening=load("replicas")["written"].encode())
        finally:
            pool.putconn(connection)
        return int(found.get_value(0, 0) or 0)

    def _configure(self, connection: Connection) -> None:
        # In a thread of the pool, which would open no other connection while it waits.
        with time_limit.limited(time_limit.TimeLimit(self.settings.pool_timeout)):
            self._prepare(connection)

    def _prepare(self, connection: Connection) -> None:
        check(connection, patience=self.settings.pool_timeout)
        with connection.transaction():
            if not self.settings.cells:  # else it serves all cells of its node, and is refused by none
                path = {"path": self._path, "role": "none", "tenant": "", "now": "", "timeout": "0", "idle": "0"}
                connection.execute(load("database")["enter"], path)
                self._enter(connection)
                self._refuse_cells(connection)
            connection.is_direct = is_direct(connection)
            self._is_direct = self._is_direct and connection.is_direct
            register_types(connection, self._extension)

    def _ensure_schema(self) -> tuple[str, bool]:
        """The schema of the extension and whether the wall between users is up, once our schema is there and current."""
        with translated(), self._reached() as connection:
            behind = self._behind(connection)
            if not behind:
                return self._installation(connection)
        if not self.settings.auto_migrate:
            raise SchemaOutdated(f"expected this version's schema, but {behind}; run `htm migrate` as the owner")
        self.migrate()
        with translated(), self._reached() as connection:
            return self._installation(connection)

    def _installation(self, connection: Connection) -> tuple[str, bool]:
        """The schema of the extension and whether the wall between users is up; notes the roles, and what the login may."""
        with connection.transaction():
            connection.execute(load("bootstrap")["pin"])
            self._enter(connection)
            row = connection.execute(load("database")["vector_home"]).fetchone()
            self._roles = choose(connection, self.settings.schema_, prefix=self._prefix)
            self._may_work = self.is_embedded or bool(rights(connection, self._roles)["worker"])
            if row is None:
                raise SchemaOutdated("expected the extension pgvector, got none; run `htm migrate` as a superuser")
            walls = self._has_walls(connection)
            self._refuse_cells(connection)
            return str(row["nspname"]), walls

    def _refuse_cells(self, connection: Connection) -> None:
        """Raise `InvalidInput` where there are cells and this process would not ask for them; the search path is set.

        It is asked on each new connection: whoever had none when the first cell was made finds out before it writes.
        """
        if self.settings.cells or self.cell != HOME:
            return
        row = connection.execute(load("database")["has_cells"]).fetchone()
        if row is not None and row["found"]:
            self._refused = True  # later calls look before they ask the pool
            raise InvalidInput(
                f"expected Settings(cells=True), or HTM_CELLS=1, since the schema {self.settings.schema_} has cells and tenants "
                "may live in another one, got cells=False; nothing was read or written"
            )

    def _ensure_walls(self, *, up: bool) -> bytes | None:
        """The key that claims are signed with where the wall between users is up; builds it where the settings want it."""
        if not up:
            if not self.settings.user_walls:
                return None
            if not self.settings.auto_migrate:
                raise SchemaOutdated(
                    "expected a wall between users, as Settings.user_walls says, got none; run as the owner: "
                    "htm migrate --user-walls on"
                )
            with time_limit.uncounted(), time_limit.limited(None):  # an upgrade
                self._set_walls(up=True)
        given = self.settings.user_walls_key
        return self._read_key() if given is None else bytes.fromhex(given.get_secret_value())

    def _has_walls(self, connection: Connection) -> bool:
        """Whether the wall between users is up, asked in a transaction that has begun."""
        connection.execute(load("database")["look_in"], {"path": search_path(self.settings.schema_)})
        row = connection.execute(load("database")["user_walls"]).fetchone()
        return row is not None and bool(row["enabled"])

    def _read_key(self) -> bytes:
        try:
            with self._as_owner() as connection:
                row = connection.execute(load("database")["user_walls_key"]).fetchone()
        except psycopg.errors.InsufficientPrivilege as error:
            raise SchemaOutdated(
                "expected the key of the wall between users: this login cannot read it, and should not; give "
                "Settings.user_walls_key what `htm migrate --user-walls key` prints for the owner, or Settings.migrate_url"
            ) from error
        if row is None:
            raise SchemaOutdated("expected a wall between users, which was just taken down; try again")
        return bytes(row["key"])

    def _set_walls(self, *, up: bool) -> None:
        def changed() -> None:
            """Change it, in a transaction of the owner."""
            with translated(), self._as_owner() as connection:
                connection.execute(load("database")["set_user_walls"], {"up": up})

        try:
            retry_transaction(changed, repeatable=True)
        except StorageError as error:
            if not isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
                raise
            raise SchemaOutdated(
                "expected the owner's rights, to change the wall between users; run as the owner: "
                f"htm migrate --user-walls {'on' if up else 'off'}"
            ) from error

    @contextlib.contextmanager
    def _as_owner(self) -> Iterator[Connection]:
        """A transaction of the schema's owner, on a connection of its own."""
        dsn, schema = self._owner_dsn("htm_owner"), self.settings.schema_
        with connect(dsn, patience=self.settings.pool_timeout) as connection, connection.transaction():
            self._enter(connection)
            connection.execute(self._roles.statements("bootstrap")["become_owner"])
            connection.execute(self._roles.statements("bootstrap")["enter"], {"schema": schema})
            connection.execute(load("database")["look_in"], {"path": search_path(schema)})
            yield connection

    def _enter(self, connection: Connection) -> None:
        citus.enter(connection, self._placement)

    def _behind(self, connection: Connection) -> str | None:
        """What is pending, in words, or None.

        Raises `SchemaOutdated` for a schema that this version cannot use or upgrade, and for a login without membership.
        """
        schema = self.settings.schema_
        try:
            with connection.transaction():
                self._enter(connection)
                connection.execute(load("database")["look_in"], {"path": search_path(schema)})
                applied = read_applied(connection)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
            _refuse_outsider(connection, schema)
            return f"there is none in the schema {schema} that this login may read"
        steps = pending_steps(applied, schema_files())
        return str(steps) if steps else None


@contextlib.contextmanager
def _refusing_spread(connection: Connection) -> Iterator[None]:
    """After a refusal, which has ended its transaction, look whether a proxy had another server answer; then say so instead."""
    try:
        yield
    except REFUSALS:
        if not connection.closed:
            refuse_spread(connection)
        raise


def _moment(now: datetime | None) -> str:
    """A time as the server's settings have it; empty for the server's own."""
    return "" if now is None else now.isoformat()


def _milliseconds(seconds: float) -> str:
    """Seconds as the server's settings have them, of which 0 would be no limit."""
    return str(min(LONGEST, max(1, int(1000 * min(seconds, LONGEST)))))


def _commit_position(connection: Connection, *, patience: float) -> int:
    """Commit, and say how far the primary's log is then: in one message. 0 where nothing was written."""
    replicas = load("replicas")
    message = f"{replicas['has_written']}; commit; {replicas['written']}"
    has_written, _, written = check(connection, patience=min(patience, LONGEST / 1000), opening=message.encode())
    return int(written.get_value(0, 0) or 0) if has_written.get_value(0, 0) == b"t" else 0


def _refuse_outsider(connection: Connection, schema: str) -> None:
    """Raise `SchemaOutdated` with the command when the schema is there and only the login's membership is missing."""
    with connection.transaction():
        connection.execute(load("bootstrap")["pin"])
        roles = find(connection, schema)
        if roles is None:
            return
        held = rights(connection, roles)
    if not held["app"]:
        raise SchemaOutdated(
            f"expected a login that is a member of {roles.app}, got {held['login']}; ask an administrator to run: "
            f'grant {roles.app}, {roles.worker} to "{held["login"]}";  (without {roles.worker} it serves verbs and does no jobs)'
        )


_written: dict[SecretStr | None, Written] = {}  # by url, since its memories may have different settings
_databases: dict[tuple[SecretStr | None, str, Settings], Database] = {}
_registry = threading.Lock()


def database(*, url: SecretStr | None, home: Path, settings: Settings) -> Database:
    """The process's one `Database` for a url (or an embedded home) and settings."""
    key = (url, "" if url else str(home), settings)  # the settings themselves: as text all secrets look alike
    with _registry:
        if key not in _databases:
            _databases[key] = Database(url=url, home=home, settings=settings)
        return _databases[key]


def close_all() -> None:
    """Close every database of this process and release the embedded servers; a later use opens them again."""
    with _registry:
        known, homes = list(_databases.values()), {each._home for each in _databases.values() if each.is_embedded}
    for each in known:
        each.close()
    for home in homes:
        server.release(home)


def _renew_registry() -> None:
    global _registry
    _registry = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_registry)
