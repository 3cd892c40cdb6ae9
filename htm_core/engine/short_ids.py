"""Ids by their beginning: which rows of an owner have an id between two."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ..db.database import Connection
from ..db.queries import load


def between(
    connection: Connection,
    kind: str,
    first: UUID,
    last: UUID,
    *,
    owners: Sequence[str],
    hidden: bool,
    limit: int,
) -> list[tuple[UUID, str]]:
    """The ids of one kind from `first` to `last`, ascending, each with a few words about what it
    is.

    `kind` is "memories", "mentions", "changes" or "jobs". `hidden` adds what was forgotten.
    """
    values = {
        "owners": list(owners),
        "first": first,
        "last": last,
        "hidden": hidden,
        "limit": limit,
    }
    return [
        (row["id"], row["about"])
        for row in connection.execute(load("engine/short_ids")[kind], values)
    ]
