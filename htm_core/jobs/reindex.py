"""Reindex: bring the words of older passages to the rules of this version, while everybody goes on
reading and writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import get_args

from ..db.database import Database
from . import store_reindex as store

BATCH = 500  # passages of one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """The result of a reindexing; `htm reindex --json` prints these fields.

    `passages` is how many there were, `renewed` of how many the words were.
    """

    tenant: str
    passages: int
    renewed: int


def reindex(
    database: Database, *, tenant: str, progress: Callable[[int], None] | None = None
) -> Reindexed:
    """Renew the words of a tenant's memories and documents, in short transactions, one after the
    other.

    What is up to date already is only read, so an interrupted run is simply run again. `progress`
    is called with the number of passages that were looked at so far. Raises `NotFound` for an
    unknown tenant, and `StorageError`.
    """
    store.check_tenant(database, tenant)
    seen = renewed = 0
    for table in get_args(store.Table):
        for batch in _batches(partial(store.renew, database, tenant, table)):
            seen, renewed = seen + batch.seen, renewed + batch.renewed
            if progress is not None:
                progress(seen)
    if renewed:
        store.queue_count(database, tenant)
    return Reindexed(tenant=tenant, passages=seen, renewed=renewed)


def _batches(renew: Callable[..., store.Batch]) -> Iterator[store.Batch]:
    """Renew batch after batch, until there is no more."""
    batch = renew(after=None, limit=BATCH)
    while batch.last is not None:
        yield batch
        batch = renew(after=batch.last, limit=BATCH)
