"""Opening and checking connections, and reading connection strings."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import selectors
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, LiteralString, Self, TypeVar

import psycopg
from psycopg import sql
from psycopg.abc import Transformer as TransformerProtocol
from psycopg.adapt import PyFormat, Transformer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import dict_row
from pydantic import SecretStr

from ..base import time_limit
from ..base.errors import InvalidInput, StorageError
from ..base.settings import as_secret
from .queries import load

# Frameworks that use pgvector too pin it against each other, so both of its layouts must do.
try:
    from pgvector import HalfVector, Vector
except ImportError:  # before 0.4
    from pgvector.psycopg import HalfVector, Vector  # type: ignore[attr-defined,no-redef]

__all__ = [
    "REFUSALS",
    "AnswerOverdue",
    "Connection",
    "DatabaseReadOnly",
    "HalfVector",
    "NoAnswer",
    "Queued",
    "Reader",
    "Row",
    "StatementsSpread",
    "Vector",
    "check",
    "connect",
    "ends_session",
    "is_direct",
    "merged",
    "options",
    "readable",
    "refuse_encoding",
    "refuse_pooler",
    "refuse_spread",
    "refusing_spread",
]

Row = dict[str, Any]

PATIENCE = 10.0  # seconds to wait for a server that does not answer
# Whatever the defaults of the database or the role are.
BEGIN = "begin isolation level read committed not deferrable"
# A connection that is silent for about a minute has failed; with the system's defaults that takes
# hours.
KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
# Who may not take a role is told so, and who may not use a schema finds nothing in it.
REFUSALS = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.InvalidParameterValue,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
)
_PORTS = re.compile(r"[\d,]*")
# epoll would need a file descriptor each time
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


_Answer = TypeVar("_Answer")
INTERVAL = 0.1  # seconds after which psycopg looks up from a wait; so exactly is a verb's time kept


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in the given time."""


class AnswerOverdue(NoAnswer):
    """The server did not answer within the time of the verb that waits for it."""


class DatabaseReadOnly(psycopg.errors.ReadOnlySqlTransaction):
    """Something was to be written where nothing may be, on a server that is no standby."""


class StatementsSpread(psycopg.OperationalError):
    """A proxy sends some statements of a transaction to another server."""


@cache
def _settings_one_by_one() -> LiteralString:
    """The settings of every transaction as statements that take no snapshot."""
    statements = load("db/connection")
    settings = re.findall(r"set_config\('(\w+)', ('[^']*'), true\)", statements["settings"])
    return "; ".join(
        statements["set_locally"].format(name=name, value=value) for name, value in settings
    )


# How a statement that only reads is run: by its text and parameters.
Reader = Callable[[LiteralString, Mapping[str, Any]], list[Row]]


@dataclass(slots=True, eq=False)
class Queued:
    """A statement that travels with the next one, or with the commit. Its rows are there then; who
    reads them before sends it.
    """

    _connection: Connection
    statement: LiteralString
    parameters: Mapping[str, Any]
    answer: list[Row] | None = None  # once it was sent

    @property
    def rows(self) -> list[Row]:
        """Its rows, none of a statement that has no result; raises what the statements that are
        sent raise.
        """
        if self.answer is None:
            self._connection.send_queued()
        assert self.answer is not None  # sent, it was answered or has raised
        return self.answer


