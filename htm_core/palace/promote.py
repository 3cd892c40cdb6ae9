"""Promotion: the only way from a session's notes into the palace, with a reason, a summary and a row of the audit.

The drawer is read, the model and the judge are asked without a transaction open, and then the drawer is locked: if it holds
something by then that was not judged, all is done again. So of two that promote the same, one wins and the other sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..engine.engine import Engine, new_id
from ..errors import InvalidInput, ModelError, NotFound, StorageError
from ..rules.identity import node_id
from ..rules.places import Placed
from ..rules.promotion import Compared, check_reason, check_summary, compare, cosine, nearest
from ..store import places, relations
from ..store.database import Connection
from ..store.records import WrittenEntry
from ..types import Draft
from .audit import Against, Decision, decision_of
from .contradiction import by_rules

if TYPE_CHECKING:
    from .palace import Palace

TRIES = 5  # so often a drawer may change while it is being judged
MOST_JUDGED = 2_000  # of a drawer, the newest
MOST_EMBEDDED = 64  # of those, the ones with most words in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The summary was filed. `degraded` says what could not be compared, if anything."""

    placed: Placed
    decision_id: str
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The drawer says so already; nothing was filed. `of` is what it repeats."""

    of: Against
    decision_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """The summary was filed and contradicts what is there: both are kept, joined by a "contradicts" edge."""

    placed: Placed
    contradicts: tuple[Against, ...]
    decision_id: str
    degraded: str | None = None


@dataclass(frozen=True, slots=True)
class _Verdict:
    seen: frozenset[str]
    repeats: Against | None
    contradicts: tuple[Against, ...]
    degraded: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    note: UUID
    room: str
    drawer: str
    reason: str
    summary: str
    at: datetime


class _Changed(Exception):
    """The drawer holds something that was not judged."""


def promote(
    palace: Palace, note: UUID, *, room: str, drawer: str, reason: str, summary: str
) -> Promoted | Duplicate | Conflict:
    """File a note's summary unless the drawer says so already; see `Palace.promote`."""
    to_room, to_drawer = palace.checked_room(room, drawer)
    wish = _Wish(
        note=note, room=to_room, drawer=to_drawer, reason=check_reason(reason), summary=check_summary(summary),
        at=palace._now(),
    )  # fmt: skip
    _check_note(palace, note)
    for _ in range(TRIES):
        verdict = _judged(palace, wish)
        try:
            outcome = _repeated(palace, wish, verdict) if verdict.repeats else _filed(palace, wish, verdict)
        except _Changed:
            continue
        palace.memory._engine.emit(
            "promote", duplicate=int(verdict.repeats is not None), conflicts=len(verdict.contradicts)
        )
        return outcome
    raise StorageError(
        f"the drawer {to_room}/{to_drawer} changed {TRIES} times while it was judged; nothing was filed. Try again"
    )


def _check_note(palace: Palace, note: UUID) -> None:
    engine = palace.scratchpad()._engine
    with engine.transaction() as connection:
        found = places.by_mention(connection, note, owners=[engine.owner], now=palace._now())
    if found is None or found.kind != "note":
        raise NotFound(f"expected a note of this session that has not expired, got {note}; see Palace.notes()")


def _in_drawer(palace: Palace, connection: Connection, wish: _Wish) -> list[Placed]:
    return places.look(
        connection, owners=[palace.memory._engine.owner], kinds=("filed",), room=wish.room, drawer=wish.drawer, now=wish.at,
        limit=MOST_JUDGED,
    )  # fmt: skip


def _judged(palace: Palace, wish: _Wish) -> _Verdict:
    """How the summary stands to each thing in the drawer."""
    engine, judge = palace.memory._engine, palace.judge or by_rules
    with engine.transaction() as connection:
        there = _in_drawer(palace, connection, wish)
    near, degraded = _cosines(engine, wish.summary, there)
    repeats, contradicts = None, []
    for each, close in zip(there, near, strict=True):
        same = each.node_id == str(node_id(engine.owner, wish.summary))
        denial = None if same else judge(wish.summary, each.content)
        found = (
            Compared("same", "the same words")
            if same
            else compare(wish.summary, each.content, cosine=close, denial=denial)
        )
        against = Against(id=each.id, node_id=each.node_id, content=each.content, why=found.why)
        if found.relation == "same":
            repeats = repeats or against
        elif found.relation == "contradicts":
            contradicts.append(against)
    return _Verdict(frozenset(each.id for each in there), repeats, tuple(contradicts), degraded)


def _cosines(engine: Engine, summary: str, there: Sequence[Placed]) -> tuple[list[float | None], str | None]:
    """How near the summary is to each, as far as the embedder answers; and what is missing where it does not."""
    if not there:
        return [], None
    chosen = nearest(summary, [each.content for each in there], most=MOST_EMBEDDED)
    near: list[float | None] = [None] * len(there)
    try:
        mine, *theirs = engine.embedder.documents([summary, *(there[at].content for at in chosen)])
    except ModelError as error:
        return near, f"Duplicates were looked for by words alone, since the embedder failed: {error}"
    for at, other in zip(chosen, theirs, strict=True):
        near[at] = cosine(mine, other)
    return near, None


def _unchanged(palace: Palace, connection: Connection, wish: _Wish, verdict: _Verdict) -> None:
    """Lock the drawer, and see that it holds what was judged."""
    places.lock_drawer(connection, owner=palace.memory._engine.owner, room=wish.room, drawer=wish.drawer)
    if frozenset(each.id for each in _in_drawer(palace, connection, wish)) != verdict.seen:
        raise _Changed


