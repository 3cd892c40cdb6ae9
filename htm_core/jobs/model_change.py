"""A tenant's change to another embedding model: a second vector space is filled, then it replaces
the first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import errors as pg
from psycopg import sql

from ..base.errors import NotFound, StorageError
from ..db import tenants
from ..db.connection import Connection
from ..db.database import Database
from ..db.indexes import index_name, leaves
from ..db.owner_claims import EVERYBODY
from ..db.queries import load
from ..writing import nodes

_log = logging.getLogger("htm.models")

PATIENCE = "2s"  # how long to wait for writers; other writers wait behind for as long at most


@dataclass(frozen=True, slots=True)
class FillProgress:
    """Counts of a tenant's passages, and of those that have a vector of the model."""

    passages: int
    vectors: int


def begin(database: Database, tenant: str, *, model: str) -> str | None:
    """Insert the row of the new model, and return the name of the present one.

    Raises `NotFound` for a tenant without memories.
    """
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(load("jobs/model_change")["tenant_exists"]).fetchone()
        if row is None or not row["known"]:
            raise NotFound(
                f"expected a tenant that has memories, got {tenant!r}; name another with --tenant"
            )
        connection.execute(load("jobs/model_change")["begin"], {"model": model})
        return tenants.active_model(connection)


def fill_progress(database: Database, tenant: str, *, model: str) -> FillProgress:
    """Return the progress of filling a model's vector space."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(
            load("jobs/model_change")["fill_progress"], {"model": model}
        ).fetchone()
        assert row is not None  # a select without from has one row
        return FillProgress(row["passages"], row["vectors"])


def missing_texts(
    database: Database, tenant: str, *, model: str, after: UUID | None, limit: int
) -> dict[UUID, str]:
    """The texts of the next passages in the order of ids that have no vector of a model yet."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        return _missing_texts(connection, model=model, after=after, limit=limit)


def _missing_texts(
    connection: Connection, *, model: str, after: UUID | None, limit: int
) -> dict[UUID, str]:
    rows = connection.execute(
        load("jobs/model_change")["missing_texts"], {"model": model, "after": after, "limit": limit}
    )
    return {row["id"]: row["body"] for row in rows}


def store(
    database: Database, tenant: str, vectors: Mapping[UUID, Sequence[float]], *, model: str
) -> None:
    """Store vectors of passages; raises `StorageError` when another change of models was completed
    meanwhile.
    """
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        if (
            connection.execute(load("jobs/model_change")["lock_model"], {"model": model}).fetchone()
            is None
        ):
            raise StorageError(
                f"expected the change to {model} to be in progress, but another change was "
                "completed meanwhile; run "
                "`htm reembed` again if you want this model"
            )
        nodes.insert_vectors(connection, vectors, model=model)


def switch(database: Database, tenant: str, *, model: str, few: int) -> bool:
    """Make a model the tenant's active one, in a transaction that locks out writers; False when it
    is too early.

    It is too early while more than `few` passages have no vector of it, or when a writer takes
    longer than two seconds. The few remaining passages get embed jobs, and until then are found by
    their words. Readers never wait.
    """
    try:
        with database.transaction(tenant, claim=EVERYBODY) as connection:
            statements = load("jobs/model_change")
            connection.execute(statements["set_lock_timeout"], {"patience": PATIENCE})
            connection.execute(statements["lock_nodes"])
            left = _missing_texts(connection, model=model, after=None, limit=few + 1)
            if len(left) > few:
                return False
            connection.execute(
                statements["enqueue_embedding"], {"model": model, "passages": list(left)}
            )
            for name in ("drop_other_jobs", "deactivate_others", "activate"):
                connection.execute(statements[name], {"model": model})
            return True
    except StorageError as error:
        if isinstance(error.__cause__, pg.LockNotAvailable | pg.DeadlockDetected):
            return False
        raise


def drop_vectors(database: Database, tenant: str, *, keep: str, limit: int) -> int:
    """Delete up to `limit` vectors of models other than `keep`, and return how many."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        return connection.execute(
            load("jobs/model_change")["drop_vectors"], {"model": keep, "limit": limit}
        ).rowcount


def drop_finished_jobs(database: Database, tenant: str, *, model: str) -> None:
    """Delete the embed jobs, parked ones too, of nodes that have all their vectors by now."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        connection.execute(load("jobs/model_change")["drop_finished_jobs"], {"model": model})


def drop_models(database: Database, tenant: str, *, keep: str) -> None:
    """Delete the rows of the tenant's other models."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        connection.execute(load("jobs/model_change")["drop_models"], {"model": keep})


def drop_unused_indexes(database: Database) -> list[str]:
    """Drop the indexes of spaces that no tenant uses. Without the owner's rights they stay, and the
    log says so.
    """
    try:
        with database.owner() as connection:
            names = []
            for row in connection.execute(load("jobs/model_change")["unused_indexes"]).fetchall():
                connection.execute(load("jobs/model_change")["unmark_index"], {"space": row["id"]})
                for leaf in leaves(connection, "vectors"):
                    name = index_name(leaf, row)
                    connection.execute(
                        sql.SQL(load("db/indexes")["drop"]).format(name=sql.Identifier(name))
                    )
                    names.append(name)
            return names
    except StorageError as error:
        _log.warning(
            "indexes that are no longer needed were not dropped, since that needs the owner's "
            "rights: %s",
            error,
        )
        return []
