"""Transactions on the primary: how they begin, as whom and for whom, what they lock, and how they
end; reads of one message.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from ..base import time_limit
from ..base.settings import Settings
from .address import Address
from .cluster import citus
from .cluster.replicas import UNPREPARED, Written
from .connection import (
    BEGIN,
    Connection,
    NoAnswer,
    Row,
    StatementsSpread,
    check,
    ends_session,
    refusing_spread,
)
from .errors import detect_lost_session, translated
from .installation import Installation
from .owner_claims import OwnerClaim, sign
from .pools import AdmittingPool, Pools
from .queries import load
from .user_walls import UserWall

# From this version on the server bounds a whole transaction too.
TRANSACTION_TIMEOUT_SINCE = 170000
# The largest time-out that PostgreSQL takes, in milliseconds.
LONGEST = 2**31 - 1
# Seconds that the server waits longer than this process, whose error says more.
GRACE = 1.0
# Transactions that go with somebody else's pace, such as a backup's, may wait so many times longer
# for their client.
PATIENT = 20

# The share of a verb's time in which it must get a connection: enough must be left to find out why
# there is none.
POOL_SHARE = 0.7
# Seconds that a connection to another node of a cluster is waited for before this looks whether the
# tables have left that node.
SOON = 1.0

# What says nothing of a session that was there.
ANOTHER_IS_NO_USE = (NoAnswer, PoolTimeout, PoolClosed, TooManyRequests, StatementsSpread)

T = TypeVar("T")
# The statements of one message, each with its parameters.
Message = Sequence[tuple[LiteralString, Mapping[str, Any]]]
# Queues the first statements of a transaction on its connection.
First = Callable[[Connection], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start of a transaction: as whom, for which owners, and the seconds that it has, in all and
    between two statements.
    """

    role: str
    tenant: str
    claim: OwnerClaim
    key: bytes | None  # that the claim is signed with; None: nobody asks for one
    whole: float
    idle: float
    now: datetime | None = None  # the memory's time; None: the server's
    # as of which the tenant is in this cell; None: there are no cells, or it is no tenant's
    version: int | None = None
    followed: bool = True  # whether this process's reads on a replica must see what it writes
    # Queues what travels with the beginning, and is called again where it begins once more
    # elsewhere.
    first: First | None = None
    # whether that is all of it, which may be done twice: then the commit travels with it, too
    alone: bool = False


def in_one_message(
    begin: Callable[[First], contextlib.AbstractContextManager[Connection]],
    queue: Callable[[Connection], T],
) -> T:
    """The answer of `queue`, which queues all statements of the transaction that `begin` begins
    with them.
    """
    answers: list[T] = []

    def first(connection: Connection) -> None:
        """Queue them, again where the transaction begins once more elsewhere."""
        answers[:] = [queue(connection)]

    with begin(first):
        return answers[0]


