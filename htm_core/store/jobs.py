"""Jobs: work that is owed, as rows that any worker may claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ..types import Job
from .database import Connection
from .queries import load

# A kind of work, and the model that does it ("" where none does).
Lane = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """One piece of work that is ours for a while."""

    tenant: str
    id: UUID
    kind: str
    model: str
    node_id: UUID | None
    attempts: int


@dataclass(frozen=True, slots=True)
class PendingCounts:
    """How much work waits, for how many seconds the oldest has, and how much was given up."""

    pending: int
    parked: int
    oldest: float | None


def enqueue_embedding(connection: Connection, nodes: Sequence[UUID], *, model: str) -> None:
    """Queue one embed job for each node that has none yet.

    The job is for the model that the tenant has now; `model` counts only where there is none yet.
    """
    if nodes:
        connection.execute(load("jobs")["enqueue_embedding"], {"nodes": list(nodes), "model": model})


def enqueue(connection: Connection, nodes: Sequence[UUID], *, kind: str, model: str = "") -> None:
    """Write down work of another kind than embedding; what is owed is owed once, and done again if it was begun already."""
    if nodes:
        connection.execute(load("jobs")["enqueue"], {"nodes": sorted(set(nodes)), "kind": kind, "model": model})


def enqueue_count(connection: Connection) -> None:
    """Ask for the tenant's words to be counted anew."""
    connection.execute(load("jobs")["enqueue_count"])


def enqueue_due_counts(connection: Connection) -> int:
    """Ask for a count wherever a tenant has far more passages than were counted last, and say for how many.

    Looks at about 200,000 rows, of tenants drawn at random where all have more between them.
    """
    row = connection.execute(load("jobs")["enqueue_due_counts"]).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["owed"])


def move_to_active_model(connection: Connection, jobs: Sequence[ClaimedJob]) -> int:
    """Owe the work of a model that the tenant has no longer to the one that it has, and say how many jobs that were."""
    row = connection.execute(load("jobs")["move_to_active_model"], {"ids": _ids(jobs)}).fetchone()
    assert row is not None  # an aggregate has one row
    return int(row["moved"])


def claim(connection: Connection, lane: Lane, *, limit: int, lease: float) -> list[ClaimedJob]:
    """Take up to `limit` due jobs of a lane, of any tenant, for `lease` seconds; nobody else gets them meanwhile."""
    values = {"kind": lane[0], "model": lane[1], "limit": limit, "lease": lease}
    return [ClaimedJob(**row) for row in connection.execute(load("jobs")["claim"], values)]


def renew(connection: Connection, jobs: Sequence[ClaimedJob], *, lease: float) -> None:
    """Keep jobs for `lease` seconds from now."""
    connection.execute(load("jobs")["renew"], {"ids": _ids(jobs), "lease": lease})


def release(connection: Connection, jobs: Sequence[ClaimedJob]) -> None:
    """Give jobs back that were not begun."""
    connection.execute(load("jobs")["release"], {"ids": _ids(jobs)})


def make_due(connection: Connection, *, model: str) -> int:
    """Make due what was put off because a model was away, and say how many jobs that were."""
    return connection.execute(load("jobs")["make_due"], {"model": model}).rowcount


def next_due(connection: Connection, lanes: Sequence[Lane]) -> float | None:
    """Seconds until there is work again in these lanes; None when none is owed."""
    row = connection.execute(load("jobs")["next_due"], _columns(lanes)).fetchone()
    return row["seconds"] if row else None


def missing_texts(connection: Connection, nodes: Sequence[UUID], *, model: str) -> dict[UUID, str]:
    """The passages of nodes that have no vector of a model yet."""
    rows = connection.execute(load("jobs")["missing_texts"], {"nodes": list(nodes), "model": model})
    return {row["id"]: row["body"] for row in rows}


def finish(connection: Connection, jobs: Sequence[ClaimedJob]) -> set[UUID]:
    """Strike out work that is done, and say which jobs were still there: what another worker did meanwhile is not."""
    return {row["id"] for row in connection.execute(load("jobs")["finish"], {"ids": _ids(jobs)})}


def postpone(connection: Connection, jobs: Sequence[ClaimedJob], *, error: str, seconds: float, tried: bool) -> None:
    """Put work off by about `seconds`, with the error in view; `tried` counts it as an attempt of the job's own."""
    values = {"ids": _ids(jobs), "error": error, "seconds": seconds, "tried": int(tried)}
    connection.execute(load("jobs")["postpone"], values)


def park(connection: Connection, jobs: Sequence[ClaimedJob], *, error: str) -> None:
    """Give up on work until somebody asks for it again; the error stays readable."""
    connection.execute(load("jobs")["park"], {"ids": _ids(jobs), "error": error})


def retry(connection: Connection, *, owners: Sequence[str], ids: Sequence[UUID] | None, kind: str | None) -> int:
    """Make parked work due again, as if it had never been tried, and say how much."""
    values = {"owners": list(owners), "ids": None if ids is None else list(ids), "kind": kind}
    return connection.execute(load("jobs")["retry_parked"], values).rowcount


def list_jobs(
    connection: Connection, *, owners: Sequence[str], kind: str | None, parked: bool | None, limit: int
) -> list[Job]:
    """What is owed for these owners' memories: parked work first, then the oldest."""
    values = {"owners": list(owners), "kind": kind, "parked": parked, "limit": limit}
    rows = connection.execute(load("jobs")["list"], values)
    return [
        Job(**(row | {"id": str(row["id"]), "node_id": None if row["node_id"] is None else str(row["node_id"])}))
        for row in rows
    ]


def count_pending(connection: Connection, *, owners: Sequence[str]) -> PendingCounts:
    """What is owed for these owners' memories."""
    row = connection.execute(load("jobs")["count_pending"], {"owners": list(owners)}).fetchone()
    assert row is not None  # an aggregate has one row
    return PendingCounts(row["pending"], row["parked"], row["oldest"])


def make_all_due(connection: Connection) -> None:
    """Make the tenant's waiting work due now."""
    connection.execute(load("jobs")["make_all_due"])


def count_waiting(connection: Connection, lanes: Sequence[Lane]) -> tuple[int, int]:
    """How many of the tenant's jobs are still to be waited for, and how many there are.

    Waited for are those that have not failed since they were last due and that are in these lanes, or that somebody works
    on.
    """
    row = connection.execute(load("jobs")["count_waiting"], _columns(lanes)).fetchone()
    assert row is not None  # an aggregate has one row
    return row["untried"], row["total"]


def _ids(jobs: Sequence[ClaimedJob]) -> list[UUID]:
    return [job.id for job in jobs]


def _columns(lanes: Sequence[Lane]) -> dict[str, list[str]]:
    return {"kinds": [kind for kind, _ in lanes], "models": [model for _, model in lanes]}
