"""Reading from physical replicas: which of a process's reads they may answer, and when they are
left. docs/why/scale.md.

An answer is never older than what this process last wrote, nor than `Settings.read_max_lag`. Both
are positions in the primary's write-ahead log, in bytes: that of each commit comes back with the
commit, and the primary's own is asked for now and then. A replica answers once it has replayed as
much. Whatever it cannot do the primary does, in the same verb.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from psycopg import errors as pg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests
from pydantic import SecretStr

from ...base import time_limit
from ...base.fork import renewed_after_fork
from ...base.settings import Settings
from ..connection import BEGIN, Connection, NoAnswer, check, readable
from ..errors import redact
from ..queries import load

_log = logging.getLogger("htm.replicas")
T = TypeVar("T")

# The share of a verb's time that its replica has. What is left is for the primary.
SHARE = 0.3
# Seconds for which a replica that failed is left alone: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
CONNECT = 1.0  # seconds to wait for a connection
LOOK = 0.001  # seconds between two looks at how far a replica has come

# Errors of a replica that say nothing against it: a vacuum of the primary took rows away from a
# query, the query was too long for its share of the time, or a role has not come yet.
ONLY_THIS_TIME = (
    pg.SerializationFailure,
    pg.QueryCanceled,
    pg.DeadlockDetected,
    pg.InvalidParameterValue,
)
# What is said of a prepared statement that is not there, is there already, or gives other columns
# since an upgrade: a connection on which one fails would fail each time.
UNPREPARED = (pg.InvalidSqlStatementName, pg.DuplicatePreparedStatement, pg.FeatureNotSupported)
# Errors of one that is no use now: it is gone, or has not replayed an upgrade yet.
OF_NO_USE = (
    psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError,
    pg.InsufficientPrivilege, pg.UndefinedFunction, pg.UndefinedTable, pg.UndefinedColumn,
    pg.UndefinedObject, pg.InvalidSchemaName, pg.FeatureNotSupported,
)  # fmt: skip


class NoReplica(Exception):
    """No replica may answer this read; the primary does."""


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """State of a replica, for `htm doctor`."""

    is_standby: bool
    replayed: int  # bytes of the primary's log


def replica_options(dsn: SecretStr) -> dict[str, str]:
    """Return the options of libpq where the connection string says nothing else: only standbys, and
    any of several.
    """
    chosen = {"target_session_attrs": "standby"}
    if psycopg.pq.version() >= 160000:
        chosen["load_balance_hosts"] = "random"
    parameters = readable(dsn)
    return {name: value for name, value in chosen.items() if name not in parameters}


def replica_state(connection: Connection) -> ReplicaState:
    """Return whether a server is a standby, and how much of the log it has replayed."""
    (result,) = check(
        connection, patience=_left(), opening=load("db/cluster/replicas")["replayed"].encode()
    )
    return ReplicaState(result.get_value(0, 0) == b"t", int(result.get_value(0, 1) or 0))


class Written:
    """Position of the primary's log after the last commit of this process: one for all that it
    opens by the same url.
    """

    def __init__(self) -> None:
        self.position = 0
        # whether anything of this process reads from replicas of that primary
        self.is_asked_for = False
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, where another thread of the parent may have
        held the lock.
        """
        self._lock = threading.Lock()

    def note(self, position: int) -> None:
        """Note how far the primary's log was after a commit."""
        with self._lock:
            self.position = max(self.position, position)


# by url, since its memories may have different settings
_written: dict[SecretStr | None, Written] = {}


def written_through(url: SecretStr | None) -> Written:
    """Return the position of the log of a url's primary after the last commit of this process."""
    return _written.setdefault(url, Written())


