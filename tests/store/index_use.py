"""Which indexes a question went through and how many rows it read, by the counts that the server keeps of a transaction."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

from htm_core.db.cluster.citus import tables_schema
from htm_core.db.connection import Connection
from htm_core.db.database import Database

# What the session has counted so far: unlike the statistics of the server, these need not be published first. On a Citus cluster the
# rows are in shards, which have a number behind their name.
COUNTED = """
select regexp_replace(c.relname, '_[0-9]{6,}$', '') as name, c.relkind as kind,
       regexp_replace(coalesce(table_of.relname, c.relname), '_[0-9]{6,}$', '') as of_table,
       sum(pg_stat_get_xact_numscans(c.oid))::bigint as scans, sum(pg_stat_get_xact_tuples_returned(c.oid))::bigint as rows
from pg_class c
left join pg_index i on i.indexrelid = c.oid
left join pg_class table_of on table_of.oid = i.indrelid
where c.relnamespace in (to_regnamespace(%s), to_regnamespace(%s)) and c.relkind in ('r', 'i') group by 1, 2, 3
"""

Key = tuple[str, str, str]  # name, kind, and the table that it belongs to


def used(database: Database, ask: Callable[[], object]) -> set[str]:
    """The indexes that a question, asked as the application's role, went through."""
    scans, _ = _counts(database, ask)
    return {name for name, kind, _ in scans if kind == "i"}


def rows_read(database: Database, ask: Callable[[], object], *, tables: tuple[str, ...]) -> int:
    """How many rows of these tables, and entries of their indexes, a question read."""
    _, rows = _counts(database, ask)
    return sum(count for (_, _, of_table), count in rows.items() if of_table in tables)


def _counts(database: Database, ask: Callable[[], object]) -> tuple[Counter[Key], Counter[Key]]:
    """The scans and the rows of each table and index, in every statement of this thread."""
    schema = database.settings.schema_
    execute, here, counting = Connection.execute, threading.get_ident(), False
    scans: Counter[Key] = Counter()
    rows: Counter[Key] = Counter()

    def read(connection: Connection) -> tuple[Counter[Key], Counter[Key]]:
        found = [
            dict(row)
            for row in execute(connection, COUNTED, [schema, tables_schema(schema)]).fetchall()
        ]
        keys: list[Key] = [(each["name"], each["kind"], each["of_table"]) for each in found]
        return (
            Counter(dict(zip(keys, (each["scans"] for each in found), strict=True))),
            Counter(dict(zip(keys, (each["rows"] for each in found), strict=True))),
        )

    def counted(connection: Connection, query: Any, *given: Any, **options: Any) -> Any:
        nonlocal counting
        if counting or threading.get_ident() != here:
            return execute(connection, query, *given, **options)
        counting = True
        try:
            before = read(connection)
            answer = execute(connection, query, *given, **options)
            after = read(connection)
        finally:
            counting = False
        scans.update(after[0] - before[0])
        rows.update(after[1] - before[1])
        return answer

    with (
        mock.patch.object(Connection, "execute", counted),
        mock.patch.object(
            Connection, "sends_batches", return_value=False
        ),  # what is counted, is so inside its transaction
    ):
        ask()
    return scans, rows
