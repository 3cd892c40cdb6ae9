"""Jobs: pending work, as rows that any worker may claim."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.telemetry import PendingJobs
from ..base.types import Job
from .connection import Connection, Reader
from .queries import load

# jobs of a lane, for a look at what waits: that many took 0.10 to 0.14 s on two busy cores
MOST_COUNTED = 100_000

FIRST_COUNT = 500  # new nodes of a tenant, after which its words are counted for the first time

# A kind of job, and its model ("" for none).
Lane = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LaneTenants:
    """A lane, and whose jobs of it: `only` these tenants', or those of all tenants (None) `besides`
    these.
    """

    lane: Lane
    only: Sequence[str] | None = None
    besides: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MissingText:
    """A passage that has no vector yet: the `turn`th of its node's passages without one, of which
    there are `missing`.
    """

    id: UUID
    node_id: UUID
    turn: int
    missing: int
    body: str


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that this worker has claimed until its lease ends.

    `texts` are its passages without a vector, where they were read with the claim.
    """

    tenant: str
    id: UUID
    kind: str
    model: str
    node_id: UUID | None
    attempts: int
    owner: str
    bulk: bool
    texts: Sequence[MissingText] | None = None


@dataclass(frozen=True, slots=True)
class LaneClaim:
    """A claim of up to `limit` due jobs of a lane; none while the breaker of the model whose
    `status` it is has opened.

    `classes`, `after_tenants` and `after_owners` are as in `claim`.
    """

    of: LaneTenants
    status: str
    limit: int
    classes: Sequence[bool]
    after_tenants: Sequence[str]
    after_owners: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PendingCounts:
    """Counts of jobs that are pending and of jobs that were given up, and the seconds that the
    oldest has waited.
    """

    pending: int
    parked: int
    oldest: float | None


def enqueue_embedding(
    connection: Connection,
    nodes: Sequence[UUID],
    *,
    model: str,
    bulk: Collection[UUID] | bool = False,
) -> None:
    """Queue one embed job for each node that has none yet.

    The job is for the model that the tenant has now; `model` counts only where there is none yet.
    `bulk` are the nodes that nobody waits for: a part of an import, or a long text.
    """
    if nodes:
        flags = [bulk if isinstance(bulk, bool) else node in bulk for node in nodes]
        values = {"nodes": list(nodes), "bulk": flags, "model": model}
        connection.queue(load("db/jobs")["enqueue_embedding"], values)


def enqueue(
    connection: Connection, nodes: Sequence[UUID], *, kind: str, model: str = "", bulk: bool = False
) -> None:
    """Queue one job of another kind for each node; a job that has been claimed or given up is done
    again.
    """
    if nodes:
        values = {"nodes": sorted(set(nodes)), "kind": kind, "model": model, "bulk": bulk}
        connection.queue(load("db/jobs")["enqueue"], values)


def enqueue_supersede(connection: Connection, nodes: Sequence[UUID]) -> None:
    """Queue a comparison of nodes with what was said before; those that only an assistant, a tool
    or a system has said are compared with nothing.
    """
    connection.queue(load("db/jobs")["enqueue_supersede"], {"nodes": sorted(set(nodes))})


def enqueue_count(connection: Connection) -> None:
    """Queue a job that counts the tenant's words again."""
    connection.queue(load("db/jobs")["enqueue_count"])


