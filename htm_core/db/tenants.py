"""Facts about a tenant as a whole: its first rows, its model, its robots and its counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..base.types import Robot, SpanCounts, TenantSize, TenantSizes, UserSize, UserSizes
from .connection import Queued
from .database import Connection, Row
from .queries import load

# rows of a kind that are counted for a tenant among others; of more there are estimates
COUNTED = 20_000


@dataclass(frozen=True, slots=True)
class TenantState:
    """A tenant's embedding model, the dimension of its vectors once there are any, and its passages
    when last counted.
    """

    model: str | None
    dimension: int | None
    documents: int


def ensure_rows(connection: Connection, *, robot: str, model: str, language: str) -> TenantState:
    """Insert the rows that a tenant, a robot and a model must have before the first memory, where
    they are missing.
    """
    statements = load("db/tenants")
    connection.execute(
        statements["ensure_rows"], {"robot": robot, "model": model, "language": language}
    )
    row = connection.execute(statements["state"]).fetchone()
    assert row is not None  # ensure_rows has just inserted it
    return TenantState(row["model"], row["dimension"], row["documents"])


def active_model(connection: Connection) -> str | None:
    """The model that the tenant's memories are embedded with now."""
    return name_of(queue_active_model(connection))


def queue_active_model(connection: Connection) -> Queued:
    """Have the model that the tenant's memories are embedded with read with what is sent next."""
    return connection.queue(load("db/tenants")["active_model"])


def name_of(active: Queued) -> str | None:
    """The name of what `queue_active_model` has read; None where there is no model yet."""
    return str(active.rows[0]["name"]) if active.rows else None


def set_robots_active(connection: Connection, moments: Mapping[str, datetime]) -> None:
    """Note when robots were last active, in the order of their names; an earlier moment changes
    nothing.
    """
    if moments:
        names = sorted(moments)
        values = {"names": names, "ats": [moments[name] for name in names]}
        connection.queue(load("db/tenants")["set_robots_active"], values)


def robots(connection: Connection, *, owners: Sequence[str]) -> list[Robot]:
    """Every robot of the tenant by name, with counts of the memories of these owners."""
    rows = connection.execute(load("db/tenants")["robots"], {"owners": list(owners)})
    return [Robot(**{**row, "groups": tuple(row["groups"])}) for row in rows]


def statistics(connection: Connection, *, owners: Sequence[str]) -> Row:
    """Counts of what these owners have, the times of the oldest and the newest mention, and the
    server's version.
    """
    row = connection.execute(load("db/tenants")["statistics"], {"owners": list(owners)}).fetchone()
    assert row is not None  # a select without from has one row
    return row


def users(connection: Connection, *, first: int, limit: int) -> UserSizes:
    """Return the sizes of some users of the tenant, those with the most messages first; the
    transaction must see all owners.
    """
    rows = connection.execute(
        load("db/tenants")["users"], {"first": first, "limit": limit}
    ).fetchall()
    whole = [
        (row.pop("users"), row.pop("all_nodes"), row.pop("all_mentions"), row.pop("all_pending"))
        for row in rows
    ]
    shown = [
        UserSize(user=row.pop("owner") or None, **row) for row in rows if row["owner"] is not None
    ]
    return UserSizes(shown, *whole[0])


def sizes(connection: Connection, *, after: str | None, limit: int) -> TenantSizes:
    """Return the sizes of the tenants after a name, as workers may ask; there are none for any
    other role.
    """
    values = {"after": after, "limit": limit, "counted": COUNTED}
    rows = connection.execute(load("db/tenants")["sizes"], values).fetchall()
    total = [row.pop("tenants") for row in rows]
    return TenantSizes([TenantSize(**row) for row in rows], total[0] if total else 0)


def in_order(connection: Connection, names: Sequence[str]) -> list[str]:
    """Names of tenants in the order in which `sizes` has them, which is the server's."""
    return [
        row["name"]
        for row in connection.execute(load("db/tenants")["in_order"], {"names": list(names)})
    ]


def growth(
    connection: Connection, *, owners: Sequence[str], unit: str, zone: str, limit: int
) -> list[SpanCounts]:
    """Count what these owners said in the latest spans of time, oldest first, up to the last in
    which something was said.

    Spans in which nothing was said come with zeros.
    `unit` is "day", "week" or "month", and `zone` the time zone by which these begin.
    """
    values = {"owners": list(owners), "unit": unit, "zone": zone, "limit": limit}
    return [
        SpanCounts(**row)
        for row in reversed(connection.execute(load("db/tenants")["growth"], values).fetchall())
    ]
