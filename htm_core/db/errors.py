"""Turns psycopg's errors into this project's errors, without passwords in them, and retries
transactions.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from ..base import time_limit
from ..base.errors import (
    DatabaseUnavailable,
    DeadlineExceeded,
    DimensionMismatch,
    HTMError,
    InvalidInput,
    QueryTimeout,
    SchemaOutdated,
    StorageError,
)
from .cluster.citus import NodeUnreachable
from .connection import REFUSALS, AnswerOverdue, DatabaseReadOnly, StatementsSpread

_PASSWORD = re.compile(
    r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)|(://[^:@/\s]*:)[^@/\s]+(@)", re.IGNORECASE
)


# SQLSTATEs of a deadlock, a serialization failure, and a foreign key to a node that was purged
# meanwhile.
RETRYABLE = ("40P01", "40001", "23503")


class RowsMissing(StorageError):
    """Rows that a process took to be there are gone, since the whole tenant was erased: they are
    made again at the next attempt.
    """


class SessionLost(psycopg.OperationalError):
    """The session ended during a transaction. While `committing` the outcome is unknown; otherwise
    nothing was written.
    """

    def __init__(self, error: psycopg.Error, *, committing: bool) -> None:
        super().__init__(str(error))
        self.committing = committing
        # this process ended it, since the verb's time was over
        self.overdue = isinstance(error, AnswerOverdue)


@contextlib.contextmanager
def detect_lost_session(connection: psycopg.Connection[Any], *, committing: bool) -> Iterator[None]:
    """Raise `SessionLost` when an error has ended the session: a restart, an administrator, the
    network.
    """
    try:
        yield
    except SessionLost:
        raise
    except psycopg.OperationalError as error:
        if not connection.closed:
            raise
        raise SessionLost(error, committing=committing) from error


def is_retryable(error: BaseException) -> bool:
    """True if a failed transaction has written nothing and may succeed at another attempt."""
    if isinstance(error, RowsMissing):
        return True
    cause = error.__cause__
    if isinstance(cause, SessionLost):
        return not cause.committing and not cause.overdue
    return isinstance(cause, psycopg.Error) and cause.sqlstate in RETRYABLE


_T = TypeVar("_T")
TRIES = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.5  # seconds between two attempts, about


class Attempt:
    """One run of a transaction: `with attempt, …transaction() as connection:`. Its error is kept
    back if it is worth another.
    """

    def __init__(self, number: int, *, repeatable: bool) -> None:
        self._number = number
        self._repeatable = repeatable
        self.is_done = False

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        self.is_done = error is None
        return _awaits_another(error, self._number, repeatable=self._repeatable)


def attempts(*, repeatable: bool = False) -> Iterator[Attempt]:
    """Run a whole transaction, and again while its error is retryable: up to 12 times, and as long
    as the verb has time.

        for attempt in attempts():
            with attempt, engine.transaction() as connection:
                ...  # all of it again, so nothing may be left from the time before

    Errors that are: a deadlock, a serialization failure, a row whose parent has just gone, a
    session that ended before the commit. The pauses in between grow, and differ between callers, so
    that two that were in each other's way are so no more. The last error is raised. `repeatable`
    says that nothing changes when the transaction is committed twice: then it is also repeated when
    its connection was lost while it was being committed.
    """
    for number in range(1, TRIES + 1):
        attempt = Attempt(number, repeatable=repeatable)
        yield attempt
        if attempt.is_done:
            return


def retry_transaction(transaction: Callable[[], _T], *, repeatable: bool = False) -> _T:
    """Run a function that is a whole transaction as often as `attempts` does, and give
    its answer.
    """
    for number in range(1, TRIES + 1):
        try:
            return transaction()
        except StorageError as error:
            if not _awaits_another(error, number, repeatable=repeatable):
                raise
    raise AssertionError("the last attempt answers or raises")


def _awaits_another(error: BaseException | None, number: int, *, repeatable: bool) -> bool:
    """Wait a while before another attempt; False at once where the error is not worth one, or there
    is no time for it.
    """
    if not isinstance(error, StorageError) or number == TRIES:
        return False
    if not (is_retryable(error) or (repeatable and error.outcome_unknown)):
        return False
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**number) * (0.5 + random.random())
    limit = time_limit.current()
    if limit is not None and limit.left <= pause:
        return False
    time.sleep(pause)
    return True


def redact(text: str) -> str:
    """The text with the passwords of all connection strings replaced by `***`."""
    return _PASSWORD.sub(lambda m: f"{m[1]}***" if m[1] else f"{m[3]}***{m[4]}", text)


def _unreachable(error: Exception) -> HTMError:
    return DatabaseUnavailable(
        "expected a PostgreSQL that accepts this login, got: "
        f"{redact(str(error)).strip() or type(error).__name__}; "
        "check the url (or HTM_DATABASE_URL), that the server runs and that the password is "
        "right; `htm doctor` checks more"
    )


def _ended(lost: SessionLost, message: str) -> HTMError:
    outcome = (
        "whether it was written is unknown: repeat it with the same id"
        if lost.committing
        else "nothing was written"
    )
    error: StorageError
    if lost.overdue:
        error = _overdue(message, outcome)
    else:
        error = DatabaseUnavailable(
            f"expected the connection to last, but it ended during a transaction: {message}; "
            f"{outcome}; the next call opens another"
        )
    error.outcome_unknown = lost.committing
    return error


def _overdue(message: str, outcome: str) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"expected an answer within Settings.verb_timeout, but {message}; {outcome}; the "
        "connection was thrown away. See whether "
        "the server and the network are well, and who holds a lock; raise verb_timeout for work "
        "that takes longer"
    )


def _explain(error: psycopg.Error) -> HTMError:
    """This project's error for one of the driver."""
    message = (
        redact(str(error)).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    )
    if isinstance(error, SessionLost):
        return _ended(error, message)
    if isinstance(error, AnswerOverdue):
        return _overdue(message, "nothing was written")
    if isinstance(error, NodeUnreachable):
        return DatabaseUnavailable(
            f"expected a node that accepts this login, but {redact(str(error)).strip()}"
        )
    if isinstance(error, StatementsSpread):
        return StorageError(
            f"expected one server for all statements of a transaction, but {message}: a proxy "
            "spreads them (pgpool with "
            "load_balance_mode = on); nothing was written. Set load_balance_mode = off there, or "
            "name the primary in url, and "
            "the replicas in Settings.read_url"
        )
    if error.sqlstate == "HT001":
        return DimensionMismatch(
            f"{message}; use the model they were embedded with, or run `htm reembed` to change "
            "the model"
        )
    if isinstance(error, pg.QueryCanceled | pg.LockNotAvailable):
        return QueryTimeout(
            f"{message}; expected an answer within Settings.statement_timeout: raise it, narrow "
            "the filters, or see in "
            "pg_stat_activity who holds a lock; nothing was written"
        )
    if isinstance(error, pg.UndefinedObject) and "text search configuration" in message:
        return InvalidInput(
            "expected Settings.language to be a text search configuration of the server, got: "
            f"{message}; "
            "`select cfgname from pg_ts_config` lists them, and 'simple' serves every language"
        )
    if isinstance(
        error,
        pg.InvalidSchemaName
        | pg.UndefinedTable
        | pg.UndefinedColumn
        | pg.UndefinedFunction
        | pg.UndefinedObject,
    ):
        return SchemaOutdated(
            f"expected this version's schema, got: {message}; run `htm migrate` as the owner"
        )
    if (
        isinstance(error, pg.InsufficientPrivilege) and error.diag.message_hint
    ):  # the schema's own, which says what is missing
        return SchemaOutdated(f"refused: {message}; {error.diag.message_hint}")
    if isinstance(error, pg.InsufficientPrivilege):
        return SchemaOutdated(
            f"expected a login that is a member of the roles of this schema, got: {message}; run "
            "`htm doctor` for the command"
        )
    if isinstance(error, pg.DeadlockDetected | pg.SerializationFailure):
        return StorageError(
            f"another transaction was in the way: {message}; nothing was written; try again"
        )
    if isinstance(error, DatabaseReadOnly):
        return StorageError(
            f"expected a database that may be written, but {message}; nothing was written. The "
            "server is no standby: "
            "default_transaction_read_only = on is set for it, the database or the role, as "
            "providers do when the disk is full. "
            "Free some space, and reset it: alter database NAME reset default_transaction_read_only"
        )
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return StorageError(
            f"expected the primary server, got a standby: {message}; nothing was written; add "
            "target_session_attrs=read-write"
        )
    if isinstance(error, pg.DiskFull | pg.OutOfMemory | pg.IoError):
        return StorageError(
            f"the server is out of space: {message}; nothing was written; free some space and try "
            "again"
        )
    if error.sqlstate in RETRYABLE:
        return StorageError(
            f"another writer was in the way several times: {message}; nothing was "
            "written; try again"
        )
    if isinstance(error, psycopg.DataError | pg.ProgramLimitExceeded):
        return InvalidInput(f"PostgreSQL cannot store this value: {message}; nothing was written")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return _unreachable(error)
    return StorageError(f"PostgreSQL refused: {message}; nothing was written")


@contextlib.contextmanager
def translated(*, when_refused: Callable[[], None] | None = None) -> Iterator[None]:
    """Raise this project's errors for psycopg's, and for Python's about values that cannot be
    stored or read; the cause is kept.

    `when_refused` is called before what says that something was refused, or is not there.
    """
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(
            "expected a connection within Settings.pool_timeout, but all connections of this "
            f"process are in use: {error}; raise "
            "Settings.pool_max, or make the transactions that hold them shorter"
        ) from error
    except (PoolClosed, TooManyRequests) as error:
        raise _unreachable(error) from error
    except psycopg.Error as error:
        if when_refused is not None and isinstance(error, REFUSALS):
            when_refused()
        raise _explain(error) from error
    except NotImplementedError as error:
        raise StorageError(
            f"expected answers that can be read, got: {error}; see which settings the database, "
            "the role or the pooler sets for "
            "its sessions"
        ) from error
    except RecursionError as error:
        raise InvalidInput(
            "expected values nested a few levels deep, got many more, or one that holds itself; "
            "nothing was written"
        ) from error
    except (OverflowError, UnicodeError) as error:
        raise InvalidInput(
            f"expected values that can be stored, got one that cannot: {error}; nothing was written"
        ) from error
