"""Copies one tenant's rows from the tables of one schema into those of another, and what has
changed since the last time.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import IsolationLevel, sql

from ...base.errors import InvalidInput
from ..connection import Connection
from ..queries import load

EMPTY_COPY = 21  # bytes of a binary copy without rows: its header and its end
BATCH = 10_000  # rows that are deleted in one transaction


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table with rows of tenants; functions/cells.sql says what each field means."""

    name: str
    columns: Sequence[str]
    types: Sequence[str]
    key: Sequence[str]
    is_parent: bool
    is_deleted_late: bool
    seen_by_workers: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Pass:
    """Counts of one pass: rows that were written, rows that were deleted, and before which
    transaction all was seen.
    """

    written: int
    deleted: int
    seen: str


class TenantCopy:
    """The copying of one tenant, with its rows of these tables, between connections of two owners,
    each in its cell's schema.
    """

    def __init__(
        self, source: Connection, target: Connection, tenant: str, tables: Sequence[MovedTable]
    ) -> None:
        self.source = source
        self.target = target
        self._tenant = sql.Literal(tenant)
        self._name = tenant
        self.tables = tables  # of the source
        if self.tables != moved_tables(target):
            raise InvalidInput(
                "expected both cells to have the same tables, got different ones; bring both up "
                "to date with htm migrate"
            )
        self._is_one_database = _server(source) == _server(target)
        self._map: dict[str, int] = {}
        self._stages = itertools.count(1)

    # -- passes ------------------------------------------------------------------------------------

    def run(self, *, seen: str | None, last: bool = False) -> Pass:
        """Bring the copy to the moment of the source's snapshot: all rows, or those changed since
        the pass that has `seen`.

        Both connections are in a transaction, the source's of one snapshot. What workers see comes
        with the `last` pass alone, since they would begin to work on it.
        """
        row = self.source.execute(load("db/cluster/tenant_moves")["snapshot"]).fetchone()
        assert row is not None  # a select without from has one row
        self._map_spaces()
        self.target.execute(load("db/cluster/tenant_moves")["moving"])
        tables = [table for table in self.tables if not table.seen_by_workers]
        changed = self._counts(self.source, tables, seen)
        deleted = 0
        if seen is None:
            deleted += self._clear()
        else:
            # A table whose keys are the same ones on both sides has lost none.
            keys = (
                self._digests(self.source, tables, of_keys=True),
                self._digests(self.target, tables, of_keys=True),
            )
            lost = [
                table for table in reversed(tables) if keys[0][table.name] != keys[1][table.name]
            ]
            deleted += sum(
                self._delete_vanished(table) for table in lost if not table.is_deleted_late
            )
        written = sum(self._write(table, seen) for table in tables if changed[table.name])
        if seen is not None:
            deleted += sum(self._delete_vanished(table) for table in lost if table.is_deleted_late)
        if last:
            for table in (table for table in self.tables if table.seen_by_workers):
                self._change("delete_all", table)
                written += self._write(table, None)
        return Pass(written, deleted, str(row["xmin"]))

    def _clear(self) -> int:
        """Delete all rows of the tenant from the target, in the transaction that has begun there;
        give how many there were.
        """
        there = self._counts(self.target, self.tables, None)
        return sum(
            self._change("delete_all", table)
            for table in reversed(self.tables)
            if there[table.name]
        )

    def _write(self, table: MovedTable, seen: str | None) -> int:
        if seen is None:  # the target has no row of it
            return self._filled(self.target.table(table.name), table, self._columns(table), None)
        stage = self._staged(table, self._columns(table), seen)
        if stage is None:
            return 0
        written = 0
        if table.is_parent:
            written += self._change("update_changed", table, stage)
        else:
            self._change("delete_changed", table, stage)
        return written + self._change("insert_new", table, stage)

    def _delete_vanished(self, table: MovedTable) -> int:
        stage = self._staged(table, table.key, None)
        return self._change("delete_all" if stage is None else "delete_vanished", table, stage)

    def _staged(
        self, table: MovedTable, columns: Sequence[str], seen: str | None
    ) -> sql.Identifier | None:
        """A temporary table of the target with these columns of the source's rows, as they are to
        be in the target.

        None where there are no rows: a tenant has some in few of the tables, and a table takes
        milliseconds to make.
        """
        stage = sql.Identifier("pg_temp", f"stage_{next(self._stages)}")
        parts = {"stage": stage, "table": self.target.table(table.name), "columns": _names(columns)}

        def make() -> None:
            """Make the table, for the first row."""
            self.target.execute(sql.SQL(load("db/cluster/tenant_moves")["stage"]).format(**parts))

        if not self._filled(stage, table, columns, seen, make=make):
            return None
        self.target.execute(sql.SQL(load("db/cluster/tenant_moves")["analyze"]).format(**parts))
        return stage

    def _filled(
        self,
        into: sql.Identifier,
        table: MovedTable,
        columns: Sequence[str],
        seen: str | None,
        *,
        make: Callable[[], None] | None = None,
    ) -> int:
        """Copy these columns of the source's rows into a table of the target, as they are to be
        there; give how many.
        """
        statements = load("db/cluster/tenant_moves")
        parts: dict[str, sql.Composable] = {
            "table": self.source.table(table.name), "stage": into, "columns": _names(columns),
            "tenant": self._tenant, "values": self._values(columns), "changed": self._changed(seen),
            "format": sql.SQL("binary" if self._is_one_database else "text"),
        }  # fmt: skip
        with self.source.cursor().copy(sql.SQL(statements["read_rows"]).format(**parts)) as rows:
            begun = b""
            for block in rows:
                begun += bytes(block)
                if len(begun) > (EMPTY_COPY if self._is_one_database else 0):
                    break
            else:
                return 0
            if make is not None:
                make()
            cursor = self.target.cursor()
            with cursor.copy(sql.SQL(statements["write_rows"]).format(**parts)) as written:
                written.write(begun)
                for block in rows:
                    written.write(block)
        return cursor.rowcount

    def _change(
        self, statement: str, table: MovedTable, stage: sql.Identifier | None = None
    ) -> int:
        columns = self._columns(table)
        changed = [name for name in columns if name not in table.key]
        if statement == "update_changed" and not changed:
            return 0
        parts: dict[str, sql.Composable] = {
            "table": self.target.table(table.name), "tenant": self._tenant,
            "stage": stage or sql.SQL(""), "columns": _names(columns),
            "same": _pairs(table.key, " and ", left="t"),
            "assignments": _pairs(changed, ", ", left=None),
        }  # fmt: skip
        return self.target.execute(
            sql.SQL(load("db/cluster/tenant_moves")[statement]).format(**parts)
        ).rowcount

    def _columns(self, table: MovedTable) -> list[str]:
        """The columns that are copied: without transaction ids between two servers, where they mean
        other transactions.
        """
        return [
            name
            for name, type in zip(table.columns, table.types, strict=True)
            if type != "xid8" or self._is_one_database
        ]

    def _values(self, columns: Sequence[str]) -> sql.Composable:
        mapped = sql.SQL(load("db/cluster/tenant_moves")["mapped_space"]).format(
            map=sql.Literal(json.dumps(self._map))
        )
        return sql.SQL(", ").join(
            mapped if name == "space" else sql.Identifier("t", name) for name in columns
        )

    def _map_spaces(self) -> None:
        """Find the vector spaces of the tenant's models in the target, by name and dimension, or
        make them there.
        """
        statements = load("db/cluster/tenant_moves")
        for space in self.source.execute(statements["spaces"], {"tenant": self._name}).fetchall():
            if str(space["id"]) in self._map:
                continue
            self.target.execute(statements["add_space"], space)
            row = self.target.execute(statements["space"], space).fetchone()
            assert row is not None  # it was there, or has just been made
            self._map[str(space["id"])] = row["id"]

    # -- verification ------------------------------------------------------------------------------

    def digests(self) -> tuple[dict[str, tuple[int, str]], dict[str, tuple[int, str]]]:
        """The number of rows and a digest of each table, of the source with the target's numbers in
        it, and of the target.
        """
        return self._digests(self.source, self.tables), self._digests(self.target, self.tables)

    def _digests(
        self, connection: Connection, tables: Sequence[MovedTable], *, of_keys: bool = False
    ) -> dict[str, tuple[int, str]]:
        """Of all tables in one statement; rows of the source have the target's numbers."""
        template = sql.SQL(
            load("db/cluster/tenant_moves")[
                "digest_here" if self._is_one_database else "digest_elsewhere"
            ]
        )
        parts = []
        for table in tables:
            columns = table.key if of_keys else self._columns(table)
            plain = sql.SQL(", ").join(sql.Identifier("t", name) for name in columns)
            values = self._values(columns) if connection is self.source else plain
            parts.append(
                template.format(
                    name=sql.Literal(table.name),
                    table=connection.table(table.name),
                    tenant=self._tenant,
                    values=values,
                )
            )
        rows = connection.execute(_united(parts)).fetchall()
        return {row["name"]: (int(row["rows"]), str(row["digest"])) for row in rows}

    def _counts(
        self, connection: Connection, tables: Sequence[MovedTable], seen: str | None
    ) -> dict[str, int]:
        template, changed = sql.SQL(load("db/cluster/tenant_moves")["count"]), self._changed(seen)
        parts = [
            template.format(
                name=sql.Literal(table.name),
                table=connection.table(table.name),
                tenant=self._tenant,
                changed=changed,
            )
            for table in tables
        ]
        rows = connection.execute(_united(parts)).fetchall()
        return {row["name"]: int(row["rows"]) for row in rows}

    def _changed(self, seen: str | None) -> sql.Composable:
        """The condition of the rows that a pass copies."""
        statements = load("db/cluster/tenant_moves")
        if seen is None:
            return sql.SQL(statements["all_rows"])
        return sql.SQL(statements["changed_rows"]).format(seen=sql.Literal(seen))

    def refuse_same_collections(self) -> None:
        """Raise `InvalidInput` where another tenant of the target has a collection of the same
        number.
        """
        statements = load("db/cluster/tenant_moves")
        ids = [
            row["id"]
            for row in self.source.execute(statements["collections"], {"tenant": self._name})
        ]
        row = self.target.execute(
            statements["foreign_collections"], {"tenant": self._name, "ids": ids}
        ).fetchone()
        if row is not None and row["found"]:
            raise InvalidInput(
                f"expected the collections of the tenant {self._name!r} to have numbers that "
                "nobody has in the target cell, got "
                f"{row['found']} that are taken there; move it into a cell that was made with htm "
                "cells create"
            )


