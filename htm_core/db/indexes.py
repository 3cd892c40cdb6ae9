"""HNSW indexes: one per vector space, built online by the owner once exact search
becomes slower.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from psycopg import sql

from ..base.errors import StorageError
from .database import Connection, Database
from .queries import load

_log = logging.getLogger("htm.indexes")

# Below this an exact scan costs a millisecond or two more than the index, and is exact:
# docs/why/vectors.md.
THRESHOLD = 5_000
LARGEST_HALVES = 4_000  # dimensions: pgvector has no index for more of them in half precision
# What a vector takes in the graph while it is built, beside its numbers: links to up to 32
# neighbours on the lowest layer.
GRAPH_BYTES = 1_500
# Each build may have so much memory, or maintenance_work_mem if that is more: the statement
# set_build_memory says the same.
LEAST_BUILD_BYTES = 512 << 20
TABLES = ("vectors", "document_passages")


def build_due(database: Database, *, threshold: int = THRESHOLD) -> list[str]:
    """Analyze the tables that have changed, build the indexes that are due, and return their names.

    One process does this at a time. The others do not wait for it, since a waiting transaction
    would block a concurrent build. Without the owner's rights search stays exact, and the log says
    so.
    """
    try:
        with database.owner() as connection, sole_builder(connection) as alone:
            if not alone:
                return []
            statements, names = load("db/indexes"), []
            connection.execute(statements["set_build_limits"])
            analyze(connection)
            for table in TABLES:
                for space in due(connection, table, threshold=threshold):
                    names += build(connection, table, space, extension=database.extension)
                    connection.execute(statements[f"{table}_mark"], {"space": space["id"]})
            return names
    except StorageError as error:
        _log.warning(
            "no index was built, search stays exact; run `htm migrate` as the owner: %s", error
        )
        return []


def analyze(connection: Connection) -> list[str]:
    """Analyze the tables whose statistics are old, and return their names.

    It takes half a second and more for the samples of all of them, and is asked for whenever a
    tenant's words are counted.
    """
    statements = load("db/indexes")
    names = [row["name"] for row in connection.execute(statements["changed"])]
    if names:
        tables = sql.SQL(", ").join(map(sql.Identifier, names))
        connection.execute(sql.SQL(statements["analyze"]).format(tables=tables))
    return names


def due(connection: Connection, table: str, *, threshold: int) -> list[dict[str, Any]]:
    """The spaces whose vectors in a table are many, can be indexed, and are not."""
    values = {"threshold": threshold, "largest": LARGEST_HALVES}
    spaces = connection.execute(load("db/indexes")[f"{table}_wanted"], values).fetchall()
    return [space for space in spaces if space["vectors"] >= threshold]


@contextmanager
def sole_builder(connection: Connection) -> Iterator[bool]:
    """Yield True if this session is the one that builds indexes, until the end of the block.

    The row of another session that was killed counts for nothing: the server says which of its
    sessions are running.
    """
    statements = load("db/indexes")
    with connection.transaction():
        row = connection.execute(statements["builder"]).fetchone()
        alone = row is not None and (row["pid"] is None or not _is_running(connection, row))
        if alone:
            connection.execute(statements["become_builder"])
    try:
        yield alone
    finally:
        if alone:
            connection.execute(statements["release"])


def _is_running(connection: Connection, session: dict[str, Any]) -> bool:
    row = connection.execute(load("db/indexes")["is_running"], session).fetchone()
    return row is not None and bool(row["running"])


def build(
    connection: Connection, table: str, space: Mapping[str, Any], *, extension: str
) -> list[str]:
    """Build one space's index, one in each partition, after dropping what an interrupted build
    left, and return the names.
    """
    statements, built = load("db/indexes"), []
    for leaf in leaves(connection, table):
        parts = hnsw_parts(leaf, space, extension=extension)
        give_memory(connection, leaf, space)
        connection.execute(sql.SQL(statements["drop"]).format(name=parts["name"]))
        connection.execute(sql.SQL(statements["build"]).format(leaf=sql.Identifier(leaf), **parts))
        built.append(index_name(leaf, space))
        _log.info("built %s", built[-1])
    return built


def give_memory(connection: Connection, leaf: str, space: Mapping[str, Any]) -> None:
    """Let the session have the memory that the graph of a space's vectors in one table needs while
    it is built.
    """
    statements = load("db/indexes")
    parts = {"leaf": sql.Identifier(leaf), "space": sql.Literal(space["id"])}
    row = connection.execute(sql.SQL(statements["count"]).format(**parts)).fetchone()
    assert row is not None  # a select without group by has one row
    needed = graph_bytes(row["vectors"], space["dimension"], space["quantized"]) // 1024
    connection.execute(statements["set_build_memory"], {"needed": needed})


def graph_bytes(vectors: int, dimension: int, quantized: bool) -> int:
    """Return the bytes of memory that the graph of so many vectors takes while it is built."""
    return vectors * ((dimension // 8 if quantized else 2 * dimension) + GRAPH_BYTES)


def leaves(connection: Connection, table: str) -> list[str]:
    """The tables that hold the rows of a table: its partitions, or the table itself."""
    return [
        row["name"] for row in connection.execute(load("db/indexes")["leaves"], {"table": table})
    ]


def index_name(leaf: str, space: Mapping[str, Any]) -> str:
    """Return the name of the index of a space's vectors in one table, as the SQL function
    `hnsw_name` does.
    """
    return f"{leaf}_hnsw_{space['id']}{'_quantized' if space['quantized'] else ''}"


def hnsw_parts(leaf: str, space: Mapping[str, Any], *, extension: str) -> dict[str, sql.Composable]:
    """The parts of the statement that builds a space's index in one table. `extension` is the
    schema of pgvector.
    """
    literals = {"dimension": sql.Literal(space["dimension"]), "space": sql.Literal(space["id"])}
    kind = sql.SQL(load("db/indexes")["signs" if space["quantized"] else "numbers"])
    names = ("halfvec", "halfvec_cosine_ops", "binary_quantize", "bit_hamming_ops")
    key = kind.format(**{name: sql.Identifier(extension, name) for name in names}, **literals)
    return {"name": sql.Identifier(index_name(leaf, space)), "key": key} | literals
