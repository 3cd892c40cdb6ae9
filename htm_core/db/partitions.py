"""The table of vectors in partitions by tenant, each with an HNSW index of its own:
docs/why/vectors.md says when it pays.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import Any

from psycopg import errors as pg
from psycopg import sql

from ..base.errors import InvalidInput, StorageError
from .database import Connection, Database
from .indexes import give_memory, hnsw_parts, sole_builder
from .queries import load

_log = logging.getLogger("htm.partitions")

PAUSE = 1.0  # seconds between two tries
TRIES = 60  # for the moment at which nobody else uses the vectors
# each partition has four indexes or more, and a statement for all tenants reads every one
MOST = 256


def count(connection: Connection) -> int:
    """Return the number of partitions of the table of vectors; 1 for a plain table."""
    row = connection.execute(load("db/partitions")["count"]).fetchone()
    assert row is not None  # a select without group by has one row
    return int(row["partitions"])


def partition(database: Database, partitions: int) -> int:
    """Change the number of partitions of the table of vectors, and return how many vectors were
    copied: 0 when nothing changes.

    `partitions` is from 1 (a plain table) to `MOST`; a tenant is in one of them, by the hash of its
    name. Others go on reading and writing, but for the last step: then they wait until what was
    written meanwhile has been copied too. Needs the owner's rights, and disk space for a second
    copy of the vectors and their indexes. If it is interrupted, nothing has changed; run it again.

    Raises `InvalidInput` for another number, `SchemaOutdated` without the owner's rights, and
    `StorageError` while another session builds indexes or moves vectors, or when long transactions
    leave no moment for the last step.
    """
    if (
        isinstance(partitions, bool)
        or not isinstance(partitions, int)
        or not 1 <= partitions <= MOST
    ):
        raise InvalidInput(f"expected from 1 to {MOST} partitions, got {partitions!r}")
    database.open()
    if database.placement is not None:
        raise InvalidInput(
            "expected a schema of one server, got one that Citus distributes, whose tables have "
            "no partitions; "
            "give a large tenant a schema of its own"
        )
    statements = load("db/partitions")
    with database.owner() as connection, sole_builder(connection) as alone:
        if not alone:
            raise StorageError(
                "expected to be the only session that builds indexes, but another "
                "does; try again later"
            )
        connection.execute(load("db/indexes")["set_build_limits"])
        with connection.transaction():
            connection.execute(statements["set_lock_timeout"])
            connection.execute(statements["clear"])
            if count(connection) == partitions:
                return 0
            connection.execute(statements["changes"])
            connection.execute(statements["follow"])
        try:
            _copy(connection, partitions, extension=database.extension)
            _replace_when_possible(connection)
        except BaseException:
            _clear(connection)
            raise
        connection.execute(statements["analyze"])
        total = connection.execute(statements["total"]).fetchone()
        assert total is not None  # a select without group by has one row
        return int(total["vectors"])


def _clear(connection: Connection) -> None:
    """Remove what was begun. A trigger that stays, since somebody uses the table, does nothing
    without its table.
    """
    statements = load("db/partitions")
    for step in ("clear", "drop_trigger"):
        with contextlib.suppress(pg.LockNotAvailable), connection.transaction():
            connection.execute(statements["set_lock_timeout"])
            connection.execute(statements[step])


def _copy(connection: Connection, partitions: int, *, extension: str) -> None:
    """Make the new table with all that the old one holds now, and its indexes. What changes
    meanwhile is noted.
    """
    statements = load("db/partitions")
    by_tenant = sql.SQL("partition by hash (tenant)" if partitions > 1 else "")
    leaves = ["vectors_new"]
    connection.execute(sql.SQL(statements["make"]).format(partitioned=by_tenant))
    if partitions > 1:
        leaves = [f"vectors_new_{number}" for number in range(partitions)]
        for number, leaf in enumerate(leaves):
            parts = {
                "name": sql.Identifier(leaf),
                "modulus": sql.Literal(partitions),
                "remainder": sql.Literal(number),
            }
            connection.execute(sql.SQL(statements["make_partition"]).format(**parts))
    else:
        connection.execute(statements["set_storage"])
    copied = connection.execute(statements["copy"]).rowcount
    _log.info("copied %d vectors into %d partitions", copied, partitions)
    connection.execute(statements["index"])
    for space in connection.execute(statements["spaces"]).fetchall():
        for leaf in leaves:
            give_memory(connection, leaf, space)
            parts = hnsw_parts(leaf, space, extension=extension)
            connection.execute(
                sql.SQL(statements["hnsw"]).format(leaf=sql.Identifier(leaf), **parts)
            )


def _replace_when_possible(connection: Connection) -> None:
    """Wait for a moment in which nobody uses the vectors, in short turns: whoever comes later must
    wait behind.
    """
    for _ in range(TRIES):
        try:
            with connection.transaction():
                _replace(connection)
            return
        except pg.LockNotAvailable:
            time.sleep(PAUSE)
    raise StorageError(
        f"expected a moment without transactions on the vectors, got none in {TRIES} tries; "
        "nothing was changed. See "
        "pg_stat_activity for transactions that take long, and run it again"
    )


def _replace(connection: Connection) -> None:
    """Put the new table in the place of the old one; until the commit everybody else waits."""
    statements = load("db/partitions")
    for step in (
        "set_lock_timeout",
        "lock",
        "forget_changed",
        "copy_changed",
        "references",
        "protect",
        "replace",
    ):
        connection.execute(statements[step])
    for row in connection.execute(statements["new_names"]).fetchall():
        _rename(connection, row)


def _rename(connection: Connection, row: dict[str, Any]) -> None:
    statement = load("db/partitions")["rename_index" if row["is_index"] else "rename_table"]
    new = "vectors" + row["name"].removeprefix("vectors_new")
    connection.execute(
        sql.SQL(statement).format(name=sql.Identifier(row["name"]), new=sql.Identifier(new))
    )
