"""Reads that rank nothing: by id or key, page by page, along the timeline, by who said it, and
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from ..base import validation
from ..base.errors import DatabaseUnavailable, NotFound
from ..base.filters.filters import compile_where
from ..base.identity import ANONYMOUS, looks_like_id
from ..base.types import (
    Mention,
    Node,
    Robot,
    SpanCounts,
    Stats,
    TenantSize,
    TenantSizes,
    TimeframeLike,
    UserSizes,
)
from ..db import jobs, tenants
from ..db.connection import Reader
from ..db.database import Connection, Row
from ..text.tags import normalize_all
from ..working import store as working_store
from ..writing import keys, mentions, nodes
from .engine import Engine
from .local_times import local_mentions

Cursor = str | Mention | None

LOOK_UPS = 5  # of a key that others revise all the time


def find(engine: Engine, read: Reader, id_or_key: str) -> UUID | None:
    """The id of the node that is meant; None for an unknown key."""
    name = validation.normal_name(id_or_key, what="id or key")
    return UUID(name) if looks_like_id(name) else keys.find(read, name, owners=engine.owners)


def get(engine: Engine, id_or_key: str, *, as_of: datetime | None = None) -> Node:
    """The node of an id or a key, now or as it was known at a time; raises `NotFound`."""
    if as_of is not None:
        by_id = _get_as_of(engine, id_or_key, as_of=validation.check_time(as_of, what="as_of"))
    else:
        by_id = _get_now(engine, id_or_key)
    if not by_id:
        raise NotFound(
            f"expected a node id or a key of this owner, got {id_or_key!r}",
            advice="memories",
        )
    return next(iter(by_id.values()))


def _get_now(engine: Engine, id_or_key: str) -> dict[UUID, Node]:
    """The node that is meant now. A key that was revised between its look-up and that of its node
    is looked up again.
    """

    for _ in range(LOOK_UPS):
        node = find(engine, engine.read, id_or_key)
        by_id = nodes.read(engine.read, [node], owners=engine.owners) if node else {}
        if (
            node is None
            or looks_like_id(id_or_key)
            or any(each.version is not None for each in by_id.values())
        ):
            break
    return by_id


def _get_as_of(engine: Engine, id_or_key: str, *, as_of: datetime) -> dict[UUID, Node]:
    name = validation.normal_name(id_or_key, what="id or key")

    def work(connection: Connection) -> dict[UUID, Node]:
        """Read it in one transaction."""
        if looks_like_id(name):
            return nodes.read(connection.fetch, [UUID(name)], owners=engine.owners, as_of=as_of)
        value = keys.find_as_of(connection, name, owners=engine.owners, as_of=as_of)
        if value is None:
            return {}
        by_id = nodes.read(connection.fetch, [value[0]], owners=engine.owners, as_of=as_of)
        return {id: replace(node, keys=(name,), version=value[1]) for id, node in by_id.items()}

    return engine.reading(work, now=as_of)


def history(engine: Engine, key: str) -> list[Node]:
    """Every value of a key, oldest first."""
    name = validation.check_key(key)

    def work(connection: Connection) -> list[Node]:
        """Read it in one transaction."""
        versions = keys.history(connection, name, owners=engine.owners)
        by_id = nodes.read(connection.fetch, [node for node, _ in versions], owners=engine.owners)
        return [
            replace(by_id[node], version=version) for node, version in versions if node in by_id
        ]

    return engine.reading(work)


def robots(engine: Engine) -> list[Robot]:
    """Every robot of the tenant, with counts of what this owner sees."""
    return engine.reading(lambda connection: tenants.robots(connection, owners=engine.owners))


def users(engine: Engine, *, first: int = 0, limit: int = 100) -> UserSizes:
    """Return what users of the tenant have, those with the most messages first, from place `first`
    on. It counts all messages.
    """
    return engine.reading(
        lambda connection: tenants.users(connection, first=first, limit=limit), everybody=True
    )


def named_users(engine: Engine, *, limit: int) -> list[str]:
    """The names of some users of the tenant who have memories. Raises `StorageError` where this
    login may not see them.
    """
    return engine.reading(
        lambda connection: mentions.named_users(connection, limit=limit), everybody=True
    )


def tenant_sizes(engine: Engine, *, after: str | None = None, limit: int = 100) -> TenantSizes:
    """Count what the tenants of the whole installation have, in all cells, in the order of their
    names, those after one.

    It asks as a worker, so only somebody who operates the installation may be shown it. Raises
    `StorageError` where this login has not the workers' role, and `DatabaseUnavailable` where home
    does not answer.
    """
    sizes: list[TenantSize] = []
    unasked: list[str] = []
    cells, total = engine.database.cells(), 0
    for cell in cells:
        try:
            with cell.transaction("", role="htm_worker") as connection:
                here = tenants.sizes(connection, after=after, limit=limit)
        except DatabaseUnavailable:
            if cell is engine.database:
                raise
            unasked.append(cell.cell)
            continue
        sizes += [replace(each, cell=cell.cell) for each in here.shown]
        total += here.tenants
    if len(cells) == 1:
        return here
    # While a tenant moves, a part of it is in another cell, too.
    largest = {
        each.tenant: each for each in sorted(sizes, key=lambda size: size.nodes + size.mentions)
    }
    with engine.database.transaction("", role="htm_worker") as connection:
        names = tenants.in_order(connection, list(largest))
    return TenantSizes(
        [largest[name] for name in names[:limit]],
        total - (len(sizes) - len(largest)),
        tuple(unasked),
    )


def growth(engine: Engine, *, unit: str, limit: int) -> list[SpanCounts]:
    """Count what was said in the latest days, weeks or months of this owner, by its time zone,
    oldest first.
    """
    zone = getattr(engine.timezone, "key", None) or "UTC"
    return engine.reading(
        lambda connection: tenants.growth(
            connection, owners=engine.owners, unit=unit, zone=zone, limit=limit
        )
    )


def page(
    engine: Engine,
    *,
    tags: Sequence[str] | None,
    where: Mapping[str, Any] | None,
    limit: int,
    after: str | None,
) -> list[Node]:
    """One page of nodes, newest first; raises `NotFound` when the node that it follows
    was erased.
    """
    compiled = compile_where(where)
    cursor = None if after is None else validation.check_id(after, what="after")

    def work(connection: Connection) -> list[Node]:
        """Read it in one transaction."""
        if cursor is not None and not nodes.exists(connection, cursor, owners=engine.owners):
            raise _gone("after", cursor)
        ids = nodes.list_ids(
            connection,
            owners=engine.owners,
            tags=None if tags is None else normalize_all(tags) or None,
            equal=compiled.equalities,
            metadata=compiled.beyond_equalities,
            limit=validation.check_limit(limit),
            after=cursor,
        )
        by_id = nodes.read(connection.fetch, ids, owners=engine.owners)
        return [by_id[id] for id in ids if id in by_id]

    return engine.reading(work)


def timeline(
    engine: Engine,
    *,
    session: str | None,
    robot: str | None,
    timeframe: TimeframeLike,
    limit: int,
    before: Cursor,
    after: Cursor,
    forgotten: bool,
    as_of: datetime | None = None,
) -> list[Mention]:
    """Mentions, oldest first: the latest, or those before or after one; raises `NotFound` when that
    one was erased.
    """
    windows = engine.time_windows(timeframe)
    owners = engine.owners if session is None else engine.owners_of(session)
    owner_prefix = None if engine.owner else ANONYMOUS
    cursors = {"before": _cursor(before, what="before"), "after": _cursor(after, what="after")}
    ids = {what: id for what, id in cursors.items() if id is not None}
    if as_of is not None:
        validation.check_time(as_of, what="as_of")

    def work(read: Reader) -> list[Mention]:
        """Read it, the mentions that it goes on from in a statement of their own."""
        if ids:
            known = mentions.existing(
                read, list(ids.values()), owners=owners, owner_prefix=owner_prefix
            )
            for what, id in ids.items():
                if id not in known:
                    raise _gone(what, id)
        return mentions.timeline(
            read,
            owners=owners,
            owner_prefix=owner_prefix,
            session=None if session is None else validation.normal_name(session, what="session"),
            robot=None if robot is None else validation.normal_name(robot, what="robot"),
            windows=windows,
            limit=validation.check_limit(limit),
            before=cursors["before"],
            after=cursors["after"],
            forgotten=forgotten,
            as_of=as_of,
        )

    if not ids and as_of is None:
        return local_mentions(work(engine.read), engine.timezone)
    known = engine.reading(lambda connection: work(connection.fetch), now=as_of)
    return local_mentions(known, engine.timezone)


def sessions(engine: Engine) -> list[str]:
    """The sessions of this owner that have a log; without a user also those of anonymous users."""
    others = None if engine.owner else ANONYMOUS + "%"
    return engine.reading(
        lambda connection: mentions.logged_sessions(
            connection, owner=engine.owner, owner_pattern=others
        )
    )


def latest_sessions(engine: Engine, *, limit: int) -> list[tuple[str, datetime]]:
    """The sessions in which something was said last, and when; the latest first, without those of
    files.
    """
    return engine.reading(
        lambda connection: mentions.latest_sessions(connection, owners=engine.owners, limit=limit)
    )


def session_titles(
    engine: Engine, sessions: Sequence[str]
) -> dict[str, tuple[str | None, str | None]]:
    """Of each session its stored title and what a user said first in it; None where
    there is none.
    """
    return engine.reading(
        lambda connection: mentions.session_titles(connection, sessions, owners=engine.owners)
    )


def who_said(engine: Engine, text: str) -> list[Mention]:
    """Every mention of nodes that contain a text, newest first."""
    wanted = " ".join(validation.check_query(text, what="text").split())

    def work(connection: Connection) -> list[Mention]:
        """Read it in one transaction."""
        ids = nodes.containing(connection, wanted, owners=engine.owners)
        return mentions.of_nodes(connection, ids, owners=engine.owners)

    return engine.reading(work)


def mentions_of_node(engine: Engine, node_id: str) -> list[Mention]:
    """Every mention of a node, newest first."""
    return engine.reading(
        lambda connection: mentions.of_nodes(connection, [UUID(node_id)], owners=engine.owners)
    )


def stats(engine: Engine, *, breakers: Mapping[str, str]) -> Stats:
    """Counts of what an owner sees, of working memory and of pending jobs; `breakers` are those of
    this process's models.
    """
    working = engine.working_memory()
    with engine.transaction() as connection:
        row = tenants.statistics(connection, owners=engine.owners)
        pending = jobs.count_pending(connection, owners=engine.owners)
    return Stats(
        robot=engine.robot,
        tenant=engine.tenant,
        user=engine.user,
        nodes=row["nodes"],
        mentions=row["mentions"],
        sessions=row["sessions"],
        robots=row["robots"],
        tags=row["tags"],
        forgotten=row["forgotten"],
        passages=row["passages"],
        vectors=row["vectors"],
        pending_jobs=pending.pending,
        parked_jobs=pending.parked,
        oldest_job_seconds=pending.oldest,
        working_items=len(working),
        working_tokens=working.tokens,
        budget=working.budget,
        oldest=row["oldest"],
        newest=row["newest"],
        embedder=engine.embedder.name,
        server=row["server"],
        breakers=breakers,
    )


def _cursor(cursor: Cursor, *, what: str) -> UUID | None:
    if cursor is None:
        return None
    return validation.check_id(cursor.id if isinstance(cursor, Mention) else cursor, what=what)


def _gone(what: str, id: UUID) -> NotFound:
    return NotFound(
        f"expected {what} to be the id of something that is there, got {id}; it was erased: start "
        "again without it"
    )


def map_stamp(engine: Engine, *, tags: Sequence[str] | None, limit: int) -> nodes.MapStamp:
    """Return the stamp of the newest nodes, perhaps with some tags, that a map shows."""
    wanted = None if tags is None else normalize_all(tags) or None
    return engine.reading(
        lambda connection: nodes.map_stamp(
            connection, owners=engine.owners, tags=wanted, limit=limit
        )
    )


def map_points(engine: Engine, ids: Sequence[UUID], *, characters: int) -> list[Row]:
    """The nodes of a map, oldest first, with how their contents begin and their vectors."""
    return engine.reading(
        lambda connection: nodes.map_points(connection, ids, characters=characters)
    )


def working_history(
    engine: Engine, turns: Mapping[str, tuple[int, int]], *, first: int, limit: int
) -> list[working_store.NotedChange]:
    """Return what working memory recalled and evicted in sessions of this owner, each from one turn
    to another.
    """
    return engine.reading(
        lambda connection: working_store.history(
            connection, owner=engine.owner, turns=turns, first=first, limit=limit
        )
    )
