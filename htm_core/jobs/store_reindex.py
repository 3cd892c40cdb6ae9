"""Passages that were indexed by the rules of an older version: their words are renewed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from ..base.errors import NotFound
from ..db import jobs
from ..db.database import Database
from ..db.owner_claims import EVERYBODY
from ..db.queries import load

Table = Literal["passages", "documents"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Passages that were looked at: the id to go on after (None: there were none), how many, and
    how many were renewed.
    """

    last: UUID | None
    seen: int
    renewed: int


def check_tenant(database: Database, tenant: str) -> None:
    """Raise `NotFound` for a tenant without memories."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(load("jobs/store_reindex")["tenant_exists"]).fetchone()
    if row is None or not row["known"]:
        raise NotFound(
            f"expected a tenant that has memories, got {tenant!r}; name another with --tenant"
        )


def renew(
    database: Database, tenant: str, table: Table, *, after: UUID | None, limit: int
) -> Batch:
    """Renew the words of the next passages of memories, or of documents, in a transaction of their
    own.
    """
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(
            load("jobs/store_reindex")[table], {"after": after, "limit": limit}
        ).fetchone()
    assert row is not None  # a select without from has one row
    return Batch(row["last"], row["seen"], row["renewed"])


def queue_count(database: Database, tenant: str) -> None:
    """Queue a job that counts the tenant's words again."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        jobs.enqueue_count(connection)
