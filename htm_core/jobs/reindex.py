"""Reindex: bring the words of older passages to the rules of this version, while everybody goes on reading and writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args
from uuid import UUID

from ..store import reindex as store
from ..store.database import Database

BATCH = 500  # passages of one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """The result of a reindexing; `htm reindex --json` prints these fields: how many passages there were, how many were renewed."""

    tenant: str
    passages: int
    renewed: int


def reindex(database: Database, *, tenant: str, progress: Callable[[int], None] | None = None) -> Reindexed:
    """Renew the words of a tenant's memories and documents, in short transactions, one after the other.

    What is up to date already is only read, so an interrupted run is simply run again. `progress` is called with the number of
    passages that were looked at so far. Raises `NotFound` for an unknown tenant, and `StorageError`.
    """
    store.check_tenant(database, tenant)
    seen = renewed = 0
    for table in get_args(store.Table):
        after: UUID | None = None
        while True:
            batch = store.renew(database, tenant, table, after=after, limit=BATCH)
            if batch.last is None:
                break
            after, seen, renewed = batch.last, seen + batch.seen, renewed + batch.renewed
            if progress is not None:
                progress(seen)
    if renewed:
        store.queue_count(database, tenant)
    return Reindexed(tenant=tenant, passages=seen, renewed=renewed)
