"""Opening connections: what is asked of every one, and which connection strings can be read."""

from __future__ import annotations

import os
import re
import selectors
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import dict_row

from ..errors import InvalidInput, StorageError
from .queries import load

# Frameworks that use pgvector too pin it against each other, so both of its layouts must do.
try:
    from pgvector import HalfVector, Vector
except ImportError:  # before 0.4
    from pgvector.psycopg import HalfVector, Vector  # type: ignore[attr-defined,no-redef]

__all__ = [
    "Connection",
    "HalfVector",
    "NoAnswer",
    "Row",
    "Vector",
    "check",
    "connect",
    "options",
    "readable",
    "refuse_pooler",
]

Row = dict[str, Any]
Connection = psycopg.Connection[Row]

PATIENCE = 10.0  # seconds to wait for a server that does not answer
# After about a minute without a sign of life a connection has failed; the system's own defaults take hours to notice.
KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_PORTS = re.compile(r"[\d,]*")
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # an epoll would cost a descriptor each time


class NoAnswer(psycopg.OperationalError):
    """A connection without a sign of life for as long as was to be waited."""


def connect(conninfo: str, *, patience: float = PATIENCE) -> Connection:
    """Open one connection, outside any transaction; raises psycopg's errors, and `InvalidInput` for what cannot be read.

    Both the connection and its first answer are waited for `patience` seconds: a pooler gives connections although its
    server is away.
    """
    connection = psycopg.connect(conninfo, **options(conninfo, patience=patience))
    try:
        check(connection, patience=patience)
    except BaseException:
        connection.close()
        raise
    return connection


def check(connection: Connection, *, patience: float, opening: bytes = b"") -> None:
    """See that an idle connection answers, or close it: raises `NoAnswer` when it does not within `patience` seconds.

    `opening` is what it is asked, and is carried out with it: nothing, or how a transaction begins, which costs no further
    round trip. Raises `psycopg.OperationalError` when the connection has ended, and what the server says of the opening.
    The wait is here and not the server's, which may not be there.
    """
    try:
        _await_answer(connection.pgconn, patience, opening)
    except psycopg.OperationalError:
        connection.close()
        raise


def _await_answer(line: PGconn, patience: float, question: bytes) -> None:
    deadline = time.monotonic() + patience
    line.send_query(question)
    line.flush()
    with _Selector() as readable:
        readable.register(line.socket, selectors.EVENT_READ)

        def _next() -> PGresult | None:
            while line.is_busy():
                if not readable.select(max(0.0, deadline - time.monotonic())):
                    raise NoAnswer(f"the server accepted the connection, but gave no answer for {patience:g} seconds")
                line.consume_input()
            return line.get_result()

        answers = list(iter(_next, None))
    for each in answers:
        if each.status == ExecStatus.FATAL_ERROR:
            raise _error(each)


def _error(result: PGresult) -> psycopg.Error:
    """What an answer says went wrong; one without a code is not the server's, but of a line that was lost."""
    if result.error_field(DiagnosticField.SQLSTATE):
        return psycopg.errors.error_from_result(result)
    return psycopg.OperationalError(result.error_message.decode(errors="replace"))


def options(conninfo: str, *, patience: float) -> dict[str, Any]:
    """What every connection is opened with; what the connection string says about it counts more.

    Nothing is prepared on the server: behind a transaction pooler the next client of the session would meet it.
    """
    given = readable(conninfo)
    chosen: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}
    chosen |= {
        "fallback_application_name": "htm",
        "client_encoding": "utf8",
    }  # whatever the environment or the database has
    chosen |= {name: value for name, value in KEEPALIVES.items() if name not in given}
    if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
        # libpq counts anew for each address: the last of several is to be reached within the patience too.
        addresses = 1 + str(given.get("host") or given.get("hostaddr") or "").count(",")
        chosen["connect_timeout"] = max(2, round(patience / addresses))
    return chosen


def readable(conninfo: str) -> Mapping[str, Any]:
    """The parts of a connection string.

    Raises `InvalidInput` without quoting it: with an `@`, `:` or `/` in a password that was not escaped, what libpq takes
    for a host, a port or a database is a piece of the password, and its messages would show it.
    """
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        parts = {"host": "@"}
    names = "".join(str(parts.get(name) or "") for name in ("host", "hostaddr", "port", "dbname"))
    if "@" in names or not _PORTS.fullmatch(str(parts.get("port") or "")):
        raise InvalidInput(
            "expected url to be a connection string such as postgresql://USER:PASSWORD@HOST:5432/DATABASE, got one that "
            "cannot be read (it is not shown, for the password in it); write special characters of the password as %XX: "
            "urllib.parse.quote(password, safe='')"
        )
    return parts


def refuse_pooler(connection: Connection, *, setting: str = "migrate_url") -> None:
    """Refuse a connection whose sessions are shared, for work that needs one of its own; raises `StorageError`.

    `setting` is the one that names the server's own address.
    """
    row = connection.execute(load("database")["backend"]).fetchone()
    if row is None or row["pid"] != connection.info.backend_pid:
        raise StorageError(
            "expected a connection of its own for this, got one through a pooler that shares the server's sessions; "
            f"set Settings.{setting} to the server's own address"
        )