class Growth:
    """When a tenant has grown so much that its words are worth counting again: the nodes that this
    process has added to each.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._added: dict[str, tuple[int, int]] = {}

    def grew(self, tenant: str, new: int) -> bool:
        """Note new nodes, and say whether it is time to count: after 500 more, or a fifth more than
        were added before.
        """
        with self._lock:
            total, since = self._added.get(tenant, (0, 0))
            total, since = total + new, since + new
            due = since >= max(FIRST_COUNT, total // 5)
            self._added[tenant] = (total, 0 if due else since)
            return due


def enqueue_due_counts(connection: Connection) -> int:
    """Queue a count for each tenant with far more passages than at its last count, and return for
    how many tenants.

    Reads about 200,000 rows at most; where there are more, the tenants are chosen at random.
    """
    row = connection.execute(load("db/jobs")["enqueue_due_counts"]).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["queued"])


def move_to_active_model(connection: Connection, jobs: Sequence[ClaimedJob]) -> int:
    """Give jobs of a model that the tenant no longer has to its present model, and
    return how many.
    """
    row = connection.execute(
        load("db/jobs")["move_to_active_model"], {"ids": _ids(jobs)}
    ).fetchone()
    assert row is not None  # an aggregate has one row
    return int(row["moved"])


def backlog(connection: Connection, *, most: int = MOST_COUNTED) -> list[PendingJobs]:
    """The jobs of all tenants by their lane and class, of each at most so many; the connection has
    a worker's role.
    """
    return [
        PendingJobs(**row) for row in connection.execute(load("db/jobs")["backlog"], {"most": most})
    ]


def claim(
    connection: Connection,
    lane: Lane,
    *,
    limit: int,
    lease: float,
    classes: Sequence[bool] = (False, True),
    after_tenants: Sequence[str] = ("", ""),
    after_owners: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
    besides: Sequence[str] = (),
) -> list[ClaimedJob]:
    """Claim up to `limit` due jobs of a lane, for `lease` seconds, in turns of the tenants and of
    their owners.

    The jobs are `only` these tenants', or those of all tenants `besides` these.

    `classes` are False for what somebody may wait for and True for bulk work, in the order in which
    they are claimed. `after_tenants` says for each class which tenant had the last turn,
    `after_owners` which owner of a tenant.
    """
    values = {
        "kind": lane[0],
        "model": lane[1],
        "limit": limit,
        "lease": lease,
        "classes": list(classes),
        "after_tenants": list(after_tenants),
        "after_owners": Jsonb(dict(after_owners or {})),
        "only": None if only is None else list(only),
        "besides": list(besides),
    }
    return [ClaimedJob(**row) for row in connection.execute(load("db/jobs")["claim"], values)]


def queue_claims(
    connection: Connection, claims: Sequence[LaneClaim], *, lease: float, failures: int
) -> Callable[[], dict[int, list[ClaimedJob]]]:
    """Have several lanes' jobs claimed with what is sent next, and return them by the place of
    their claim. So many failures open a breaker.
    """
    lanes = [
        {
            "kind": each.of.lane[0],
            "model": each.of.lane[1],
            "status": each.status,
            "most": each.limit,
            "classes": list(each.classes),
            "after_tenants": list(each.after_tenants),
            "after_owners": dict(each.after_owners),
            "only_tenants": None if each.of.only is None else list(each.of.only),
            "besides": list(each.of.besides),
        }
        for each in claims
    ]
    values = {"lanes": Jsonb(lanes), "lease": lease, "failures": failures}
    queued = connection.queue(load("db/jobs")["claim_lanes"], values)

    def claimed() -> dict[int, list[ClaimedJob]]:
        """The jobs, once they were claimed."""
        by_claim: dict[int, list[ClaimedJob]] = {}
        for row in queued.rows:
            by_claim.setdefault(row.pop("lane") - 1, []).append(ClaimedJob(**row))
        return by_claim

    return claimed


def queue_claim_of_fresh(
    connection: Connection,
    lane: Lane,
    nodes: Sequence[UUID],
    *,
    tenant: str,
    status: str,
    limit: int,
    lease: float,
    failures: int,
) -> Callable[[], list[ClaimedJob]]:
    """Have the embed jobs of a tenant's nodes claimed with what is sent next, as far as nobody has
    them, and return them with their texts, at most `limit` of these.

    There are none where the model whose `status` it is had so many failures.
    """
    values = {
        "kind": lane[0],
        "model": lane[1],
        "tenants": [tenant] * len(nodes),
        "nodes": list(nodes),
        "limit": len(nodes),
        "lease": lease,
        "status": status,
        "failures": failures,
    }
    queued = connection.queue(load("db/jobs")["claim_unless_open"], values)
    texts = queue_missing_texts(connection, nodes, model=lane[1], limit=limit)

    def claimed() -> list[ClaimedJob]:
        """The jobs, once they were claimed."""
        missing = texts()
        return [
            ClaimedJob(**row, texts=[text for text in missing if text.node_id == row["node_id"]])
            for row in queued.rows
        ]

    return claimed


def claim_nodes(
    connection: Connection,
    lane: Lane,
    nodes: Sequence[tuple[str, UUID]],
    *,
    limit: int,
    lease: float,
) -> list[ClaimedJob]:
    """Claim the jobs of nodes, each given with its tenant, as far as no other worker has them."""
    values = {
        "kind": lane[0],
        "model": lane[1],
        "tenants": [tenant for tenant, _ in nodes],
        "nodes": [node for _, node in nodes],
        "limit": limit,
        "lease": lease,
    }
    return [ClaimedJob(**row) for row in connection.execute(load("db/jobs")["claim_nodes"], values)]


def renew(connection: Connection, jobs: Sequence[ClaimedJob], *, lease: float) -> None:
    """Extend the claim on jobs to `lease` seconds from now."""
    connection.queue(load("db/jobs")["renew"], {"ids": _ids(jobs), "lease": lease})


def release(connection: Connection, jobs: Sequence[ClaimedJob]) -> None:
    """Give up the claim on jobs that were not begun."""
    connection.queue(load("db/jobs")["release"], {"ids": _ids(jobs)})


def make_due(connection: Connection, of: LaneTenants) -> int:
    """Make jobs due that were postponed because their client was unavailable, and
    return how many.
    """
    values = {
        "model": of.lane[1],
        "only": None if of.only is None else list(of.only),
        "besides": list(of.besides),
    }
    return connection.execute(load("db/jobs")["make_due"], values).rowcount


def with_due(
    connection: Connection, lane_tenants: Sequence[LaneTenants]
) -> set[tuple[Lane, str | None]]:
    """Return the lanes with due jobs: lanes of some tenants only with each of those that have some,
    the others with None.

    `besides` is left out: what a lane has may be the jobs of tenants that it does not serve.
    """
    rows = connection.execute(load("db/jobs")["with_due"], _tenants(lane_tenants))
    return {((row["kind"], row["model"]), row["tenant"]) for row in rows}


def next_due(connection: Connection, lane_tenants: Sequence[LaneTenants]) -> float | None:
    """Seconds until a job of these tenants in these lanes is due; None when none is pending."""
    return queue_next_due(connection, lane_tenants)()


def queue_next_due(
    connection: Connection, lane_tenants: Sequence[LaneTenants]
) -> Callable[[], float | None]:
    """`next_due`, read with what is sent next."""
    besides = [(*each.lane, tenant) for each in lane_tenants for tenant in each.besides]
    values = _tenants(lane_tenants) | {
        f"besides_{name}": [row[place] for row in besides]
        for place, name in enumerate(("kinds", "models", "tenants"))
    }
    queued = connection.queue(load("db/jobs")["next_due"], values)
    return lambda: queued.rows[0]["seconds"]


def missing_texts(
    read: Reader, nodes: Sequence[UUID], *, model: str, limit: int
) -> list[MissingText]:
    """Up to `limit` passages of nodes that have no vector of a model yet: the first of each node,
    then the second of each.
    """
    values = {"nodes": list(nodes), "model": model, "limit": limit}
    return [MissingText(**row) for row in read(load("db/jobs")["missing_texts"], values)]


def queue_missing_texts(
    connection: Connection, nodes: Sequence[UUID], *, model: str, limit: int
) -> Callable[[], list[MissingText]]:
    """`missing_texts`, read with what is sent next."""
    values = {"nodes": list(nodes), "model": model, "limit": limit}
    queued = connection.queue(load("db/jobs")["missing_texts"], values)
    return lambda: [MissingText(**row) for row in queued.rows]


def nodes_left(missing: Sequence[MissingText], made: Collection[UUID]) -> set[UUID]:
    """The nodes that still miss vectors when those of the passages `made` are there."""
    count = Counter(text.node_id for text in missing if text.id in made)
    return {text.node_id for text in missing if count[text.node_id] < text.missing}


def finish_embedding(connection: Connection, nodes: Sequence[UUID], *, model: str) -> None:
    """Delete the embed jobs of nodes whose passages all have a vector by now, whoever has claimed
    them.
    """
    connection.queue(load("db/jobs")["finish_embedding"], {"nodes": list(nodes), "model": model})


def finish(connection: Connection, jobs: Sequence[ClaimedJob]) -> set[UUID]:
    """Delete finished jobs and return those that still existed; another worker may have finished
    some.
    """
    return queue_finish(connection, jobs)()


def queue_finish(connection: Connection, jobs: Sequence[ClaimedJob]) -> Callable[[], set[UUID]]:
    """`finish`, done with what is sent next."""
    queued = connection.queue(load("db/jobs")["finish"], {"ids": _ids(jobs)})
    return lambda: {row["id"] for row in queued.rows}


def postpone(
    connection: Connection, jobs: Sequence[ClaimedJob], *, error: str, seconds: float, tried: bool
) -> None:
    """Postpone jobs by about `seconds` and store the error; with `tried` it counts as
    an attempt.
    """
    values = {"ids": _ids(jobs), "error": error, "seconds": seconds, "tried": int(tried)}
    connection.queue(load("db/jobs")["postpone"], values)


def park(connection: Connection, jobs: Sequence[ClaimedJob], *, error: str) -> None:
    """Give up on jobs until `retry`, and store the error."""
    connection.queue(load("db/jobs")["park"], {"ids": _ids(jobs), "error": error})


def retry(
    connection: Connection, *, owners: Sequence[str], ids: Sequence[UUID] | None, kind: str | None
) -> int:
    """Make parked jobs due again with no attempts counted, and return how many."""
    values = {"owners": list(owners), "ids": None if ids is None else list(ids), "kind": kind}
    return connection.execute(load("db/jobs")["retry_parked"], values).rowcount


def list_jobs(
    connection: Connection,
    *,
    owners: Sequence[str],
    kind: str | None,
    parked: bool | None,
    limit: int,
    node: UUID | None = None,
) -> list[Job]:
    """The jobs for these owners' memories, or for one of them: parked ones first, then
    the oldest.
    """
    values = {"owners": list(owners), "kind": kind, "parked": parked, "limit": limit, "node": node}
    rows = connection.execute(load("db/jobs")["list"], values)
    return [
        Job(
            **(
                row
                | {
                    "id": str(row["id"]),
                    "node_id": None if row["node_id"] is None else str(row["node_id"]),
                }
            )
        )
        for row in rows
    ]


def count_pending(connection: Connection, *, owners: Sequence[str]) -> PendingCounts:
    """Counts of the jobs for these owners' memories."""
    row = connection.execute(load("db/jobs")["count_pending"], {"owners": list(owners)}).fetchone()
    assert row is not None  # an aggregate has one row
    return PendingCounts(row["pending"], row["parked"], row["oldest"])