def _repeated(palace: Palace, wish: _Wish, verdict: _Verdict) -> Duplicate:
    assert verdict.repeats is not None  # asked for only then
    with palace.memory._engine.transaction() as connection:
        _unchanged(palace, connection, wish, verdict)
        places.mark_promoted(connection, wish.note, at=wish.at)
        decision = _decide(palace, connection, wish, outcome="duplicate", placed=None, against=[verdict.repeats])
    return Duplicate(of=verdict.repeats, decision_id=str(decision))


def _filed(palace: Palace, wish: _Wish, verdict: _Verdict) -> Promoted | Conflict:
    engine = palace.memory._engine
    outcome = "conflict" if verdict.contradicts else "promoted"
    done: list[tuple[Placed, UUID]] = []

    def before(connection: Connection) -> None:
        done.clear()
        _unchanged(palace, connection, wish, verdict)

    def after(connection: Connection, written: list[WrittenEntry]) -> None:
        mention, node = written[0].mention, written[0].node
        assert node is not None  # a summary has words
        places.put(
            connection, [mention], owner=engine.owner, kind="filed", at=wish.at, where=[(wish.room, wish.drawer)]
        )
        for each in verdict.contradicts:
            if node != UUID(each.node_id):
                relations.link(connection, node, UUID(each.node_id), kind="contradicts", weight=1.0, owner=engine.owner)
        places.mark_promoted(connection, wish.note, at=wish.at)
        decision = _decide(palace, connection, wish, outcome=outcome, placed=mention, against=verdict.contradicts)
        placed = places.by_mention(connection, mention, owners=[engine.owner], now=wish.at)
        assert placed is not None  # it was put there just now
        done.append((placed, decision))

    engine.say([Draft(content=wish.summary, metadata={"palace": "filed"})], before=before, after=after)
    placed, decision = done[0]
    if verdict.contradicts:
        return Conflict(
            placed=placed, contradicts=verdict.contradicts, decision_id=str(decision), degraded=verdict.degraded
        )
    return Promoted(placed=placed, decision_id=str(decision), degraded=verdict.degraded)


def _decide(
    palace: Palace,
    connection: Connection,
    wish: _Wish,
    *,
    outcome: str,
    placed: UUID | None,
    against: Sequence[Against],
) -> UUID:
    decision = new_id()
    listed = [{"id": e.id, "node_id": e.node_id, "content": e.content, "why": e.why} for e in against]
    row = {
        "id": decision, "note": wish.note, "mention": placed, "room": wish.room, "drawer": wish.drawer,
        "reason": wish.reason, "summary": wish.summary, "outcome": outcome, "against": listed, "undoes": None,
    }  # fmt: skip
    places.decide(connection, row | _whose(palace, wish.at))
    return decision


def _whose(palace: Palace, at: datetime) -> dict[str, Any]:
    engine = palace.memory._engine
    return {"owner": engine.owner, "robot": engine.robot, "session": engine.session or "", "at": at}


def undo(palace: Palace, outcome: Promoted | Conflict | str) -> Decision:
    """Take back what a promotion filed; see `Palace.undo`."""
    given = outcome if isinstance(outcome, str) else outcome.decision_id
    engine, now = palace.memory._engine, palace._now()
    with engine.transaction() as connection:
        decision = _decision(connection, palace, given)
        places.lock_drawer(connection, owner=engine.owner, room=decision.room, drawer=decision.drawer)
        if decision.placed_id is None or decision.outcome == "undone":
            raise InvalidInput(
                f"expected a promotion that filed something, got a decision {decision.outcome!r}; nothing to undo"
            )
        if places.is_undone(connection, UUID(decision.id)):
            raise InvalidInput(f"expected a promotion that stands, got {decision.id}, which was undone already")
        found = places.by_mention(connection, UUID(decision.placed_id), owners=[engine.owner], now=now)
        if found is not None:
            _unlink(connection, engine, UUID(found.node_id), decision.against)
        _, gone = places.hide(connection, [UUID(decision.placed_id)], owner=engine.owner, by=engine.robot, at=now)
        places.mark_promoted(connection, UUID(decision.note_id), at=None)
        taken = new_id()
        row = {
            "id": taken, "note": UUID(decision.note_id), "mention": UUID(decision.placed_id), "room": decision.room,
            "drawer": decision.drawer, "reason": decision.reason, "summary": decision.summary, "outcome": "undone",
            "against": [], "undoes": UUID(decision.id),
        }  # fmt: skip
        places.decide(connection, row | _whose(palace, now))
        taken_back = decision_of(places.decisions(connection, owner=engine.owner, limit=1, id=taken)[0])
    palace._drop(gone)
    return taken_back


def _unlink(connection: Connection, engine: Engine, node: UUID, against: Sequence[Against]) -> None:
    for each in against:
        if node != UUID(each.node_id):
            relations.link(connection, node, UUID(each.node_id), kind="contradicts", weight=0.0, owner=engine.owner)


def _decision(connection: Connection, palace: Palace, id: str) -> Decision:
    try:
        known = UUID(id)
    except ValueError:
        raise InvalidInput(f"expected the id of a decision, got {id!r:.80}; see Palace.decisions()") from None
    rows = places.decisions(connection, owner=palace.memory._engine.owner, limit=1, id=known)
    if not rows:
        raise NotFound(f"expected a decision of this owner, got {id}; see Palace.decisions()")
    return decision_of(rows[0])
