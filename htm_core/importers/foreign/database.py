"""The database of another package: its tables and their rows, read in one transaction that cannot
write.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg
from psycopg import errors as pg
from psycopg.sql import SQL, Composable, Identifier
from pydantic import SecretStr

from ...base.errors import DatabaseUnavailable, HTMError, InvalidInput, StorageError
from ...base.settings import as_secret
from ...db.connection import Connection, Row, connect, readable
from ...db.errors import redact
from ...db.queries import load

BATCH = 500  # rows that are in memory at a time
# "postgresql+psycopg://", as SQLAlchemy writes an address: the frameworks have it in this form.
_DRIVER = re.compile(r"^(postgres(?:ql)?)\+\w+(?=://)")
_ADDRESS = re.compile(r"^postgres(?:ql)?(\+\w+)?://")


@dataclass(frozen=True, slots=True)
class ForeignColumn:
    """A column: its name, the name of its type as `pg_type` has it, and the type's modifier (of a
    vector, its dimension).
    """

    name: str
    type: str
    required: bool = False
    key: bool = False
    modifier: int = -1

    @property
    def is_vector(self) -> bool:
        """True if pgvector gives its values as an array of numbers."""
        return self.type in ("vector", "halfvec")


@dataclass(frozen=True, slots=True)
class ForeignTable:
    """A table with its columns in order; `readable` says whether this login may read it."""

    schema: str
    name: str
    columns: tuple[ForeignColumn, ...] = field(repr=False)
    readable: bool = True

    def __str__(self) -> str:
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"

    def column(self, name: str) -> ForeignColumn | None:
        """The column of a name, or None."""
        return next((each for each in self.columns if each.name == name), None)

    def has(self, *names: str) -> bool:
        """True if it has columns of all these names."""
        return set(names) <= {each.name for each in self.columns}


def is_address(text: str) -> bool:
    """True if a text is the address of a PostgreSQL, such as "postgresql://…"."""
    return _ADDRESS.match(text) is not None


class ForeignDatabase:
    """A database that is open for reading: all that is read is of one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.tables: Sequence[ForeignTable] = tuple(
            ForeignTable(row["schema"], row["name"], _columns(row["columns"]), row["readable"])
            for row in connection.execute(load("importers/foreign/database")["tables"]).fetchall()
        )

    def find(self, schema: str, name: str) -> ForeignTable | None:
        """The table of a name in a schema, or None."""
        return next(
            (each for each in self.tables if (each.schema, each.name) == (schema, name)), None
        )

    def count(
        self,
        table: ForeignTable,
        subject: str = "importers/foreign/database",
        statement: str = "count",
        **parameters: Any,
    ) -> int:
        """Count the rows of a table, or what another statement counts in it."""
        [row] = self.read(subject, statement, tables={"table": table}, **parameters)
        return int(row["count"])

    def read(
        self,
        subject: str,
        statement: str,
        *,
        tables: Mapping[str, ForeignTable],
        columns: Mapping[str, str] | None = None,
        further: Sequence[str] = (),
        **parameters: Any,
    ) -> Iterator[Row]:
        """The rows of a statement, fetched in batches by a cursor of the server.

        `{name}` in the statement stands for the table or the column of that name, quoted;
        `{further}` for more columns, which are called `further_0`, `further_1` and so on.
        """
        names: dict[str, Composable] = {
            name: _quoted(each.schema, each.name) for name, each in tables.items()
        }
        names |= {name: _quoted(column) for name, column in (columns or {}).items()}
        names["further"] = SQL("").join(
            SQL(load("importers/foreign/database")["further_column"]).format(
                column=_quoted(column), alias=_quoted(f"further_{at}")
            )
            for at, column in enumerate(further)
        )
        text: LiteralString = load(subject)[statement]
        with (
            readable_errors(", ".join(map(str, tables.values()))),
            self._connection.cursor(name=f"htm_{statement}", scrollable=False) as cursor,
        ):
            cursor.itersize = BATCH
            cursor.execute(SQL(text).format(**names), parameters)
            yield from cursor


@contextlib.contextmanager
def open_foreign(dsn: str | SecretStr) -> Iterator[ForeignDatabase]:
    """Open another package's database for reading.

    `dsn` may be SQLAlchemy's, with a driver in it. Raises `InvalidInput` for one that cannot be
    read, `DatabaseUnavailable` when the server cannot be reached or refuses the login, and
    `StorageError` without the right to read; none of them shows a password.
    """
    plain = SecretStr(_DRIVER.sub(r"\1", as_secret(dsn).get_secret_value()))
    readable(plain)
    with readable_errors("the catalogue"):
        connection = connect(plain)
    try:
        with readable_errors("the catalogue"):
            connection.autocommit = False
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute(load("db/connection")["settings"])
            database = ForeignDatabase(connection)
        yield database
    finally:
        connection.close()


@contextlib.contextmanager
def readable_errors(what: str) -> Iterator[None]:
    """Raise this project's errors for those of a foreign database; `what` is what was read."""
    try:
        yield
    except HTMError:
        raise
    except pg.InsufficientPrivilege as error:
        raise StorageError(
            f"expected the right to read {what}, got: {_said(error)}; as the owner of the "
            "database, grant this login "
            f"usage on the schema and select on {what}"
        ) from error
    except (
        pg.UndefinedColumn,
        pg.UndefinedTable,
        pg.UndefinedFunction,
        pg.CannotCoerce,
        psycopg.DataError,
    ) as error:
        raise InvalidInput(
            f"expected {what} to be as its package makes it, got: {_said(error)}; leave the table "
            "out with --table or tables="
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(
            f"expected to read {what} of the database to import from, got: {_said(error)}; check "
            "the host, the port, the "
            "name of the database, the user and the password of its address, then import again: "
            "it continues"
        ) from error
    except psycopg.Error as error:
        raise StorageError(
            f"expected to read {what}, but PostgreSQL refused: {_said(error)}"
        ) from error


def _quoted(*names: str) -> Identifier:
    """A name as an identifier of a statement with parameters, where a percent sign stands twice."""
    return Identifier(*(name.replace("%", "%%") for name in names))


def _said(error: psycopg.Error) -> str:
    return redact(str(error)).strip().partition("\n")[0] or type(error).__name__


def _columns(rows: Sequence[Mapping[str, Any]] | None) -> tuple[ForeignColumn, ...]:
    return tuple(ForeignColumn(**row) for row in rows or ())