def make_all_due(connection: Connection) -> None:
    """Make the tenant's waiting jobs due now."""
    connection.execute(load("db/jobs")["make_all_due"])


def are_waiting(connection: Connection, lanes: Sequence[Lane]) -> tuple[bool, bool]:
    """Return whether the tenant has jobs that a flush must wait for, and whether it has any.

    A flush waits for jobs without an error that are in these lanes or claimed by any worker.
    """
    row = connection.execute(load("db/jobs")["are_waiting"], _columns(lanes)).fetchone()
    assert row is not None  # a select without from has one row
    return row["untried"], row["there"]


def waiting_lanes(connection: Connection) -> dict[Lane, int]:
    """Count the tenant's waiting jobs by lane."""
    return {
        (row["kind"], row["model"]): row["jobs"]
        for row in connection.execute(load("db/jobs")["waiting_lanes"])
    }


def _tenants(lane_tenants: Sequence[LaneTenants]) -> dict[str, list[str | None]]:
    """A row for each tenant of each lane; of all tenants one row without a tenant."""
    rows = [
        (*each.lane, name)
        for each in lane_tenants
        for name in (each.only if each.only is not None else [None])
    ]
    return {
        name: [row[place] for row in rows]
        for place, name in enumerate(("kinds", "models", "tenants"))
    }


def _ids(jobs: Sequence[ClaimedJob]) -> list[UUID]:
    return [job.id for job in jobs]


def _columns(lanes: Sequence[Lane]) -> dict[str, list[str]]:
    return {"kinds": [kind for kind, _ in lanes], "models": [model for _, model in lanes]}