class Transactions:
    """The transactions of one cell on its primary. The database must be open."""

    def __init__(
        self,
        installation: Installation,
        pools: Pools,
        wall: UserWall,
        *,
        settings: Settings,
        written: Written,
    ) -> None:
        self._address: Address = installation.address
        self._installation = installation
        self._pools = pools
        self._wall = wall
        self._settings = settings
        self.written = written  # how far the primary's log was after each commit that is followed
        # Of each pool to open a connection, as far as they were looked at: to explain a time-out,
        # and to look where the tables are.
        self._failures: dict[str, int] = {}
        self._failures_followed: dict[str, int] = {}

    def limit(self, *, patient: bool) -> time_limit.TimeLimit:
        """The limit of the verb that is running, or one for each answer alone."""
        limit = time_limit.current()
        if limit is not None:
            return time_limit.TimeLimit(limit.seconds, total=math.inf) if patient else limit
        longest = max(self._settings.verb_timeout, self._settings.statement_timeout + GRACE)
        return time_limit.TimeLimit(longest, total=math.inf)

    def start(
        self,
        tenant: str,
        role: str,
        claim: OwnerClaim,
        *,
        patient: bool,
        now: datetime | None,
        followed: bool = True,
        version: int | None = None,
        first: First | None = None,
        alone: bool = False,
    ) -> Start:
        """Return the start of a transaction now, in the time that the running verb has left."""
        limit, key = time_limit.current(), self._wall.key
        return Start(
            role=role,
            tenant=tenant,
            claim=claim,
            key=key if key is not None and claim else None,
            whole=math.inf if limit is None else limit.left,
            idle=self._settings.verb_timeout * (PATIENT if patient else 1),
            now=now,
            version=version,
            followed=followed,
            first=first,
            alone=alone,
        )

    @contextlib.contextmanager
    def run(self, start: Start) -> Iterator[Connection]:
        """A transaction that has begun; committed at the end, rolled back on any error, which is
        raised even if that fails.
        """
        limit = time_limit.current()
        # The beginning has a verb's time, also where the transaction has more.
        if limit is not None and math.isinf(limit.ends):
            limit = time_limit.TimeLimit(limit.seconds)
        with translated(when_refused=self._installation.look_again):
            with time_limit.limited(limit):
                pool, connection = self._address.on_its_node(lambda: self._begun(start))
            try:
                with detect_lost_session(connection, committing=True), refusing_spread(connection):
                    try:
                        with detect_lost_session(connection, committing=False):
                            yield connection
                        if not start.alone:
                            self._commit(connection, start)
                    except BaseException:
                        with contextlib.suppress(psycopg.Error):
                            connection.rollback()
                        raise
            finally:
                pool.putconn(connection)

    def begin(self, connection: Connection, start: Start) -> None:
        """Begin a transaction with its first statements, or all of it, in one message, or in two
        where its claim is signed.
        """
        # a replica may have begun it
        if connection.info.transaction_status == TransactionStatus.IDLE:
            connection.queue(BEGIN)
        if connection.info.server_version >= TRANSACTION_TIMEOUT_SINCE and math.isfinite(
            start.whole
        ):
            whole = _milliseconds(start.whole + GRACE)
            connection.queue(load("db/transactions")["transaction_timeout"], {"whole": whole})
        idle = _milliseconds(start.idle + GRACE)
        for statement, parameters in self._entering(
            start.role, start.tenant, start.now, start.version, idle=idle
        ):
            connection.queue(statement, parameters)
        if start.key is not None:
            asked = connection.queue(load("db/transactions")["claim_terms"])
            connection.send_queued(patience=self._settings.pool_timeout)
            claim = sign(start.claim, key=start.key, tenant=start.tenant, **asked.rows[0])
            connection.queue(load("db/transactions")["claim"], {"claim": claim})
        if start.first is not None:
            start.first(connection)
        if start.alone:
            self._commit(connection, start)
        connection.send_queued(patience=self._settings.pool_timeout)

    def _entering(
        self, role: str, tenant: str, now: datetime | None, version: int | None, *, idle: str
    ) -> Message:
        """The statements that enter a transaction: its settings, the node of its tables, and the
        fence of its cell.
        """
        settings = {
            "role": self._installation.roles.name(role),
            "path": self._installation.path,
            "tenant": tenant,
            "now": "" if now is None else now.isoformat(),  # empty for the server's own
            "timeout": _milliseconds(
                min(self._settings.statement_timeout, time_limit.patience(1.0))
            ),
            "idle": idle,
        }
        enter: list[tuple[LiteralString, Mapping[str, Any]]] = [(_enter(), settings)]
        if self._address.placement is not None:
            enter.append((self._address.placement.enter, {}))
        if version is not None:
            enter.append((load("db/transactions")["enter_cell"], {"version": version}))
        return enter

    def _commit(self, connection: Connection, start: Start) -> None:
        if not (start.followed and self.written.is_asked_for):
            connection.commit()
        else:
            self.written.note(_commit_position(connection))

    # -- reads that are one message ----------------------------------------------------------------

    def message(
        self,
        tenant: str,
        statement: LiteralString,
        parameters: Mapping[str, Any],
        *,
        now: datetime | None,
        version: int | None,
    ) -> Message:
        """The message of one statement that only reads: what enters its transaction, and itself."""
        # It never waits for this process.
        return [*self._entering("htm_app", tenant, now, version, idle="0"), (statement, parameters)]

    def read(self, message: Callable[[], Message]) -> list[Row]:
        """The rows of a message, which is made by where the tables are now."""
        with translated(when_refused=self._installation.look_again):
            return self._address.on_its_node(lambda: self._read(message()))

    def _read(self, statements: Message) -> list[Row]:
        pools, pool = self._pools, self._pools.of("htm_app", self._address)
        try:
            with self._lent(pool) as connection, refusing_spread(connection):
                return connection.read(*statements, prepare=pools.is_direct)
        except UNPREPARED:
            pools.is_direct = False  # an upgrade, or a pooler that hides itself
            return self._read_again(pool, statements)
        except psycopg.OperationalError as error:
            # As at the beginning of a transaction: see `_begun`.
            if isinstance(error, PoolTimeout):
                self._address.connect("htm_app").close()
                if self._has_failed(pool):
                    return self._read_again(pool, statements)
            if not _has_ended_session(error):
                raise
            self._address.after_lost_session("htm_app")
            pool.check()
            return self._read_again(pool, statements)

    def _read_again(self, pool: AdmittingPool, statements: Message) -> list[Row]:
        with self._lent(pool) as connection, detect_lost_session(connection, committing=False):
            return connection.read(*statements, prepare=self._pools.is_direct)

    # -- connections that answer -------------------------------------------------------------------

    def _begun(self, start: Start) -> tuple[AdmittingPool, Connection]:
        """A pool and its connection that answers, on which a transaction has begun.

        When there is none in time, the error says why the pool cannot open one.
        """
        pool = self._pools.of(start.role, self._address)
        try:
            try:
                return pool, self._answering(pool, start)
            except psycopg.OperationalError as error:
                if not _has_ended_session(error):
                    raise
                self._address.after_lost_session(start.role)
                # the same event has probably ended other sessions; finding them one by one takes
                # longer
                pool.check()
                return pool, self._answering(pool, start)
        except PoolTimeout:
            with self._address.connect(start.role) as connection, connection.transaction():
                self._installation.enter(connection)
                self._installation.refuse_cells(connection)
            if not self._has_failed(pool):
                raise
            # The server is back; the pool only looks for it at growing intervals.
            return pool, self._answering(pool, start)

    def _has_failed(self, pool: AdmittingPool) -> bool:
        """True if the pool has failed to open a connection since the last look: then it is no use
        to say that all are in use.
        """
        return _has_failed_since(self._failures, pool)

    def _answering(self, pool: AdmittingPool, start: Start) -> Connection:
        """A connection on which a transaction has begun; on an error it goes back to the pool."""
        connection = self._take(pool)
        try:
            self.begin(connection, start)
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            pool.putconn(connection)
            raise
        return connection

    @contextlib.contextmanager
    def _lent(self, pool: AdmittingPool) -> Iterator[Connection]:
        """A connection of a pool, which goes back at the end."""
        connection = self._take(pool)
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _take(self, pool: AdmittingPool) -> Connection:
        """A connection of a pool, in time for the running verb.

        Raises `NodeUnreachable` where none can be opened to a node that the tables have left.
        """
        placement, longest = self._address.placement, self._settings.pool_timeout
        if placement is None or placement.node.is_here or longest <= SOON:
            return pool.getconn(min(longest, time_limit.patience(POOL_SHARE)))
        try:
            return pool.getconn(min(SOON, time_limit.patience(POOL_SHARE)))
        except PoolTimeout as error:
            if _has_failed_since(self._failures_followed, pool) and self._address.has_left(
                placement
            ):
                raise citus.unreachable(placement.node, error) from error
            return pool.getconn(min(longest - SOON, time_limit.patience(POOL_SHARE)))

    # -- the primary's log -------------------------------------------------------------------------

    def ask_position(self, *, patience: float) -> int:
        """Ask how far the primary's log is; raises psycopg's errors."""
        pool = self._pools.of("htm_app", self._address)
        connection = pool.getconn(min(patience, time_limit.patience(POOL_SHARE)))
        try:
            (result,) = check(
                connection,
                patience=patience,
                opening=load("db/cluster/replicas")["written"].encode(),
            )
        finally:
            pool.putconn(connection)
        return int(result.get_value(0, 0) or 0)


