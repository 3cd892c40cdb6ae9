"""What has been imported already, so that an import that was interrupted goes on, and one that was done adds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from .database import Database
from .queries import load


def known(
    database: Database, tenant: str, *, owner: str, ids: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], UUID | None]:
    """The mentions of these (session, id) that are there, with the node that each says; None for a wordless one."""
    with database.transaction(tenant) as connection:
        columns = {"owner": owner, "sessions": [session for session, _ in ids], "ids": [id for _, id in ids]}
        rows = connection.execute(load("imported")["known"], columns)
        return {(row["session"], row["external_id"]): row["node_id"] for row in rows}


def robots(database: Database, tenant: str) -> list[str]:
    """The robots of a tenant, the one that was active last first."""
    with database.transaction(tenant) as connection:
        return [row["name"] for row in connection.execute(load("imported")["robots"])]
