"""Settling in: the rows that a tenant, a robot and a model have before the first memory."""

from __future__ import annotations

from dataclasses import dataclass

from .database import Connection
from .queries import load


@dataclass(frozen=True, slots=True)
class Standing:
    """How a tenant stands: the model of its vectors, their dimension once there is one, and its passages when last counted."""

    model: str | None
    dimension: int | None
    documents: int


def settle(connection: Connection, *, robot: str, model: str, language: str) -> Standing:
    """Make the rows that are missing and say how the tenant stands."""
    statements = load("tenants")
    connection.execute(statements["settle"], {"robot": robot, "model": model, "language": language})
    row = connection.execute(statements["standing"]).fetchone()
    assert row is not None  # settle has just seen to it
    return Standing(row["model"], row["dimension"], row["documents"])


def active_model(connection: Connection) -> str | None:
    """The model that the tenant's memories are embedded with now."""
    row = connection.execute(load("tenants")["active_model"]).fetchone()
    return None if row is None else str(row["name"])
