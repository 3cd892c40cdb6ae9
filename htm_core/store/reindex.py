"""Passages that were indexed by the rules of an older version: their words and traits are renewed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from ..errors import NotFound
from ..rules.text.traits import traits, without_wishes
from . import jobs
from .database import Database
from .owner_claims import EVERYBODY
from .queries import load

Table = Literal["passages", "documents"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Passages that were looked at: the id to go on after (None: there were none), how many, and how many were renewed."""

    last: UUID | None
    seen: int
    renewed: int


def check_tenant(database: Database, tenant: str) -> None:
    """Raise `NotFound` for a tenant without memories."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(load("reindex")["tenant_exists"]).fetchone()
    if row is None or not row["known"]:
        raise NotFound(f"expected a tenant that has memories, got {tenant!r}; name another with --tenant")


def renew(database: Database, tenant: str, table: Table, *, after: UUID | None, limit: int) -> Batch:
    """Renew the words of the next passages of memories, or of documents, in a transaction of their own."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(load("reindex")[table], {"after": after, "limit": limit}).fetchone()
    assert row is not None  # a select without from has one row
    return Batch(row["last"], row["seen"], row["renewed"])


def describe(database: Database, tenant: str, *, after: UUID | None, limit: int) -> Batch:
    """Write the traits of the next passages of memories that have none, or others, in a transaction of their own."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        row = connection.execute(load("reindex")["described"], {"after": after, "limit": limit}).fetchone()
        assert row is not None  # an aggregate has one row
        changed: dict[UUID, int] = {}
        for id, text, wishes, before in zip(
            row["ids"] or (), row["texts"] or (), row["wishes"] or (), row["traits"] or (), strict=True
        ):
            found = traits(text or "")
            now = int(found if wishes else without_wishes(found))
            if now != before:
                changed[id] = now
        if changed:
            values = {"ids": list(changed), "traits": list(changed.values())}
            connection.execute(load("reindex")["describe"], values)
    return Batch(row["last"], row["seen"], len(changed))


def queue_count(database: Database, tenant: str) -> None:
    """Queue a job that counts the tenant's words again."""
    with database.transaction(tenant, claim=EVERYBODY) as connection:
        jobs.enqueue_count(connection)