def moved_tables(connection: Connection) -> list[MovedTable]:
    """The tables with rows of tenants, parents first: read from the catalog, so none
    is left out.
    """
    return [
        MovedTable(**row) for row in connection.execute(load("db/cluster/tenant_moves")["tables"])
    ]


def count_rows(
    connection: Connection, tenant: str, *, tables: Sequence[MovedTable] | None = None
) -> dict[str, int]:
    """Count a tenant's rows in each table, of all or of these; those without any are left out."""
    statements = load("db/cluster/tenant_moves")
    parts = [
        sql.SQL(statements["count"]).format(
            name=sql.Literal(table.name),
            table=connection.table(table.name),
            tenant=sql.Literal(tenant),
            changed=sql.SQL(statements["all_rows"]),
        )
        for table in (moved_tables(connection) if tables is None else tables)
    ]
    rows = connection.execute(_united(parts)).fetchall()
    return {row["name"]: int(row["rows"]) for row in rows if row["rows"]}


def delete_rows(
    connection: Connection,
    tenant: str,
    *,
    batch: int = BATCH,
    tables: Sequence[MovedTable] | None = None,
) -> Mapping[str, int]:
    """Delete all rows of a tenant from a schema, so many at a time, children first; give how many
    of each table there were.
    """
    tables = moved_tables(connection) if tables is None else tables
    with quiet(connection):
        there = count_rows(connection, tenant, tables=tables)
    left, deleted = (
        [table for table in reversed(tables) if table.name in there],
        dict.fromkeys(there, 0),
    )
    while left:
        room = batch
        with quiet(connection):
            connection.execute(load("db/cluster/tenant_moves")["moving"])
            while left and room:
                gone = _delete_some(connection, left[0], tenant, room)
                deleted[left[0].name] += gone
                if gone < room:  # nothing is left of it
                    left.pop(0)
                room -= gone
    return {name: rows for name, rows in deleted.items() if rows}


