"""Jobs that wait, events, and counts of what there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .options import JobKind, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A pending job, the node it is for, and the model that does it.

    `kind` is "embed", "tag", "propose", "relate", "supersede" (compare with what was said before),
    "judge" or "count". `state` is "waiting", "claimed" (a worker is doing it) or "parked" (given up
    after `attempts` tries). `error` is the last error.
    """

    id: str
    kind: JobKind
    model: str
    node_id: str | None
    state: JobState
    attempts: int
    run_at: datetime
    created_at: datetime
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened: `name` such as "remember" or "evict"; `data` holds numbers, never
    content.
    """

    name: str
    at: datetime
    data: Mapping[str, float | int | str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """A robot of the tenant, with counts of what it has said and holds, as far as this owner sees
    it.

    `active_at` is exact to about a minute. What a group holds is not counted for a single robot.
    """

    name: str
    created_at: datetime
    active_at: datetime
    mentions: int = 0
    nodes: int = 0
    sessions: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    working_items: int = 0
    working_tokens: int = 0
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSize:
    """Size of one user of a tenant; `user` is None for what everyone shares.

    `nodes` and `mentions` are counted without what was forgotten, `bytes` are those of the stored
    rows without their indexes.
    """

    user: str | None
    nodes: int
    mentions: int
    sessions: int
    tokens: int
    pending_jobs: int
    bytes: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class UserSizes:
    """Some users of a tenant, those with the most messages first, and how much all
    have together.
    """

    shown: list[UserSize]
    users: int
    nodes: int
    mentions: int
    pending_jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSize:
    """Size of one tenant. `bytes` are its share of the tables and their indexes by its rows;
    `pending` and `parked` are jobs.

    With `estimated` there is more than is counted exactly: then nodes and mentions are about what
    PostgreSQL's statistics say, and users and jobs at least so many. `cell` is where it is; None
    where there is one cell only.
    """

    tenant: str
    users: int
    nodes: int
    mentions: int
    pending: int
    parked: int
    bytes: int
    estimated: bool
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class TenantSizes:
    """Some tenants in the order of their names, and how many there are; `unasked` are cells that
    did not answer.
    """

    shown: list[TenantSize]
    tenants: int
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanCounts:
    """Counts of what was said in the span of time that `begins` then, and of the new memories that
    it made.
    """

    begins: datetime
    mentions: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts for this memory's owner, its working memory, and the jobs that are pending or parked.

    `forgotten` are mentions that are not purged yet. Where `vectors` is less than `passages`, some
    wait for theirs. `breakers` are those of the models of this process's worker: "closed", "open"
    (the model is down) or "half-open" (being tried).
    """

    robot: str
    tenant: str
    user: str | None
    nodes: int
    mentions: int
    sessions: int
    robots: int
    tags: int
    forgotten: int
    passages: int
    vectors: int
    pending_jobs: int
    parked_jobs: int
    oldest_job_seconds: float | None
    working_items: int
    working_tokens: int
    budget: int
    oldest: datetime | None
    newest: datetime | None
    embedder: str | None
    server: str
    breakers: Mapping[str, str] = field(default_factory=dict)
