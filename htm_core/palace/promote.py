"""Promotion: the only way from a session's notes into the palace, with a reason, a summary and a
row of the audit.

A fact that an agent files without a note passes the same checks.

The drawer is read first. Then the embedder and the judge compare the summary with it, while no
transaction is open. Then the drawer is locked and read again: when it has changed, all of this is
repeated. So when two robots promote the same thing, one succeeds and the other sees it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ..base import time_limit
from ..base.errors import InvalidInput, ModelError, NotFound, StorageError
from ..base.identity import node_id
from ..base.places import Placed
from ..base.types import Draft, Source
from ..db.database import Connection
from ..db.errors import attempts
from ..db.records import WrittenEntry
from ..engine.engine import Engine, new_id
from ..writing import nodes, places, relations
from .audit import Against, Decision, Outcome, decision_of
from .context import PalaceContext
from .contradiction import Judge, by_rules
from .promotion import Compared, check_reason, check_summary, compare, cosine, nearest

MAX_TRIES = 16  # how often a drawer may change while a summary is compared with it
PAUSE = 0.05  # seconds, at most, before a drawer that changed is compared again; more each time
MAX_COMPARED = 2_000  # texts of a drawer, the newest
MAX_EMBEDDED = 64  # of those, the ones with most words in common
MAX_ELSEWHERE = 20  # texts of other drawers that may be contradicted, the nearest ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The summary was filed. `degraded` says what could not be compared, if anything."""

    placed: Placed
    decision_id: str
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The drawer says this already; nothing was filed. `of` is the text that says it."""

    of: Against
    decision_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionConflict:
    """The summary was filed, and it contradicts texts of the drawer: all are kept, joined by
    "contradicts" relations.

    `htm_core.palace.Conflict` is another name of this class.
    """

    placed: Placed
    contradicts: tuple[Against, ...]
    decision_id: str
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    note: UUID | None  # None: a fact that was submitted without one
    room: str
    drawer: str
    reason: str
    summary: str
    at: datetime
    source: Source | None = None  # who wrote the summary


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A summary compared with a drawer: what it repeats and contradicts, and the ids that were in
    the drawer then.
    """

    seen: frozenset[str]
    duplicate_of: Against | None
    contradicts: tuple[Against, ...]
    degraded: str | None


class _DrawerChanged(Exception):
    """The drawer is not as it was when the summary was compared with it."""


def promote(
    context: PalaceContext,
    note: UUID,
    *,
    room: str,
    drawer: str,
    reason: str,
    summary: str,
    source: Source | None = None,
) -> Promoted | Duplicate | PromotionConflict:
    """File a note's summary unless the drawer says this already; see `Palace.promote`."""
    request = _request(
        context, note, room=room, drawer=drawer, reason=reason, summary=summary, source=source
    )
    with context.engine.transaction() as connection:
        placed = places.by_mention(connection, note, owners=[context.note_owner], now=request.at)
    if placed is None or placed.kind != "note":
        raise NotFound(
            f"expected a note of this session that has not expired, got {note}", advice="notes"
        )
    return _judge_and_file(context, request)


def submit(
    context: PalaceContext,
    fact: str,
    *,
    room: str,
    drawer: str,
    reason: str,
    source: Source | None = None,
) -> Promoted | Duplicate | PromotionConflict:
    """File a fact by the checks of a promotion, without a note; see `Palace.submit`."""
    request = _request(
        context, None, room=room, drawer=drawer, reason=reason, summary=fact, source=source
    )
    return _judge_and_file(context, request)


def _request(
    context: PalaceContext,
    note: UUID | None,
    *,
    room: str,
    drawer: str,
    reason: str,
    summary: str,
    source: Source | None,
) -> _Request:
    room, drawer = context.checked_room(room, drawer)
    context.check_redacted(room, drawer)
    checked = check_summary(summary, what="fact" if note is None else "summary")
    why, text = context.redacted(check_reason(reason)), context.redacted(checked)
    at = context.now()
    return _Request(
        note=note, room=room, drawer=drawer, reason=why, summary=text, at=at, source=source
    )


def _judge_and_file(
    context: PalaceContext, request: _Request
) -> Promoted | Duplicate | PromotionConflict:
    engine = context.engine
    for attempt in range(MAX_TRIES):
        compared = _compare_with_drawer(context, request)
        try:
            if compared.duplicate_of is None:
                outcome: Promoted | Duplicate | PromotionConflict = _file(engine, request, compared)
            else:
                outcome = _record_duplicate(engine, request, compared, compared.duplicate_of)
        # others file there too: each waits for another time, so that it has its turn
        except _DrawerChanged:
            time.sleep(PAUSE * min(attempt + 1, 8) * random.random())
            continue
        engine.emit(
            "promote",
            duplicate=int(compared.duplicate_of is not None),
            conflicts=len(compared.contradicts),
        )
        return outcome
    raise StorageError(
        f"expected the drawer {request.room}/{request.drawer} to stay as it was while the summary "
        "was compared with it, but it "
        f"changed {MAX_TRIES} times; nothing was filed. Try again"
    )


