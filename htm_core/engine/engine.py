"""What one robot's memory is made of: the store, the models, the rules and a working set, behind the verbs."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tzlocal import get_localzone

from ..errors import DimensionMismatch, InvalidInput, ModelError
from ..models.embedders import CheckedEmbedder
from ..rules import validation
from ..rules.identity import anonymous, moment_id
from ..rules.timeframes.parse import TimeframeLike, parse
from ..rules.working_memory.memory import Plan, WorkingMemory
from ..settings import Settings
from ..store import jobs, nodes, tenants
from ..store.database import Connection, Database
from ..store.errors import retry_transaction
from ..store.records import Entry, WrittenEntry
from ..store.working import SetChange
from ..store.write import last_said, write
from ..telemetry import telemetry
from ..types import DEFAULT_IMPORTANCE, Draft, Event, Eviction, Item, Node, TokenCounter, Window
from .access_counts import AccessCounts
from .entries import Preparer
from .working_sets import WorkingSet, catch_up_everywhere, drop_everywhere, empty

Clock = Callable[[], datetime]


Before = Callable[[Connection], None]
After = Callable[[Connection, list[WrittenEntry]], None]

_log = logging.getLogger("htm.mind")


@dataclass(frozen=True, slots=True)
class _Said:
    """What a transaction of saying did: what became of each entry, the nodes, those that are live no more, and what is held."""

    written: list[WrittenEntry]
    found: dict[UUID, Node]
    dead: set[UUID]
    held: SetChange | None


def new_id() -> UUID:
    """A fresh id, ordered by time."""
    return moment_id(time.time(), secrets.token_bytes(10))


def utc_now() -> datetime:
    """The present moment, aware."""
    return datetime.now(UTC)


class Engine:
    """The parts of one memory, and the two things that change it: saying and touching."""

    def __init__(
        self,
        *,
        database: Database,
        tenant: str,
        user: str | None,
        robot: str,
        session: str | None,
        embedder: CheckedEmbedder,
        embed: str,
        tokens: TokenCounter,
        working: WorkingSet,
        access_counts: AccessCounts,
        settings: Settings,
        clock: Clock,
        on_evict: Callable[[Eviction], None] | None,
        on_event: Callable[[Event], None] | None,
        wake: Callable[[], None],
        owed: Sequence[jobs.Lane] = (),
        group: str | None = None,
    ) -> None:
        self.database = database
        self.tenant = tenant
        self.user = user
        self.owner = user or ""
        self.robot = robot
        self.session = session
        self.embedder = embedder
        self.tokens = tokens
        self.working = working
        self.group = group
        self.access_counts = access_counts
        self.settings = settings
        self.ticks = clock
        self.wake = wake
        self.telemetry = telemetry(on=settings.telemetry)
        self._owed = owed
        self._embed_now = embed == "now"
        self._on_evict = on_evict
        self._on_event = on_event
        self.preparer = Preparer(
            owner=self.owner,
            session=session or "",
            longest=settings.max_content,
            count=tokens,
            new_id=new_id,
        )

    @property
    def owners(self) -> list[str]:
        """Whose memories are seen: one's own, and what everyone in the tenant shares."""
        return [self.owner, ""] if self.owner else [""]

    def owners_of(self, session: str) -> list[str]:
        """Whose a session may be when it is named: one's own, or without a user also the session's in which nobody is known."""
        return [self.owner] if self.owner else ["", anonymous(session)]

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction behind this tenant's wall, in which the tenant, the robot and the model are settled."""
        key = (self.tenant, self.robot, self.embedder.name)
        with self.database.transaction(self.tenant) as connection:
            if key not in self.database.settled:
                self._settle(connection)
            yield connection
        self.database.settled.add(key)

    def _settle(self, connection: Connection) -> None:
        name = self.embedder.name
        state = tenants.ensure_rows(connection, robot=self.robot, model=name, language=self.settings.language)
        if state.model not in (None, name):
            raise DimensionMismatch(
                f"expected the model {state.model}, with which the memories of tenant {self.tenant!r} are embedded, got "
                f"{name}; open the memory with that one, or run `htm reembed --embedder {name}` to change over"
            )

    def model_changed(self) -> bool:
        """Whether the tenant's vectors were made anew with another model since this memory was opened."""
        with self.transaction() as connection:
            return tenants.active_model(connection) not in (None, self.embedder.name)

    def say(
        self,
        said: Sequence[Draft | Mapping[str, Any]],
        *,
        before: Before | None = None,
        wordless: bool = False,
        after: After | None = None,
        hold: bool = True,
    ) -> list[Node | None]:
        """Remember drafts in one transaction: plan, commit, apply. A wordless message has no node.

        Without `hold` nothing new comes into working memory.

        `before` and `after` run in the same transaction, once more if it is tried again; an exception of theirs undoes
        everything.
        """
        now = self.clock()
        entries = [self.preparer.entry(draft, now=now, wordless=wordless) for draft in said]
        if self._embed_now:
            entries = self._embedded(entries)
        held = self.working  # the same to the end, should the robot join a group meanwhile
        memory = held.load(now=now.timestamp())
        spoken = [entry for entry in last_said(entries) if entry.node is not None] if hold else []
        items = [_item(memory, entry, now) for entry in spoken]
        plan = memory.plan(items, now=now.timestamp())
        try:
            with self.telemetry.span("htm.remember", count=len(entries)):
                outcome = self._committed(
                    lambda connection: self._write(connection, entries, held, plan, before, after)
                )
        except BaseException:
            memory.release(plan)
            raise
        self._applied(held, plan, outcome, now)
        self.access_counts.seen(self.tenant, self.robot, at=now)
        self.wake()
        self.emit("remember", count=len(entries), new=sum(each.is_new for each in outcome.written))
        return [_node(each, outcome.found) for each in outcome.written]

    def _committed(self, write: Callable[[Connection], _Said]) -> _Said:
        """Write in a transaction, again when another writer was in the way."""

        def transaction() -> _Said:
            with self.transaction() as connection:
                return write(connection)

        return retry_transaction(transaction)

    def _write(
        self,
        connection: Connection,
        entries: list[Entry],
        held: WorkingSet,
        plan: Plan,
        before: Before | None,
        after: After | None,
    ) -> _Said:
        if before is not None:
            before(connection)
        outcome = write(connection, entries, owner=self.owner, robot=self.robot, model=self.embedder.name)
        ids = {each.node for each in outcome.written if each.node is not None}
        found = nodes.read(connection, sorted(ids), owners=[self.owner], hidden=True)
        live = nodes.live(connection, sorted(ids | outcome.touched))
        dead = (ids | outcome.touched) - live
        saved = held.write(connection, plan, live=live, dead=sorted(dead))
        new = {each.node for each in outcome.written if each.is_new and each.node is not None}
        for kind, model in self._owed:
            jobs.enqueue(connection, sorted(new), kind=kind, model=model)
        self._note_growth(connection, sum(each.is_new for each in outcome.written))
        if after is not None:
            after(connection, outcome.written)
        return _Said(outcome.written, found, dead, saved)

    def _embedded(self, entries: list[Entry]) -> list[Entry]:
        """Entries with their vectors; where the model fails they stay without, and are owed one."""
        bare = [
            (at, entry.content[piece.starts : piece.stops])
            for at, entry in enumerate(entries)
            for piece, vector in zip(entry.pieces, entry.vectors, strict=True)
            if vector is None
        ]
        with suppress(ModelError):
            answers = iter(self.embedder.documents([text for _, text in bare]))
            for at in dict.fromkeys(at for at, _ in bare):
                vectors = tuple(next(answers) if vector is None else vector for vector in entries[at].vectors)
                entries[at] = replace(entries[at], vectors=vectors)
        return entries

    def _applied(self, working: WorkingSet, plan: Plan, said: _Said, now: datetime) -> None:
        memory = working.memory
        evictions = working.apply(plan, said.held, now=now.timestamp())
        for node in said.found.values():
            held = memory.get(node.id)
            if held is not None and held.importance != node.importance:
                memory.update(replace(held, importance=node.importance), now=now.timestamp())
        if said.dead:
            self.drop(sorted(said.dead))
        self.report(evictions)

    def hold(self, found: Sequence[Node]) -> None:
        """Put recalled nodes in working memory and count the access."""
        now = self.clock()
        working = self.working
        memory = working.load(now=now.timestamp())
        fresh = [_recalled(node, now) for node in found if node.id not in memory]
        if fresh:
            self.report(working.hold(fresh, now=now.timestamp()))
        ids = [node.id for node in found]
        memory.touch(ids, now=now.timestamp())
        self.access_counts.add(working.key, ids, at=now)
        self.access_counts.seen(self.tenant, self.robot, at=now)

    def drop(self, ids: Sequence[UUID]) -> None:
        """Take nodes out of every working memory of this process."""
        drop_everywhere(self.database, self.tenant, [str(id) for id in ids])

    def hold_in(self, working: WorkingSet, *, group: str | None) -> None:
        """Hold in mind from now on what another working set holds: a group's, or again the robot's own."""
        self.working, self.group = working, group

    def working_memory(self) -> WorkingMemory:
        """What the robot holds in mind, as its table has it now."""
        self.report(self.working.catch_up(now=self.clock().timestamp()))
        return self.working.memory

    def empty(self, *, user: str | None, session: str | None) -> None:
        """Empty the working memories of a user or a session of this owner, whose rows were erased."""
        empty(self.database, self.tenant, owner=self.owner if user is None else user, session=session)

    def catch_up_everywhere(self) -> None:
        """Let every working memory of this process go of what is no longer there."""
        catch_up_everywhere(self.database, self.tenant, now=self.clock().timestamp())

    def report(self, evictions: Sequence[Eviction]) -> None:
        """Hand receipts to whoever observes evictions."""
        for eviction in evictions if self._on_evict is not None else ():
            self._tell(self._on_evict, eviction)
        if evictions:
            self.emit("evict", count=len(evictions), tokens=sum(each.item.tokens for each in evictions))

    def emit(self, name: str, **data: float | int | str | None) -> None:
        """Tell the observer what happened, in numbers."""
        self.telemetry.count(name, data)
        if self._on_event is not None:
            self._tell(self._on_event, Event(name=name, at=self.clock(), data=data))

    @staticmethod
    def _tell(observer: Callable[[Any], None] | None, what: Eviction | Event) -> None:
        """Call an observer; what it raises is logged, since what it is told of has happened."""
        try:
            if observer is not None:
                observer(what)
        except Exception:
            _log.warning("an observer of %s failed", type(what).__name__, exc_info=True)

    @property
    def timezone(self) -> tzinfo:
        """The time zone of words such as "yesterday": the settings', else the machine's."""
        name = self.settings.timezone
        try:
            return ZoneInfo(name) if name else get_localzone()
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise InvalidInput(
                f"expected Settings.timezone to be an IANA zone such as 'Europe/Oslo', got {name!r}"
            ) from error

    def time_windows(self, timeframe: TimeframeLike) -> tuple[Window, ...]:
        """The windows of a timeframe, by this memory's clock and calendar; none for None."""
        if timeframe is None:
            return ()
        return parse(timeframe, now=self.clock(), week_start=self.settings.week_start, timezone=self.timezone)

    def clock(self) -> datetime:
        """The present moment by this memory's clock, which must know its time zone."""
        return validation.check_time(self.ticks(), what="what clock() answers")

    def _note_growth(self, connection: Connection, new: int) -> None:
        if self.database.growth.grew(self.tenant, new):
            jobs.enqueue_count(connection)


def _item(memory: WorkingMemory, entry: Entry, now: datetime) -> Item:
    """What working memory would hold of an entry: as important as it is said to be, else as it is held to be."""
    held = memory.get(str(entry.node))
    known = DEFAULT_IMPORTANCE if held is None else held.importance
    return Item(
        id=str(entry.node),
        content=entry.content,
        tokens=entry.tokens,
        importance=known if entry.importance is None else entry.importance,
        added_at=now.timestamp(),
        accessed_at=now.timestamp(),
    )


def _recalled(node: Node, now: datetime) -> Item:
    return Item(
        id=node.id,
        content=node.content,
        tokens=node.tokens,
        importance=node.importance,
        access_count=node.access_count,
        added_at=now.timestamp(),
        accessed_at=now.timestamp(),
    )


def _node(written: WrittenEntry, found: Mapping[UUID, Node]) -> Node | None:
    node = found.get(written.node) if written.node is not None else None
    return None if node is None else replace(node, is_new=written.is_new)