def _delete_some(connection: Connection, table: MovedTable, tenant: str, most: int) -> int:
    parts = {
        "table": connection.table(table.name),
        "tenant": sql.Literal(tenant),
        "most": sql.Literal(most),
    }
    return connection.execute(
        sql.SQL(load("db/cluster/tenant_moves")["delete_batch"]).format(**parts)
    ).rowcount


@contextmanager
def quiet(
    connection: Connection,
    *,
    snapshot: bool = False,
    first: sql.Composed | None = None,
    stays: bool = True,
) -> Iterator[None]:
    """A transaction that may take any time, but waits a second for a lock at most; with `snapshot`
    all of it sees one moment.

    That is a moment after the lock that `first` takes. Where Citus distributes the schema, its
    tables stay on their node, unless it need not (`stays`); how long that is waited for has no
    limit, unless a lock was taken first.
    """
    statements = load("db/cluster/tenant_moves")
    connection.isolation_level = (
        IsolationLevel.REPEATABLE_READ if snapshot else IsolationLevel.READ_COMMITTED
    )
    try:
        with connection.transaction():
            connection.execute(statements["patient"])
            if first is None and stays:
                connection.stay()
            connection.execute(statements["impatient"])
            if first is not None:
                connection.execute(first)
                if stays:
                    connection.stay()
            yield
    finally:
        if not connection.closed:
            connection.isolation_level = IsolationLevel.READ_COMMITTED


def _server(connection: Connection) -> tuple[str, str]:
    row: dict[str, Any] | None = connection.execute(
        load("db/cluster/tenant_moves")["server"]
    ).fetchone()
    assert row is not None  # a select without from has one row
    return row["system"], row["database"]


def _united(parts: Sequence[sql.Composable]) -> sql.Composed:
    """Statements as one, with the rows of all."""
    return sql.SQL(f"\n{load('db/cluster/tenant_moves')['and_also']}\n").join(parts)


def _names(columns: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _pairs(columns: Sequence[str], joiner: str, *, left: str | None) -> sql.Composable:
    """`t.a = s.a` for each column, or `a = s.a`."""
    return sql.SQL(joiner).join(
        sql.SQL("{} = {}").format(
            sql.Identifier(*([left] if left else []), name), sql.Identifier("s", name)
        )
        for name in columns
    )
