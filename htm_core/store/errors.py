"""Turns what psycopg raises into this project's errors, in one place; passwords never get through."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from ..errors import (
    DatabaseUnavailable,
    DimensionMismatch,
    HTMError,
    InvalidInput,
    QueryTimeout,
    SchemaOutdated,
    StorageError,
)

_PASSWORD = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)|(://[^:@/\s]*:)[^@/\s]+(@)", re.IGNORECASE)


# A deadlock, a serialisation failure, and a node that was purged while its words were said again.
RETRYABLE = ("40P01", "40001", "23503")


class SessionLost(psycopg.OperationalError):
    """The session ended under a transaction; `committing` says that its outcome is unknown, else nothing was written."""

    def __init__(self, error: psycopg.Error, *, committing: bool) -> None:
        super().__init__(str(error))
        self.committing = committing


@contextlib.contextmanager
def detect_lost_session(connection: psycopg.Connection[Any], *, committing: bool) -> Iterator[None]:
    """Raise `SessionLost` for an error that ended the session: a restart, an administrator, a network."""
    try:
        yield
    except SessionLost:
        raise
    except psycopg.OperationalError as error:
        if not connection.closed:
            raise
        raise SessionLost(error, committing=committing) from error


def is_retryable(error: BaseException) -> bool:
    """Whether a failed transaction wrote nothing and would succeed if it were tried again."""
    cause = error.__cause__
    if isinstance(cause, SessionLost):
        return not cause.committing
    return isinstance(cause, psycopg.Error) and cause.sqlstate in RETRYABLE


_T = TypeVar("_T")
TRIES = 4


def retry_transaction(transaction: Callable[[], _T]) -> _T:
    """Run a whole transaction, and again when another writer was in the way; raises what the last of 4 tries raised."""
    for _ in range(TRIES - 1):
        try:
            return transaction()
        except StorageError as error:
            if not is_retryable(error):
                raise
    return transaction()


def redact(text: str) -> str:
    """The text without the passwords of any connection string in it."""
    return _PASSWORD.sub(lambda m: f"{m[1]}***" if m[1] else f"{m[3]}***{m[4]}", text)


def _unreachable(error: Exception) -> HTMError:
    return DatabaseUnavailable(
        f"expected a PostgreSQL that accepts this login, got: {redact(str(error)).strip() or type(error).__name__}; "
        "check the url (or HTM_DATABASE_URL), that the server runs and that the password is right; `htm doctor` looks closer"
    )


def _ended(said: str, *, committing: bool) -> HTMError:
    outcome = (
        "whether it was written is not known: say it again with the same id" if committing else "nothing was written"
    )
    return DatabaseUnavailable(
        f"expected the connection to last, but it ended at work: {said}; {outcome}; the next call opens another"
    )


def _explain(error: psycopg.Error) -> HTMError:
    """The error of ours that says what the driver's says."""
    said = redact(str(error)).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, SessionLost):
        return _ended(said, committing=error.committing)
    if error.sqlstate == "HT001":
        return DimensionMismatch(f"{said}; use the model they were embedded with, or run `htm reembed` to change over")
    if isinstance(error, pg.QueryCanceled | pg.LockNotAvailable):
        return QueryTimeout(
            f"{said}; expected an answer within Settings.statement_timeout: raise it, narrow the filters, or see in "
            "pg_stat_activity who holds a lock; nothing was written"
        )
    if isinstance(error, pg.UndefinedObject) and "text search configuration" in said:
        return InvalidInput(
            f"expected Settings.language to be a text search configuration of the server, got: {said}; "
            "`select cfgname from pg_ts_config` lists them, and 'simple' serves every language"
        )
    if isinstance(error, pg.InvalidSchemaName | pg.UndefinedTable | pg.UndefinedFunction | pg.UndefinedObject):
        return SchemaOutdated(f"expected this version's schema, got: {said}; run `htm migrate` as the owner")
    if isinstance(error, pg.InsufficientPrivilege):
        return SchemaOutdated(
            f"expected a login that is a member of htm_app, got: {said}; run `htm doctor` for the command"
        )
    if isinstance(error, pg.DeadlockDetected | pg.SerializationFailure):
        return StorageError(f"another transaction stood in the way: {said}; nothing was written; say it again")
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return StorageError(f"expected the primary server, got a standby: {said}; add target_session_attrs=read-write")
    if isinstance(error, pg.DiskFull | pg.OutOfMemory | pg.IoError):
        return StorageError(f"the server is out of room: {said}; nothing was written; free some and say it again")
    if error.sqlstate in RETRYABLE:
        return StorageError(f"another writer was in the way, more than once: {said}; nothing was written; say it again")
    if isinstance(error, psycopg.DataError | pg.ProgramLimitExceeded):
        return InvalidInput(f"PostgreSQL cannot store this value: {said}; nothing was written")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return _unreachable(error)
    return StorageError(f"PostgreSQL refused: {said}; nothing was written")


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise our errors for psycopg's, with the cause kept."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(
            f"expected a connection within Settings.pool_timeout, but all of this process are in use: {error}; raise "
            "Settings.pool_max, or shorten what holds them"
        ) from error
    except (PoolClosed, TooManyRequests) as error:
        raise _unreachable(error) from error
    except psycopg.Error as error:
        raise _explain(error) from error