def _drawer_texts(engine: Engine, connection: Connection, request: _Request) -> list[Placed]:
    return places.list_places(
        connection.fetch,
        owners=[engine.owner],
        kinds=("filed",),
        room=request.room,
        drawer=request.drawer,
        now=request.at,
        limit=MAX_COMPARED,
    )


def _compare_with_drawer(context: PalaceContext, request: _Request) -> _Comparison:
    engine, judge, summary = context.engine, context.judge or by_rules, request.summary
    with engine.transaction() as connection:
        there = _drawer_texts(engine, connection, request)
    cosines, degraded = _cosines(engine, summary, there)
    same_node = str(node_id(engine.owner, summary))
    duplicate_of, contradicts = None, []
    for placed, near in zip(there, cosines, strict=True):
        if placed.node_id == same_node:
            comparison = Compared("same", "the same words")
        else:
            comparison = compare(
                summary,
                placed.content,
                cosine=near,
                contradiction=_judged(judge, summary, placed.content),
            )
        against = Against(
            id=placed.id, node_id=placed.node_id, content=placed.content, why=comparison.why
        )
        if comparison.relation == "same":
            duplicate_of = duplicate_of or against
        elif comparison.relation == "contradicts":
            contradicts.append(against)
    if duplicate_of is None:
        elsewhere, incomplete = _contradicted_elsewhere(context, request, judge)
        contradicts += elsewhere
        degraded = degraded or incomplete
    return _Comparison(
        frozenset(each.id for each in there), duplicate_of, tuple(contradicts), degraded
    )


def _judged(judge: Judge, new: str, old: str) -> str | None:
    if judge is by_rules:
        return judge(new, old)
    try:
        return time_limit.ask(lambda: judge(new, old), client=("judge", id(judge)))
    except time_limit.OutOfTime as error:
        raise ModelError(
            "expected the judge to answer within Settings.verb_timeout, but it did not; nothing "
            "was filed. Check the model "
            "behind it, or raise verb_timeout"
        ) from error


def _contradicted_elsewhere(
    context: PalaceContext, request: _Request, judge: Judge
) -> tuple[list[Against], str | None]:
    """Return what the summary contradicts in other drawers, among the texts there that are nearest
    to it.
    """
    hits, degraded = context.recall(request.summary, kind="filed", limit=MAX_ELSEWHERE)
    here = (request.room, request.drawer)
    others = [
        each
        for each, _ in hits
        if (each.room, each.drawer) != here and each.content != request.summary
    ]
    judged = ((each, _judged(judge, request.summary, each.content)) for each in others)
    contradicts = [
        Against(
            id=each.id,
            node_id=each.node_id,
            content=each.content,
            why=f"{why} ({each.room}/{each.drawer})",
        )
        for each, why in judged
        if why
    ]
    return (
        contradicts,
        degraded and f"Contradictions in other drawers were looked for by words alone: {degraded}",
    )


def _cosines(
    engine: Engine, summary: str, there: Sequence[Placed]
) -> tuple[list[float | None], str | None]:
    """The cosine of the summary with each text, None where it was not embedded; and a sentence when
    the embedder failed.
    """
    if not there:
        return [], None
    chosen = nearest(summary, [each.content for each in there], limit=MAX_EMBEDDED)
    cosines: list[float | None] = [None] * len(there)
    try:
        mine, *theirs = engine.embedder.documents([summary, *(there[at].content for at in chosen)])
    except ModelError as error:
        return (
            cosines,
            f"Duplicates were looked for by words alone, since the embedder failed: {error}",
        )
    scale = engine.reading(lambda connection: nodes.cosine_scale(connection, engine.embedder.name))
    for at, other in zip(chosen, theirs, strict=True):
        cosines[at] = 1 - scale * (1 - cosine(mine, other))
    return cosines, None


def _lock_drawer(
    engine: Engine, connection: Connection, request: _Request, compared: _Comparison
) -> None:
    """Lock the drawer. Raises `_DrawerChanged` when it does not hold what the summary was compared
    with.
    """
    places.lock_drawer(connection, owner=engine.owner, room=request.room, drawer=request.drawer)
    if frozenset(each.id for each in _drawer_texts(engine, connection, request)) != compared.seen:
        raise _DrawerChanged


def _record_duplicate(
    engine: Engine, request: _Request, compared: _Comparison, duplicate_of: Against
) -> Duplicate:
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            _lock_drawer(engine, connection, request, compared)
            if request.note is not None:
                places.mark_promoted(connection, request.note, at=request.at)
            decision = _record(
                engine,
                connection,
                request,
                outcome="duplicate",
                mention=None,
                against=[duplicate_of],
            )
    return Duplicate(of=duplicate_of, decision_id=str(decision))


