"""The status of each model: failures, pauses and rate limits, shared by all workers of
a database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ..db.database import Connection
from ..db.queries import load


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The status of a model. Times are in seconds from now by the server's clock; they are below 0
    when they have passed.

    `failures` counts failures in a row, `opens_in` is the rest of the pause, `probed_for` the time
    left of another worker's trial call, and `ahead` how far the calls made so far are ahead of the
    rate limit.
    """

    failures: int = 0
    opens_in: float = 0.0
    probed_for: float = 0.0
    ahead: float = 0.0


def read(connection: Connection, models: Sequence[str]) -> dict[str, ModelStatus]:
    """The status of these models, as far as they have one."""
    return queue_read(connection, models)()


def queue_read(
    connection: Connection, models: Sequence[str]
) -> Callable[[], dict[str, ModelStatus]]:
    """`read`, with what is sent next."""
    queued = connection.queue(load("jobs/model_status")["read"], {"models": list(models)})
    return lambda: {row.pop("model"): ModelStatus(**row) for row in queued.rows}


def lock(connection: Connection, model: str) -> ModelStatus:
    """The status of a model, locked until the transaction ends."""
    connection.execute(load("jobs/model_status")["insert"], {"model": model})
    row = connection.execute(load("jobs/model_status")["lock"], {"model": model}).fetchone()
    assert row is not None  # it was inserted just before
    return ModelStatus(**row)


def probe(connection: Connection, model: str, *, prober: UUID, seconds: float) -> None:
    """Record that a worker makes a trial call; it is given up after so many seconds."""
    connection.execute(
        load("jobs/model_status")["probe"], {"model": model, "prober": prober, "seconds": seconds}
    )


def cancel_probe(connection: Connection, model: str, *, prober: UUID) -> None:
    """Record that a worker makes no trial call after all."""
    connection.execute(
        load("jobs/model_status")["cancel_probe"], {"model": model, "prober": prober}
    )


def set_spent(connection: Connection, model: str, *, ahead: float) -> None:
    """Store how far the calls are ahead of the rate limit."""
    connection.execute(load("jobs/model_status")["set_spent"], {"model": model, "ahead": ahead})


def record_success(connection: Connection, model: str) -> bool:
    """Record that a model answered; True if it had failed before."""
    return (
        connection.execute(load("jobs/model_status")["record_success"], {"model": model}).rowcount
        > 0
    )


def record_failure(connection: Connection, model: str, *, lasted: float) -> int:
    """Record that a call of so many seconds failed, and return the number of failures in a row.

    A failure that another worker has recorded during the call counts for this call too.
    """
    row = connection.execute(
        load("jobs/model_status")["record_failure"], {"model": model, "lasted": lasted}
    ).fetchone()
    return int(row["failures"]) if row is not None else read(connection, [model])[model].failures


def leave_alone(connection: Connection, model: str, *, seconds: float) -> None:
    """Pause all calls of a model for so long."""
    connection.execute(
        load("jobs/model_status")["leave_alone"], {"model": model, "seconds": seconds}
    )


def make_due(connection: Connection, models: Sequence[str]) -> None:
    """End the pauses of models now."""
    connection.execute(load("jobs/model_status")["make_due"], {"models": list(models)})
