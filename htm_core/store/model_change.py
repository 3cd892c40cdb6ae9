"""One tenant's change to another embedding model: a second space filled beside the first, then put in its place."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import errors as pg
from psycopg import sql

from ..errors import NotFound, StorageError
from . import nodes
from .connection import Connection
from .database import Database
from .queries import load

_log = logging.getLogger("htm.changeover")

PATIENCE = "2s"  # for writers to finish; as long at most do others wait behind


@dataclass(frozen=True, slots=True)
class FillProgress:
    """How many passages a tenant has, and how many of them have a vector of the model."""

    passages: int
    vectors: int


def begin(database: Database, tenant: str, *, model: str) -> str | None:
    """Make the row of the model that is to come, and name the one that the tenant has now.

    Raises `NotFound` for a tenant that never remembered anything.
    """
    with database.transaction(tenant) as connection:
        row = connection.execute(load("model_change")["tenant_exists"]).fetchone()
        if row is None or not row["known"]:
            raise NotFound(f"expected a tenant that has memories, got {tenant!r}; name another with --tenant")
        connection.execute(load("model_change")["begin"], {"model": model})
        return _active(connection)


def _active(connection: Connection) -> str | None:
    row = connection.execute(load("model_change")["active"]).fetchone()
    return row["name"] if row else None


def fill_progress(database: Database, tenant: str, *, model: str) -> FillProgress:
    """How far the space of a model is filled."""
    with database.transaction(tenant) as connection:
        row = connection.execute(load("model_change")["fill_progress"], {"model": model}).fetchone()
        assert row is not None  # a select without from has one row
        return FillProgress(row["passages"], row["vectors"])


def missing_texts(database: Database, tenant: str, *, model: str, after: UUID | None, limit: int) -> dict[UUID, str]:
    """The next passages, by id, that have no vector of a model yet, with their texts."""
    with database.transaction(tenant) as connection:
        return _missing_texts(connection, model=model, after=after, limit=limit)


def _missing_texts(connection: Connection, *, model: str, after: UUID | None, limit: int) -> dict[UUID, str]:
    rows = connection.execute(load("model_change")["missing_texts"], {"model": model, "after": after, "limit": limit})
    return {row["id"]: row["body"] for row in rows}


def store(database: Database, tenant: str, vectors: Mapping[UUID, Sequence[float]], *, model: str) -> None:
    """Keep vectors of passages; raises `StorageError` when another change-over has put an end to this one."""
    with database.transaction(tenant) as connection:
        if connection.execute(load("model_change")["lock_model"], {"model": model}).fetchone() is None:
            raise StorageError(
                f"expected the change to {model} to be underway, but another one was completed meanwhile; if it is this "
                "model that you want, run `htm reembed` again"
            )
        nodes.insert_vectors(connection, vectors, model=model)


def switch(database: Database, tenant: str, *, model: str, few: int) -> bool:
    """Make a model the tenant's, in one transaction that nobody can write a memory beside; False when it is too early.

    It is too early when more than `few` passages have no vector of it yet, or when somebody has been writing for longer
    than two seconds. The few are owed one, as jobs: their words are found meanwhile. Readers never wait.
    """
    try:
        with database.transaction(tenant) as connection:
            return _switch(connection, model=model, few=few)
    except StorageError as error:
        if isinstance(error.__cause__, pg.LockNotAvailable | pg.DeadlockDetected):
            return False
        raise


def _switch(connection: Connection, *, model: str, few: int) -> bool:
    statements = load("model_change")
    connection.execute(statements["set_lock_timeout"], {"patience": PATIENCE})
    connection.execute(statements["lock_nodes"])
    left = _missing_texts(connection, model=model, after=None, limit=few + 1)
    if len(left) > few:
        return False
    connection.execute(statements["enqueue_embedding"], {"model": model, "passages": list(left)})
    for name in ("drop_other_jobs", "deactivate_others", "activate"):
        connection.execute(statements[name], {"model": model})
    return True


def drop_vectors(database: Database, tenant: str, *, keep: str, limit: int) -> int:
    """Drop up to `limit` of the tenant's vectors that are of any other model than `keep`, and say how many went."""
    with database.transaction(tenant) as connection:
        return connection.execute(load("model_change")["drop_vectors"], {"model": keep, "limit": limit}).rowcount


def drop_finished_jobs(database: Database, tenant: str, *, model: str) -> None:
    """Strike out the jobs, parked ones too, of what has its vectors by now."""
    with database.transaction(tenant) as connection:
        connection.execute(load("model_change")["drop_finished_jobs"], {"model": model})


def drop_models(database: Database, tenant: str, *, keep: str) -> None:
    """Drop the rows of the tenant's other models."""
    with database.transaction(tenant) as connection:
        connection.execute(load("model_change")["drop_models"], {"model": keep})


def drop_unused_indexes(database: Database) -> list[str]:
    """Drop the indexes of spaces that no tenant uses any more; without the owner's rights they stay, and the log says so."""
    try:
        with database.owner() as connection:
            rows = connection.execute(load("model_change")["unused_indexes"]).fetchall()
            return [_drop_index(connection, row["id"]) for row in rows]
    except StorageError as error:
        _log.warning("indexes that are no longer needed were left, for want of the owner's rights: %s", error)
        return []


def _drop_index(connection: Connection, space: int) -> str:
    name = f"vectors_hnsw_{space}"
    connection.execute(load("model_change")["unmark_index"], {"space": space})
    connection.execute(sql.SQL(load("indexes")["drop"]).format(name=sql.Identifier(name)))
    return name