class Connection(psycopg.Connection[Row]):
    """A connection that waits no longer for an answer than the running verb may; then it closes
    itself.

    libpq has no time-out for an answer, and the server's own do not help when it has stopped.
    psycopg waits for every answer in `wait`, and looks up from there every tenth of a second.
    """

    @classmethod
    def connect(cls, _: str = "", *, dsn: SecretStr, **options: Any) -> Self:  # type: ignore[override]
        """Open a connection. Its errors have no frames of psycopg's, whose variables hold the
        password.
        """
        try:
            connection = super().connect(dsn.get_secret_value(), **options)
        except BaseException as error:
            raise _without_frames(error) from error.__cause__
        connection.isolation_level, connection.deferrable = (
            psycopg.IsolationLevel.READ_COMMITTED,
            False,
        )
        return connection

    @contextlib.contextmanager
    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Iterator[psycopg.Transaction]:
        """A transaction, or a savepoint in one; a transaction begins with our own settings and not
        with those of a role.
        """
        self.send_queued()
        begins = self.pgconn.transaction_status == TransactionStatus.IDLE
        with super().transaction(savepoint_name, force_rollback) as begun:
            if begins:
                self.execute(_settings_one_by_one())
            yield begun
            self.send_queued()

    def wait(
        self,
        gen: Generator[Any, Any, _Answer],
        interval: float = INTERVAL,
        timeout: float | None = None,
    ) -> _Answer:
        """Wait for an answer; raises `AnswerOverdue` when the running verb's time is over."""
        limit = time_limit.current()
        answer = gen if limit is None else _until(gen, limit.answer_by)
        try:
            if timeout is None:  # psycopg has no such argument before 3.3
                return super().wait(answer, interval)
            return super().wait(answer, interval, timeout)
        except AnswerOverdue:
            self.close()
            raise

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # by statement and types of its parameters
        self._kept_statements: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._columns: dict[str, list[str]] = {}  # of kept statements
        self._numbers = itertools.count(1)
        # knows how to write and read each type that it has met
        self._adapted: TransformerProtocol | None = None
        self._waiter: selectors.BaseSelector | None = None
        self._queued: list[Queued] = []
        self.is_direct = True  # as far as is known, there is no pooler in between
        # of a pool: whether it may serve verbs, as it was told when it was new
        self.is_admitted = True
        # on a replica: how much of the primary's log it is known to have replayed, in bytes
        self.replayed = 0
        # Of an owner's connection to a node of a cluster: which one, how a transaction keeps the
        # tables there, and the shards.
        self.node = ""
        self.entrance: LiteralString | None = None
        self.shards: Mapping[str, str] = {}  # by the names of their tables

    def stay(self) -> None:
        """Keep the tables on their node until the transaction ends; raises HT003 where they have
        left it.
        """
        if self.entrance is not None:
            self.execute(self.entrance)

    def table(self, name: str) -> sql.Identifier:
        """The table that holds the rows of one: its shard, where Citus distributes the schema."""
        return sql.Identifier(self.shards.get(name, name))

    @staticmethod
    def sends_batches() -> bool:
        """True if several statements can travel in one message: libpq can since version 14."""
        return psycopg.Pipeline.is_supported()

    # -- several statements in one message ---------------------------------------------------------

    def queue(
        self, statement: LiteralString, parameters: Mapping[str, Any] | None = None
    ) -> Queued:
        """Have a statement sent in one message with the next one, or with the commit: nobody waits
        for it alone.

        Outside of a transaction, which would send it at the latest when it ends, it is sent at
        once.
        """
        queued = Queued(self, statement, parameters or {})
        self._queued.append(queued)
        if (
            self._queued[0].statement != BEGIN
            and self.pgconn.transaction_status == TransactionStatus.IDLE
        ):
            self.send_queued()
        return queued

    def fetch(self, statement: LiteralString, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a statement, which is sent with those that are queued."""
        return self.queue(statement, parameters).rows

    def send_queued(self, *, patience: float = math.inf) -> None:
        """Send what is queued, and wait `patience` seconds at most for the answers.

        Raises the errors of the statements, `AnswerOverdue` when the running verb's time is over,
        and `NoAnswer`; what has ended the session closes the connection.
        """
        queued, self._queued = self._queued, []
        if not queued:
            return
        if not type(self).sends_batches():
            for item in queued:
                cursor = self.execute(item.statement, item.parameters)
                item.answer = cursor.fetchall() if cursor.description else []
            return
        results = self._exchange(
            [(item.statement, item.parameters) for item in queued], patience=patience
        )
        for item, result in zip(queued, results, strict=True):
            item.answer = self._rows(result)

    def execute(self, *args: Any, **options: Any) -> psycopg.Cursor[Row]:
        """Execute a statement, after those that are queued."""
        self.send_queued()
        return super().execute(*args, **options)

    def commit(self) -> None:
        """End the transaction, in one message with what is queued."""
        if not self._queued:
            super().commit()
            return
        self.queue("commit")
        self.send_queued()

    def rollback(self) -> None:
        """Undo the transaction. What is queued is never sent."""
        self._queued.clear()
        super().rollback()

    def read(
        self, *statements: tuple[LiteralString, Mapping[str, Any]], prepare: bool
    ) -> list[Row]:
        """The rows of the last of some statements, which are one message and one transaction.

        `prepare` keeps the statements on the server, so that each is parsed and planned once: not
        through a pooler. A pipeline of psycopg's own does the same with four waits for the server
        instead of one. Raises as `send_queued` does.
        """
        answer = self._exchange(statements, prepare=prepare)[-1]
        return self._rows(answer, kept=statements[-1][0] if prepare else None)

    def _exchange(
        self,
        statements: Sequence[tuple[LiteralString, Mapping[str, Any]]],
        *,
        prepare: bool = False,
        patience: float = math.inf,
    ) -> list[PGresult]:
        """The answers to statements that travel in one message, with those to what had to be
        prepared for them.
        """
        if self._adapted is None or self._waiter is None:
            self._adapted, self._waiter = Transformer.from_context(self), _Selector()
            self._waiter.register(self.pgconn.socket, selectors.EVENT_READ)
        new: dict[tuple[str, tuple[int, ...]], bytes] = {}
        try:
            self.pgconn.enter_pipeline_mode()
            for statement, parameters in statements:
                self._send(self._adapted, statement, parameters, new if prepare else None)
            self.pgconn.pipeline_sync()
            results = _await_batch(self.pgconn, self._waiter, patience=patience)
            self.pgconn.exit_pipeline_mode()
        except BaseException:
            # answers that nobody has read would be taken for those of the next statement
            self.close()
            raise
        for result in results:
            if result.status == ExecStatus.FATAL_ERROR:
                error = _error(result)
                if ends_session(error):
                    self.close()
                raise error
        self._kept_statements |= new
        return results

    def _rows(self, result: PGresult, *, kept: str | None = None) -> list[Row]:
        """The rows of a result; of a statement that is `kept`, which goes on to have these columns,
        their names are, too.
        """
        assert self._adapted is not None  # it has read the result
        columns = None if kept is None else self._columns.get(kept)
        if columns is None:
            columns = [(result.fname(place) or b"").decode() for place in range(result.nfields)]
            if kept is not None:
                self._columns[kept] = columns
        self._adapted.set_pgresult(result, format=Format.BINARY)
        return self._adapted.load_rows(
            0, result.ntuples, lambda row: dict(zip(columns, row, strict=True))
        )

    def _send(
        self,
        adapted: TransformerProtocol,
        statement: LiteralString,
        parameters: Mapping[str, Any],
        new: dict[tuple[str, tuple[int, ...]], bytes] | None,
    ) -> None:
        """Send a statement in a pipeline; `new` notes what is prepared for it, and is None where
        nothing may be.
        """
        text, names, formats = _numbered(statement)
        values = adapted.dump_sequence([parameters[name] for name in names], formats)
        types, value_formats = adapted.types or (), adapted.formats
        if new is None:
            self.pgconn.send_query_params(text, values, types, value_formats, Format.BINARY)
            return
        name = self._kept_statements.get((statement, types))
        if name is None:
            name = new[statement, types] = b"htm_%d" % next(self._numbers)
            self.pgconn.send_prepare(name, text, types)
        self.pgconn.send_query_prepared(name, values, value_formats, Format.BINARY)


_PLACEHOLDER = re.compile(r"%\((\w+)\)([bs])|%%")


@cache
def _numbered(statement: str) -> tuple[bytes, list[str], list[PyFormat]]:
    """A statement with $1, $2 … for its named parameters, and the name and the format of each."""
    places: dict[tuple[str, str], int] = {}

    def place(match: re.Match[str]) -> str:
        """The number of a parameter, which may stand more than once."""
        return (
            "%"
            if match[1] is None
            else f"${places.setdefault((match[1], match[2]), len(places) + 1)}"
        )

    text = _PLACEHOLDER.sub(place, statement)
    return text.encode(), [name for name, _ in places], [PyFormat(letter) for _, letter in places]


def _await_batch(
    pgconn: PGconn, selector: selectors.BaseSelector, *, patience: float
) -> list[PGresult]:
    """The answers to what was sent before a synchronisation point, as far as it was carried out,
    within `patience` seconds.

    `selector` waits for the connection's socket, to read from it.
    """
    deadline, overdue = _answer_by(patience)
    results: list[PGresult] = []

    def wait() -> None:
        """Until the socket is ready."""
        left = deadline - time.monotonic()
        if left <= 0 or not selector.select(None if math.isinf(left) else left):
            raise overdue

    if pgconn.flush():
        selector.modify(pgconn.socket, selectors.EVENT_READ | selectors.EVENT_WRITE)
        wait()
        while pgconn.flush():
            pgconn.consume_input()
            wait()
        selector.modify(pgconn.socket, selectors.EVENT_READ)
    while True:
        while pgconn.is_busy():
            wait()
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
            return results
        if result is not None and result.status != ExecStatus.PIPELINE_ABORTED:
            results.append(result)


def _without_frames(error: BaseException) -> BaseException:
    """The error without what is known of where it and its causes were raised."""
    left: list[BaseException | None] = [error]
    while left:
        current = left.pop()
        if current is not None and current.__traceback__ is not None:
            current.__traceback__ = None
            left += [current.__cause__, current.__context__]
    return error


def _until(gen: Generator[Any, Any, _Answer], end: float) -> Generator[Any, Any, _Answer]:
    """Go on with a wait of psycopg's until a moment by `time.monotonic`."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if time.monotonic() >= end:
                gen.close()
                raise AnswerOverdue("the server gave no answer in time")
    except StopIteration as done:
        answer: _Answer = done.value
        return answer


def connect(conninfo: str | SecretStr, *, patience: float = PATIENCE) -> Connection:
    """Open one connection, outside any transaction.

    Waits `patience` seconds for the connection and again for its first answer, since a pooler
    accepts connections even when its server is down. Raises psycopg's errors, and `InvalidInput`
    for a connection string that cannot be read. The name of a host may take the system longer to
    look up than a verb has; then it is looked up in vain, elsewhere.
    """
    conninfo = as_secret(conninfo)
    chosen = options(conninfo, patience=patience)
    try:
        connection = time_limit.in_time(
            lambda: Connection.connect(**chosen),
            client=("server", conninfo),
            discard=Connection.close,
        )
    except time_limit.OutOfTime as error:
        raise AnswerOverdue("no connection could be opened in time") from error
    try:
        check(connection, patience=patience)
    except BaseException:
        connection.close()
        raise
    return connection


def check(connection: Connection, *, patience: float, opening: bytes = b"") -> list[PGresult]:
    """Check that a connection answers within `patience` seconds, else close it and raise
    `NoAnswer`; gives the answers.

    `opening` is sent for the check: an empty query, or the statements that begin a transaction,
    which saves a round trip.
    Raises `psycopg.OperationalError` when the connection has ended, and the server's error about
    the opening. The time is measured here and not by the server, which may be down.
    """
    try:
        return _await_answer(connection.pgconn, patience, opening)
    except psycopg.OperationalError as error:
        if ends_session(error):
            connection.close()
        raise


def ends_session(error: psycopg.Error) -> bool:
    """True if an error has ended the session that it came from: what the server calls an error has
    ended the transaction alone.
    """
    return error.diag.severity_nonlocalized != "ERROR"


def _answer_by(patience: float) -> tuple[float, NoAnswer]:
    """Until when an answer is waited for, by `time.monotonic`, and the error of none: by the verb's
    time, or so many seconds.
    """
    left = time_limit.patience(1.0)
    kind = AnswerOverdue if left < patience else NoAnswer
    seconds = min(left, patience)
    return time.monotonic() + seconds, kind(
        f"the server accepted the connection, but gave no answer for {seconds:.3g} seconds"
    )


def _await_answer(connection: PGconn, patience: float, query: bytes) -> list[PGresult]:
    deadline, overdue = _answer_by(patience)
    connection.send_query(query)
    connection.flush()
    with _Selector() as readable:
        readable.register(connection.socket, selectors.EVENT_READ)

        def _next() -> PGresult | None:
            while connection.is_busy():
                if not readable.select(max(0.0, deadline - time.monotonic())):
                    raise overdue
                connection.consume_input()
            return connection.get_result()

        results = list(iter(_next, None))
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise _error(result)
    return results


def _error(result: PGresult) -> psycopg.Error:
    """The error in a result. One without a SQLSTATE does not come from the server: the connection
    was lost.
    """
    if result.error_field(DiagnosticField.SQLSTATE):
        return psycopg.errors.error_from_result(result)
    return psycopg.OperationalError(result.error_message.decode(errors="replace"))


def options(conninfo: SecretStr, *, patience: float) -> dict[str, Any]:
    """The options of every connection, with its connection string; those in the string take
    precedence.

    No statements are prepared on the server: behind a transaction pooler the next client would find
    them there.
    """
    parameters = readable(conninfo)
    chosen: dict[str, Any] = {
        "dsn": conninfo,
        "autocommit": True,
        "row_factory": dict_row,
        "prepare_threshold": None,
    }
    chosen |= {
        "fallback_application_name": "htm",
        "client_encoding": "utf8",
    }  # whatever the environment or the database has
    chosen |= {name: value for name, value in KEEPALIVES.items() if name not in parameters}
    if "connect_timeout" not in parameters and "PGCONNECT_TIMEOUT" not in os.environ:
        # libpq waits this long for each address: the last of several must be reached in time too.
        addresses = 1 + str(parameters.get("host") or parameters.get("hostaddr") or "").count(",")
        chosen["connect_timeout"] = max(2, round(patience / addresses))
    return chosen


def merged(conninfo: SecretStr, other: str) -> SecretStr:
    """A connection string with the parts that another one, without a password, gives instead."""
    return SecretStr(
        make_conninfo(
            conninfo.get_secret_value(), **{k: str(v) for k, v in readable(other).items()}
        )
    )


def readable(conninfo: str | SecretStr) -> Mapping[str, Any]:
    """The parts of a connection string, without its passwords.

    Raises `InvalidInput` and does not quote the string: if a password contains an unescaped `@`,
    `:` or `/`, libpq takes a part of it for the host, the port or the database, and its messages
    would show it.
    """
    conninfo = as_secret(conninfo)
    parts = _parts(conninfo)
    if parts is None:
        raise InvalidInput(
            "expected url to be a connection string such as "
            "postgresql://USER:PASSWORD@HOST:5432/DATABASE, got one that "
            "cannot be read (it is not shown, for the password in it); write special characters "
            "of the password as %XX: "
            "urllib.parse.quote(password, safe='')"
        )
    return parts


def _parts(conninfo: SecretStr) -> Mapping[str, Any] | None:
    """The parts; None when they cannot be told. No error begins here, since a part may be one of
    the password.
    """
    try:
        parts = conninfo_to_dict(conninfo.get_secret_value())
    except psycopg.ProgrammingError:
        return None
    names = "".join(str(parts.get(name) or "") for name in ("host", "hostaddr", "port", "dbname"))
    if "@" in names or not _PORTS.fullmatch(str(parts.get("port") or "")):
        return None
    return {name: value for name, value in parts.items() if not name.endswith("password")}


def is_direct(connection: Connection) -> bool:
    """True if this is the server's own session: a pooler tells its client another process than the
    one that answers.
    """
    row = connection.execute(load("db/connection")["backend"]).fetchone()
    return row is not None and row["pid"] == connection.info.backend_pid


def refuse_spread(connection: Connection) -> None:
    """Raise `StatementsSpread` where a proxy has a standby answer what only reads, in the middle of
    a transaction.

    There the settings of the transaction are missing. It is asked after a statement has found
    nothing where there should be something, on the same connection, since such a proxy chooses a
    server for each; and in the same way as transactions begin.
    """
    begun = f"begin; {load('db/connection')['leave_mark']}".encode()
    try:
        check(connection, patience=PATIENCE, opening=begun)
        row = connection.execute(load("db/connection")["find_mark"]).fetchone()
        connection.rollback()
    except psycopg.Error:  # what was refused before says more
        return
    if row is not None and row["mark"] != "here":
        raise StatementsSpread("some statements of a transaction were answered by another server")


@contextlib.contextmanager
def refusing_spread(connection: Connection) -> Iterator[None]:
    """After a refusal, which has ended its transaction, look whether a proxy had another server
    answer; then say so instead.
    """
    try:
        yield
    except REFUSALS:
        if not connection.closed:
            refuse_spread(connection)
        raise
    except psycopg.errors.ReadOnlySqlTransaction as error:
        if connection.info.parameter_status("in_hot_standby") == "off":
            raise DatabaseReadOnly(*error.args) from error
        raise


def refuse_encoding(connection: Connection) -> None:
    """Raise `StorageError` for a database that cannot hold every text."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, "UTF8"):
        raise StorageError(
            f"expected a database in UTF8, got one in {encoding}, which cannot hold every text; "
            "make another one, and use it "
            "in url: create database memories encoding 'UTF8' template template0; nothing was "
            "written"
        )


def refuse_pooler(connection: Connection, *, setting: str = "migrate_url") -> None:
    """Raise `StorageError` for a connection through a pooler, where sessions are shared between
    clients.

    `setting` names the setting that should have the server's own address.
    """
    if not is_direct(connection):
        raise StorageError(
            "expected a direct connection to the server, got one through a pooler, which shares "
            "sessions between clients; "
            f"set Settings.{setting} to the server's own address"
        )