class Replicas:
    """The replicas of a database, as this process reads from them."""

    def __init__(
        self,
        dsn: SecretStr,
        *,
        settings: Settings,
        written: Written,
        make_pool: Callable[[SecretStr], ConnectionPool[Connection]],
        ask_primary: Callable[[], int],
    ) -> None:
        self.dsn = dsn
        self._written = written
        self._settings = settings
        self._make_pool = make_pool
        self._ask_primary = ask_primary
        self._pool: ConnectionPool[Connection] | None = None
        self._inherited: list[ConnectionPool[Connection]] = []
        # of the primary, and when it was asked; the oldest first
        self._positions: list[tuple[float, int]] = []
        self._asked_at = float("-inf")
        self._is_silent = False  # whether the primary gave no position when it was last asked
        self._left_until = float("-inf")
        self._pause = FIRST_PAUSE
        self._waits = True  # whether the last wait for a replica was worth it
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child, which must neither use nor free the parent's pool: it is
        kept as it is.
        """
        self._lock = threading.Lock()
        if self._pool is not None:
            self._inherited.append(self._pool)
        self._pool = None

    def run(self, work: Callable[[Connection], T]) -> T:
        """The answer of `work` on a replica; raises `NoReplica` where none may answer, or it fails
        there.

        `work` only reads, and is called at most once here. Errors that say something against the
        question are raised.
        """
        if time.monotonic() < self._left_until:
            raise NoReplica
        limit = time_limit.current() or time_limit.TimeLimit(self._settings.verb_timeout)
        with time_limit.limited(
            time_limit.TimeLimit(limit.seconds * SHARE, total=limit.left * SHARE)
        ):
            try:
                with self._lent() as connection:
                    if not connection.is_direct:
                        _stay_with_one_server(connection)
                    self._await_replay(connection)
                    try:
                        answer = work(connection)
                    except UNPREPARED as error:
                        connection.close()  # the next one prepares them anew
                        raise NoReplica from error
                    if not connection.is_direct:
                        connection.rollback()
            except ONLY_THIS_TIME as error:
                raise NoReplica from error
            except OF_NO_USE as error:
                self._leave(error)
                raise NoReplica from error
        self._stay()
        return answer

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    # -- how far a replica has come ----------------------------------------------------------------

    def _await_replay(self, connection: Connection) -> None:
        """Wait until a replica has replayed what it must have; raises `NoReplica` when it takes too
        long.
        """
        needed = max(self._old_enough(), self._written.position)
        if connection.replayed >= needed > 0:
            return
        deadline = time.monotonic() + (self._settings.read_wait if self._waits else 0.0)
        while True:
            state = replica_state(connection)
            if not state.is_standby:
                connection.close()
                raise psycopg.OperationalError("it is no standby, maybe since it was promoted")
            connection.replayed = state.replayed
            if state.replayed >= needed:
                self._waits = True
                return
            if time.monotonic() >= deadline:
                self._waits = False  # one look each time, until one is enough
                raise NoReplica
            time.sleep(LOOK)

    def _old_enough(self) -> int:
        """A position that the primary had `read_max_lag` ago or later. It is asked every half of
        that time.

        A primary that gives no answer has nothing newer, as far as anybody here can know: then it
        is the last that is known.
        """
        longest = self._settings.read_max_lag
        with self._lock:
            now = time.monotonic()
            is_known, oldest = self._oldest(now - longest)
            if now - self._asked_at < longest / 2 and (is_known or self._is_silent):
                return oldest
            # while there is one that is new enough, other threads need not ask as well
            self._asked_at = now
        try:
            fresh = [(now, self._ask_primary())]
        except psycopg.Error:
            fresh = []
        with self._lock:
            self._is_silent = not fresh
            self._positions = sorted(self._positions + fresh)
            return self._oldest(time.monotonic() - longest)[1]

    def _oldest(self, since: float) -> tuple[bool, int]:
        """The oldest position of those asked for since a moment, or else the last one; says which.
        The caller holds the lock.
        """
        while len(self._positions) > 1 and self._positions[0][0] < since:
            del self._positions[0]
        if not self._positions:
            return False, 0
        asked_at, position = self._positions[0]
        return asked_at >= since, position

    # -- its connections ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _lent(self) -> Iterator[Connection]:
        pool = self._opened()
        connection = pool.getconn(timeout=min(CONNECT, _left()))
        try:
            yield connection
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            raise
        finally:
            pool.putconn(connection)

    def _opened(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._pool is None:
                self._pool = self._make_pool(self.dsn)
            return self._pool

    def _leave(self, error: Exception) -> None:
        """Read from the primary for a while, and say why; one event that several threads meet is
        said, and counts, once.
        """
        with self._lock:
            if time.monotonic() < self._left_until:
                return
            pause, self._pause = self._pause, min(LONGEST_PAUSE, 2 * self._pause)
            self._left_until = time.monotonic() + pause
            pool = self._pool
        why = (
            "it gave no connection in time"
            if isinstance(error, PoolTimeout | TooManyRequests)
            else redact(str(error)).strip()
        )
        _log.warning(
            "left the replica of Settings.read_url for %.3g s: %s; the primary answers", pause, why
        )
        if pool is not None and not isinstance(
            error, NoAnswer | PoolTimeout | PoolClosed | TooManyRequests
        ):
            with contextlib.suppress(psycopg.Error):
                pool.check()  # the same event has probably ended its other sessions

    def _stay(self) -> None:
        if self._pause != FIRST_PAUSE:
            self._pause = FIRST_PAUSE
            _log.info("reading from the replica of Settings.read_url again")


def _stay_with_one_server(connection: Connection) -> None:
    """Begin a transaction: behind a pooler, what was asked outside of it may have been another
    replica.
    """
    check(connection, patience=_left(), opening=BEGIN.encode())
    connection.replayed = 0


def _left() -> float:
    """Seconds that an answer may take."""
    limit = time_limit.current()
    return 60.0 if limit is None else max(0.0, min(60.0, limit.seconds, limit.left))
