"""Forget, restore, purge and erase."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from ..base import time_limit, validation
from ..base.errors import InvalidInput, NotFound
from ..base.types import Node, Receipt
from ..change import store as tidying
from ..db import tokens
from ..db.database import Connection
from ..db.errors import attempts
from ..db.owner_claims import EVERYBODY
from ..engine.engine import Engine, new_id
from ..engine.read import find, get
from ..working import store
from ..writing import forgetting
from . import store_audit, tenant_erasure
from .tenant_erasure import Progress

CONFIRMED = "confirmed"
BEGUN = "erase_begun"  # the kind of the entry that says that a whole tenant is about to be erased
Note = Callable[[Connection], object]  # what is written last in the transaction of a change


def forget(engine: Engine, id_or_key: str, *, robot: str | None, note: Note | None = None) -> None:
    """Hide a node for its owner, or withdraw one robot's mentions, with the files that came with
    them; raises `NotFound`.
    """
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            node = find(engine, connection.fetch, id_or_key)
            # What says the same was shown as one memory, and goes as one.
            group = [] if node is None else tidying.group_of(connection, node)
            hidden, gone = forgetting.forget(
                connection,
                group,
                owner=engine.owner,
                by=engine.robot,
                robot=robot,
                at=engine.clock(),
            )
            if hidden and note is not None:
                note(connection)
    if not hidden or node is None:
        raise NotFound(
            f"expected a memory of this owner to forget, got {id_or_key!r}",
            advice="memories",
        )
    engine.forgot()
    engine.drop(gone)
    engine.emit("forget", mentions=hidden)


def restore(engine: Engine, id_or_key: str, *, note: Note | None = None) -> Node:
    """Bring back what was forgotten; raises `NotFound`."""
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            node = find(engine, connection.fetch, id_or_key)
            if node is None:
                node = forgetting.node_of_key(connection, id_or_key, owner=engine.owner)
            group = [] if node is None else tidying.group_of(connection, node)
            shown = forgetting.restore(connection, group, owner=engine.owner)
            if shown and note is not None:
                note(connection)
    if not shown:
        raise NotFound(
            f"expected something forgotten and not purged, got {id_or_key!r}", advice="forgotten"
        )
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
            _record(
                engine,
                connection,
                "purge",
                counts,
                forgotten_before=before.astimezone(UTC).isoformat(),
            )
    engine.forgot()
    engine.drop(hidden)
    engine.emit("purge", nodes=counts["nodes"])
    return counts["nodes"]


def sweep(engine: Engine) -> int:
    """Hide what has expired in the whole tenant, erase what expired longer ago than the grace, and
    say how many nodes went.
    """
    before = engine.clock() - engine.settings.expired_grace
    for attempt in attempts():
        with attempt, engine.transaction(everybody=True) as connection:
            hidden, gone = forgetting.sweep(connection, before=before)
            store.drop_history(connection, before=engine.clock() - engine.settings.working_history)
    engine.drop(hidden)
    engine.emit("sweep", hidden=len(hidden), nodes=gone)
    return gone


def erase(
    engine: Engine, *, user: str | None, session: str | None, key: str | None, confirm: str
) -> Receipt:
    """Erase everything of a user, a session or a key, with a receipt of what went."""
    _confirm(confirm)
    names = {"user": user, "session": session, "key": key}
    about = {
        what: validation.normal_name(name, what=what)
        for what, name in names.items()
        if name is not None
    }
    if len(about) != 1:
        raise InvalidInput(
            f"expected exactly one of user, session and key, got {len(about)}; nothing was erased"
        )
    user, session = about.get("user"), about.get("session")
    others = [user] if user is not None else [] if session is None else engine.owners_of(session)
    for attempt in attempts():
        with attempt, engine.transaction(also=others) as connection:
            if user is not None:
                counts = forgetting.erase_owner(connection, owner=user)
            elif session is not None:
                totals: Counter[str] = Counter()
                for owner in engine.owners_of(session):
                    totals.update(
                        forgetting.erase_session(connection, owner=owner, session=session)
                    )
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


def erase_tenant(engine: Engine, *, confirm: str, progress: Progress | None = None) -> Receipt:
    """Erase everything that the tenant has, of all its users, with a receipt of what went; goes on
    where it was interrupted.
    """
    tenant, about = engine.tenant, {"tenant": engine.tenant}
    if confirm != tenant:
        raise InvalidInput(
            f"expected confirm={tenant!r}, the name of the tenant that is erased with all its "
            f"users, got {confirm!r:.80}; "
            "nothing was erased"
        )
    receipts: list[Receipt] = []

    def record(connection: Connection, counts: Mapping[str, int]) -> None:
        """Write the receipt; when its transaction is tried again, the last one counts."""
        receipts.append(_record(engine, connection, "erase", dict(counts), about=about))

    engine.write_behind.write()  # what it would write later would be of nobody
    # Each answer has its limit, and the whole takes as long as it takes: one batch follows the
    # other.
    with time_limit.limited(time_limit.TimeLimit(engine.settings.verb_timeout, total=math.inf)):
        tenant_erasure.refuse_while_moving(engine.database, tenant)
        there = _begin(engine, about)
        counts = tenant_erasure.erase(
            engine.database, tenant, rows=there, record=record, progress=progress
        )
        _forget_tenant(engine)
        tenant_erasure.refuse_while_moving(engine.database, tenant)  # one that began meanwhile
    engine.emit("erase", rows=sum(counts.values()))
    return receipts[-1]


def _begin(engine: Engine, about: dict[str, str]) -> int:
    """Write into the audit that an erasure begins, unless it goes on, and return how many rows
    there are; raises `NotFound`.
    """
    for attempt in attempts():
        with (
            attempt,
            engine.database.transaction(engine.tenant, claim=EVERYBODY, patient=True) as connection,
        ):
            there = tenant_erasure.count_rows(connection)
            is_known = bool(there) or tenant_erasure.has_audit(connection)
            if there and not _is_under_way(connection, engine.tenant):
                _record(engine, connection, BEGUN, there, about=about)
    if not is_known and not tokens.listed(engine.database, engine.tenant, revoked=True):
        raise NotFound(
            f"expected the name of a tenant that has something, got {engine.tenant!r}, which "
            "never had; names are exact. "
            "Nothing was erased"
        )
    return sum(there.values())


def _is_under_way(connection: Connection, tenant: str) -> bool:
    """True if an erasure of the tenant has begun that has no receipt yet."""
    last = store_audit.entries(
        connection, owners=None, kind=None, about=("tenant", tenant), before=None, limit=1
    )
    return bool(last) and last[0]["kind"] == BEGUN


def _forget_tenant(engine: Engine) -> None:
    """Let this process know nothing of the tenant any more."""
    engine.unsettle()
    engine.empty(owner=None, session=None)


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
    written = store_audit.record(
        connection,
        id=new_id(),
        kind=kind,
        owner=engine.owner,
        robot=engine.robot,
        at=at,
        about=about,
        facts={"counts": counts, **facts},
    )
    return Receipt(counts=counts, id=written.id, digest=written.digest, at=at)


def _confirm(confirm: str) -> None:
    if confirm != CONFIRMED:
        raise InvalidInput(
            f'expected confirm="{CONFIRMED}" for what cannot be undone, got {confirm!r}; nothing '
            "was erased"
        )