def _file(engine: Engine, request: _Request, compared: _Comparison) -> Promoted | PromotionConflict:
    """Remember the summary, give it its place, relate it to what it contradicts and record the
    decision: one transaction.
    """
    contradicts = compared.contradicts
    outcome: Outcome = "conflict" if contradicts else "promoted"
    done: list[tuple[Placed, UUID]] = []  # of the last try: the engine may repeat the transaction

    def before(connection: Connection) -> None:
        done.clear()
        _lock_drawer(engine, connection, request, compared)

    def after(connection: Connection, written: list[WrittenEntry]) -> None:
        mention, node = written[0].mention, written[0].node
        assert node is not None  # a summary is never empty, so it has a node
        where = [(request.room, request.drawer)]
        places.insert(
            connection, [mention], owner=engine.owner, kind="filed", at=request.at, where=where
        )
        _relate(engine, connection, node, contradicts, weight=1.0)
        if request.note is not None:
            places.mark_promoted(connection, request.note, at=request.at)
        decision = _record(
            engine, connection, request, outcome=outcome, mention=mention, against=contradicts
        )
        placed = places.by_mention(connection, mention, owners=[engine.owner], now=request.at)
        assert placed is not None  # it was put there just now
        done.append((placed, decision))

    engine.write(
        [Draft(content=request.summary, metadata={"palace": "filed"}, source=request.source)],
        before=before,
        after=after,
    )
    placed, decision = done[0]
    if contradicts:
        return PromotionConflict(
            placed=placed,
            contradicts=contradicts,
            decision_id=str(decision),
            degraded=compared.degraded,
        )
    return Promoted(placed=placed, decision_id=str(decision), degraded=compared.degraded)


def undo(context: PalaceContext, decision_id: str) -> Decision:
    """Take back what a promotion filed; see `Palace.undo`."""
    engine, now = context.engine, context.now()
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            decision = _decision(engine, connection, decision_id)
            places.lock_drawer(
                connection, owner=engine.owner, room=decision.room, drawer=decision.drawer
            )
            if decision.placed_id is None or decision.outcome == "undone":
                raise InvalidInput(
                    "expected a promotion that filed something, got a decision "
                    f"{decision.outcome!r}; nothing to undo"
                )
            if places.is_undone(connection, UUID(decision.id)):
                raise InvalidInput(
                    f"expected a promotion that was not undone, got {decision.id}, which was "
                    "undone already; nothing to do"
                )
            mention, note = UUID(decision.placed_id), decision.note_id and UUID(decision.note_id)
            placed = places.by_mention(connection, mention, owners=[engine.owner], now=now)
            if placed is not None:
                # 0 removes a relation
                _relate(engine, connection, UUID(placed.node_id), decision.against, weight=0.0)
            _, forgotten = places.hide(
                connection, [mention], owner=engine.owner, by=engine.robot, at=now
            )
            if note:
                places.mark_promoted(connection, note, at=None)
            request = _Request(
                note=note or None,
                room=decision.room,
                drawer=decision.drawer,
                reason=decision.reason,
                summary=decision.summary,
                at=now,
            )
            undone = _record(
                engine,
                connection,
                request,
                outcome="undone",
                mention=mention,
                against=(),
                undoes=UUID(decision.id),
            )
            row = places.decisions(connection, owner=engine.owner, limit=1, id=undone)[0]
    context.drop(forgotten)
    return decision_of(row)


def _relate(
    engine: Engine, connection: Connection, node: UUID, against: Sequence[Against], *, weight: float
) -> None:
    """Join a node by "contradicts" relations to what it contradicts; a weight of 0 removes them."""
    for other in against:
        if node != UUID(other.node_id):
            relations.link(
                connection,
                node,
                UUID(other.node_id),
                kind="contradicts",
                weight=weight,
                owner=engine.owner,
            )


def _record(
    engine: Engine,
    connection: Connection,
    request: _Request,
    *,
    outcome: Outcome,
    mention: UUID | None,
    against: Sequence[Against],
    undoes: UUID | None = None,
) -> UUID:
    """Write a decision into the audit, and return its id."""
    decision = new_id()
    row = {
        "id": decision, "note": request.note, "mention": mention, "room": request.room,
        "drawer": request.drawer, "reason": request.reason, "summary": request.summary,
        "outcome": outcome,
        "against": [{"id": e.id, "node_id": e.node_id, "content": e.content, "why": e.why} for e in against],
        "undoes": undoes, "owner": engine.owner, "robot": engine.robot,
        "session": engine.session or "", "at": request.at,
    }  # fmt: skip
    places.add_decision(connection, row)
    return decision


def _decision(engine: Engine, connection: Connection, decision_id: str) -> Decision:
    try:
        known = UUID(decision_id)
    except ValueError:
        raise InvalidInput(
            f"expected the id of a decision, got {decision_id!r:.80}", advice="decisions"
        ) from None
    rows = places.decisions(connection, owner=engine.owner, limit=1, id=known)
    if not rows:
        raise NotFound(f"expected a decision of this owner, got {decision_id}", advice="decisions")
    return decision_of(rows[0])
