"""Forget, restore, purge and erase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ..engine.engine import Engine, new_id
from ..errors import InvalidInput, NotFound
from ..rules import validation
from ..store import audit, forgetting, nodes, tidying, working
from ..store.database import Connection
from ..store.errors import attempts
from ..types import Node, Receipt
from .read import find, get

CONFIRMED = "confirmed"
Note = Callable[[Connection], object]  # what is written last in the transaction of a change


def forget(engine: Engine, id_or_key: str, *, robot: str | None, note: Note | None = None) -> None:
    """Hide a node for its owner, or withdraw one robot's mentions; raises `NotFound`."""
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            node = find(engine, connection, id_or_key)
            # What says the same was shown as one memory, and goes as one.
            group = [] if node is None else tidying.group_of(connection, node)
            hidden = sum(
                forgetting.forget(connection, each, owner=engine.owner, by=engine.robot, robot=robot, at=engine.clock())
                for each in group
            )
            gone = set(group) - nodes.live(connection, group) if hidden else set()
            if hidden and note is not None:
                note(connection)
    if not hidden or node is None:
        raise NotFound(
            f"expected a memory of this owner to forget, got {id_or_key!r}",
            advice="memories",
        )
    if gone:
        engine.drop(sorted(gone))
    engine.emit("forget", mentions=hidden)


def restore(engine: Engine, id_or_key: str, *, note: Note | None = None) -> Node:
    """Bring back what was forgotten; raises `NotFound`."""
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            node = find(engine, connection, id_or_key)
            if node is None:
                node = forgetting.node_of_key(connection, id_or_key, owner=engine.owner)
            group = [] if node is None else tidying.group_of(connection, node)
            shown = sum(forgetting.restore(connection, each, owner=engine.owner) for each in group)
            if shown and note is not None:
                note(connection)
    if not shown:
        raise NotFound(f"expected something forgotten and not purged, got {id_or_key!r}", advice="forgotten")
    engine.emit("restore", mentions=shown)
    return get(engine, str(node))


def purge(engine: Engine, older_than: datetime | timedelta, *, confirm: str) -> int:
    """Erase for good what was forgotten longer ago, and say how many nodes went."""
    _confirm(confirm)
    at = engine.clock() - older_than if isinstance(older_than, timedelta) else older_than
    before = validation.check_time(at, what="older_than")
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            hidden = forgetting.hide_expired(connection, owner=engine.owner)
            counts = forgetting.purge(connection, owner=engine.owner, before=before)
            _record(engine, connection, "purge", counts, forgotten_before=before.astimezone(UTC).isoformat())
    engine.drop(hidden)
    engine.emit("purge", nodes=counts["nodes"])
    return counts["nodes"]


def sweep(engine: Engine) -> int:
    """Hide what has expired in the whole tenant, erase what expired longer ago than the grace, and say how many nodes went."""
    before = engine.clock() - engine.settings.expired_grace
    for attempt in attempts():
        with attempt, engine.transaction(everybody=True) as connection:
            hidden, gone = forgetting.sweep(connection, before=before)
            working.drop_history(connection, before=engine.clock() - engine.settings.working_history)
    engine.drop(hidden)
    engine.emit("sweep", hidden=len(hidden), nodes=gone)
    return gone


def erase(engine: Engine, *, user: str | None, session: str | None, key: str | None, confirm: str) -> Receipt:
    """Erase everything of a user, a session or a key, with a receipt of what went."""
    _confirm(confirm)
    given = {"user": user, "session": session, "key": key}
    about = {what: name for what, name in given.items() if name is not None}
    if len(about) != 1:
        raise InvalidInput(f"expected exactly one of user, session and key, got {len(about)}; nothing was erased")
    for name in about.values():
        validation.check_name(name, what="user, session or key")
    others = [user] if user is not None else [] if session is None else engine.owners_of(session)
    for attempt in attempts():
        with attempt, engine.transaction(also=others) as connection:
            if user is not None:
                counts = forgetting.erase_owner(connection, owner=user)
            elif session is not None:
                totals: Counter[str] = Counter()
                for owner in engine.owners_of(session):
                    totals.update(forgetting.erase_session(connection, owner=owner, session=session))
                counts = dict(totals)
            else:
                counts = forgetting.erase_key(connection, owner=engine.owner, key=about["key"])
            receipt = _record(engine, connection, "erase", counts, about=about)
    if session is not None:
        for owner in engine.owners_of(session):
            engine.empty(owner=owner, session=session)
    elif user is not None:
        engine.empty(owner=user, session=None)
    engine.catch_up_everywhere()
    engine.wake()
    engine.emit("erase", rows=sum(counts.values()))
    return receipt


def _record(
    engine: Engine,
    connection: Connection,
    kind: str,
    counts: dict[str, int],
    *,
    about: dict[str, str] | None = None,
    **facts: str,
) -> Receipt:
    """Write into the audit what an erasure deleted: the last thing that its transaction does."""
    at = engine.clock()
    written = audit.record(
        connection, id=new_id(), kind=kind, owner=engine.owner, robot=engine.robot, at=at, about=about,
        facts={"counts": counts, **facts},
    )  # fmt: skip
    return Receipt(counts=counts, id=written.id, digest=written.digest, at=at)


def _confirm(confirm: str) -> None:
    if confirm != CONFIRMED:
        raise InvalidInput(
            f'expected confirm="{CONFIRMED}" for what cannot be undone, got {confirm!r}; nothing was erased'
        )