def take_locks(connection: Connection, kind: str, *named: tuple[str, ...]) -> None:
    """Lock things of the transaction's tenant until the transaction ends, in one order for all;
    waits for other holders.

    A thing, which may have no row of its own yet, is a kind and what names it there. Locking again
    what the transaction holds changes nothing. Why rows: docs/why/store.md.
    """
    if named:
        names = {"names": _hashes(kind, named)}
        connection.queue(load("db/transactions")["take_locks"], names)
        connection.queue(load("db/transactions")["drop_locks"], names)


def _hashes(kind: str, named: Iterable[tuple[str, ...]]) -> list[bytes]:
    """Each thing's hash, in order: no two have the same, and names may be long."""
    return sorted(
        {hashlib.sha256("\x1f".join((kind, *parts)).encode()).digest() for parts in named}
    )


@cache
def _enter() -> LiteralString:
    """The statement that begins a transaction: the settings of every session of ours, and those of
    this transaction, in one.
    """
    return (
        f"{load('db/connection')['settings']}, "
        f"{load('db/transactions')['enter'].partition('select ')[2]}"
    )


def _has_ended_session(error: psycopg.OperationalError) -> bool:
    """True if an error says that a session has ended, so that another one may answer.

    If one gives no answer, no other will: trying each would only wait again. And what the server
    refuses it refuses there, too.
    """
    return ends_session(error) and not isinstance(error, ANOTHER_IS_NO_USE)


def _has_failed_since(seen: dict[str, int], pool: AdmittingPool) -> bool:
    """True if a pool has failed to open more connections than were seen, which are seen then."""
    failures = pool.get_stats().get("connections_errors", 0)
    before, seen[pool.name] = seen.get(pool.name, 0), failures
    return failures > before


def _milliseconds(seconds: float) -> str:
    """Seconds as the server's settings have them, of which 0 would be no limit."""
    return str(min(LONGEST, max(1, int(1000 * min(seconds, LONGEST)))))


def _commit_position(connection: Connection) -> int:
    """Commit, and say how far the primary's log is then: in one message. 0 where nothing was
    written.
    """
    replicas = load("db/cluster/replicas")
    has_written = connection.queue(replicas["has_written"])
    connection.queue("commit")
    written = connection.queue(replicas["written"])
    return int(written.rows[0]["position"]) if has_written.rows[0]["has_written"] else 0
