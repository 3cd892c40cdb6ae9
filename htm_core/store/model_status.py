"""Paces: how each model stands, as rows that all workers of a database share. Times are the server's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from .database import Connection
from .queries import load


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """How a model stands; times are in seconds from now, below 0 when they are over.

    `failures` are those in a row, `opens_in` is until when it is left alone, `probed_for` until when somebody tries it, and
    `ahead` how much time the calls that were made are worth.
    """

    failures: int = 0
    opens_in: float = 0.0
    probed_for: float = 0.0
    ahead: float = 0.0


def read(connection: Connection, models: Sequence[str]) -> dict[str, ModelStatus]:
    """How models stand of which anything is known."""
    rows = connection.execute(load("model_status")["read"], {"models": list(models)})
    return {row.pop("model"): ModelStatus(**row) for row in rows}


def lock(connection: Connection, model: str) -> ModelStatus:
    """How a model stands; nobody else changes that until the transaction ends."""
    connection.execute(load("model_status")["insert"], {"model": model})
    row = connection.execute(load("model_status")["lock"], {"model": model}).fetchone()
    assert row is not None  # it was added
    return ModelStatus(**row)


def probe(connection: Connection, model: str, *, prober: UUID, seconds: float) -> None:
    """Say that a worker tries a model; after so many seconds it is taken for dead."""
    connection.execute(load("model_status")["probe"], {"model": model, "prober": prober, "seconds": seconds})


def cancel_probe(connection: Connection, model: str, *, prober: UUID) -> None:
    """Say that a worker does not try a model after all."""
    connection.execute(load("model_status")["cancel_probe"], {"model": model, "prober": prober})


def set_spent(connection: Connection, model: str, *, ahead: float) -> None:
    """Note how much time the calls that were made are worth now."""
    connection.execute(load("model_status")["set_spent"], {"model": model, "ahead": ahead})


def record_success(connection: Connection, model: str) -> bool:
    """Note that a model answered; whether it had not before."""
    return connection.execute(load("model_status")["record_success"], {"model": model}).rowcount > 0


def record_failure(connection: Connection, model: str, *, lasted: float) -> int:
    """Note that a model did not answer a call that lasted so many seconds, and say how often it has not, in a row.

    A failure that another worker noted meanwhile counts for this call as well.
    """
    row = connection.execute(load("model_status")["record_failure"], {"model": model, "lasted": lasted}).fetchone()
    return int(row["failures"]) if row is not None else read(connection, [model])[model].failures


def leave_alone(connection: Connection, model: str, *, seconds: float) -> None:
    """Have a model left alone for so long."""
    connection.execute(load("model_status")["leave_alone"], {"model": model, "seconds": seconds})


def make_due(connection: Connection, models: Sequence[str]) -> None:
    """Have models tried now that are left alone."""
    connection.execute(load("model_status")["make_due"], {"models": list(models)})
