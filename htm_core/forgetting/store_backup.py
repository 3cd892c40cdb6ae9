"""A tenant's rows as JSON: read in one statement, and inserted into a tenant where they are
missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ..base.errors import InvalidInput
from ..base.identity import ANONYMOUS
from ..db import jobs
from ..db.database import Connection, Row
from ..db.queries import load
from ..working.store import SetVersion

PARTS = (
    "robots",
    "sessions",
    "nodes",
    "node_state",
    "mentions",
    "keys",
    "tags",
    "passages",
    "vectors",
    "relations",
    "supersessions",
    "supersession_audit",
    "files",
    "file_chunks",
    "places",
    "decisions",
    "consultations",
    "wakings",
    "merges",
    "summaries",
    "collections",
    "documents",
    "groups",
    "working_sets",
    "working_items",
    "jobs",
    "audit_chains",
    "audit",
)
AT_ONCE = 500


def header(connection: Connection) -> Row | None:
    """The tenant's language, code, model and vector space; None for a tenant without memories."""
    return connection.execute(load("forgetting/store_backup")["header"]).fetchone()


def rows(connection: Connection, *, space: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row of the tenant with the name of its table, fetched in batches of 500."""
    with connection.cursor(name="htm_export", row_factory=dict_row) as cursor:
        cursor.itersize = AT_ONCE
        cursor.execute(
            load("forgetting/store_backup")["rows"], {"space": space, "anonymous": ANONYMOUS}
        )
        for row in cursor:
            yield row["part"], row["row"]


def transaction_id(connection: Connection) -> str:
    """The transaction's id, as in the column `xid` of the rows that it writes."""
    row = connection.execute(load("forgetting/store_backup")["transaction_id"]).fetchone()
    assert row is not None  # a select without from has one row
    return str(row["xid"])


def set_language(connection: Connection, *, language: str) -> str | None:
    """Set the language of a tenant without passages, and return the language that the tenant has
    then.
    """
    connection.execute(load("forgetting/store_backup")["set_language"], {"language": language})
    row = header(connection)
    return None if row is None else str(row["language"])


def take_space(connection: Connection, *, model: str, dimension: int) -> int:
    """The id of this model's vector space on this server."""
    row = connection.execute(
        load("forgetting/store_backup")["take_space"], {"model": model, "dimension": dimension}
    ).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["space"])


def insert_rows(
    connection: Connection, part: str, rows: Sequence[Mapping[str, Any]]
) -> tuple[set[UUID], str | None]:
    """Insert those rows of a table that are missing.

    Returns the nodes that were here before (themselves or one of their mentions), and a session or
    key that is taken by other rows here.
    """
    statements, values = load("forgetting/store_backup"), {"rows": Jsonb(list(rows))}
    with _explained(part):
        if (
            part == "file_chunks"
            and connection.execute(statements["foreign_chunks"], values).fetchone()
        ):
            raise InvalidInput(
                "expected file_chunks to belong to mentions of the same owner, got others; "
                "nothing was read"
            )
        cursor = connection.execute(statements[f"insert_{part}"], values)
        if part == "audit" and (row := cursor.fetchone()) and row["other"] is not None:
            raise InvalidInput(
                f"expected a tenant whose audit has nothing else as entry {row['other']} of that "
                "chain, but it has; nothing was "
                "read: read it into a tenant of its own"
            )
        here = [row["node_id"] for row in cursor] if part in ("nodes", "mentions") else []
        if part == "mentions":
            connection.execute(statements["advance_sequences"], values)
    # Rows that were all inserted match. Most backups are read into empty tenants and need no second
    # query.
    known = {node for node in here if node is not None}
    if part == "keys" or (part == "mentions" and here):
        row = connection.execute(statements[f"unmatched_{part}"], values).fetchone()
        return known, None if row is None else str(row["session" if part == "mentions" else "key"])
    return known, None


def open_working_sets(
    connection: Connection, rows: Sequence[Mapping[str, Any]]
) -> dict[str, SetVersion]:
    """Insert the working sets of these rows, and return those that may be filled, by their ids in
    the backup.

    A set that has items here is not among them.
    """
    with _explained("working_sets"):
        opened = connection.execute(
            load("forgetting/store_backup")["open_working_sets"], {"rows": Jsonb(list(rows))}
        ).fetchall()
    return {row["backup_id"]: SetVersion(row["id"], row["version"]) for row in opened}


def refresh_nodes(connection: Connection, ids: Sequence[UUID]) -> set[UUID]:
    """Set `live` of nodes from their mentions, delete those without a mention, and return the
    deleted ones.
    """
    statements = load("forgetting/store_backup")
    bare = {
        row["id"]
        for row in connection.execute(statements["without_mentions"], {"nodes": list(ids)})
    }
    connection.execute(statements["drop_keys"], {"nodes": sorted(bare)})
    connection.execute(statements["drop_nodes"], {"nodes": sorted(bare)})
    for name in ("refresh", "refresh_passages", "refresh_vectors"):
        connection.execute(statements[name], {"nodes": sorted(set(ids) - bare)})
    return bare


def conflicting_collection(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> Row | None:
    """A collection that exists here with another language or model, as it is here; creates the
    missing ones.
    """
    with _explained("collections"):
        return connection.execute(
            load("forgetting/store_backup")["conflicting_collections"], {"rows": Jsonb(list(rows))}
        ).fetchone()


@contextmanager
def _explained(part: str) -> Iterator[None]:
    try:
        yield
    except (
        psycopg.DataError,
        psycopg.IntegrityError,
        pg.CardinalityViolation,
        pg.SyntaxError,
    ) as error:
        raise InvalidInput(
            f"expected rows of {part} as htm export writes them, got: "
            f"{error.diag.message_primary or error}; nothing was read"
        ) from error


def enqueue_missing_vectors(connection: Connection, nodes: Sequence[UUID], *, model: str) -> int:
    """Queue embed jobs for nodes without vectors, and return how many nodes; jobs that were given
    up stay so.
    """
    lacking = [
        row["id"]
        for row in connection.execute(
            load("forgetting/store_backup")["without_vectors"], {"nodes": list(nodes)}
        )
    ]
    jobs.enqueue_embedding(connection, lacking, model=model, bulk=True)
    return len(lacking)
