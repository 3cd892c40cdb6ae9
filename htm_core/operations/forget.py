"""Forget, restore, purge and erase."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from ..engine.engine import Engine
from ..errors import InvalidInput, NotFound
from ..rules import validation
from ..store import forgetting, nodes, tidying
from ..store.errors import attempts
from ..types import Node, Receipt
from .read import find, get

CONFIRMED = "confirmed"


def forget(engine: Engine, id_or_key: str, *, robot: str | None) -> None:
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
    if not hidden or node is None:
        raise NotFound(
            f"expected a memory of this owner to forget, got {id_or_key!r}; Memory.list() shows what there is"
        )
    if gone:
        engine.drop(sorted(gone))
    engine.emit("forget", mentions=hidden)


def restore(engine: Engine, id_or_key: str) -> Node:
    """Bring back what was forgotten; raises `NotFound`."""
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            node = find(engine, connection, id_or_key)
            if node is None:
                node = forgetting.node_of_key(connection, id_or_key, owner=engine.owner)
            group = [] if node is None else tidying.group_of(connection, node)
            shown = sum(forgetting.restore(connection, each, owner=engine.owner) for each in group)
    if not shown:
        raise NotFound(f"expected something forgotten and not purged, got {id_or_key!r}; see timeline(forgotten=True)")
    engine.emit("restore", mentions=shown)
    return get(engine, str(node))


def purge(engine: Engine, older_than: datetime | timedelta, *, confirm: str) -> int:
    """Erase for good what was forgotten longer ago, and say how many nodes went."""
    _confirm(confirm)
    at = engine.clock() - older_than if isinstance(older_than, timedelta) else older_than
    before = validation.check_time(at, what="older_than")
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            gone = forgetting.purge(connection, owner=engine.owner, before=before)
    engine.emit("purge", nodes=gone)
    return gone


def erase(engine: Engine, *, user: str | None, session: str | None, key: str | None, confirm: str) -> Receipt:
    """Erase everything of a user, a session or a key, with a count of what went."""
    _confirm(confirm)
    named = [name for name in (user, session, key) if name is not None]
    if len(named) != 1:
        raise InvalidInput(f"expected exactly one of user, session and key, got {len(named)}; nothing was erased")
    validation.check_name(named[0], what="user, session or key")
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
                counts = forgetting.erase_key(connection, owner=engine.owner, key=named[0])
    if session is not None:
        for owner in engine.owners_of(session):
            engine.empty(owner=owner, session=session)
    elif user is not None:
        engine.empty(owner=user, session=None)
    engine.catch_up_everywhere()
    engine.emit("erase", rows=sum(counts.values()))
    return Receipt(counts=counts)


def _confirm(confirm: str) -> None:
    if confirm != CONFIRMED:
        raise InvalidInput(
            f'expected confirm="{CONFIRMED}" for what cannot be undone, got {confirm!r}; nothing was erased'
        )
