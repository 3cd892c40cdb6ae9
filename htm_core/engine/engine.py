"""The engine of one memory: the store, the models, the rules and a working set, joined for the
verbs.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar
from uuid import UUID

from ..base import time_limit, validation
from ..base.errors import DimensionMismatch, ModelError
from ..base.identity import anonymous, moment_id
from ..base.settings import Settings
from ..base.telemetry import SILENCE, telemetry
from ..base.time_limit import EMBEDDED_AT_ONCE, WRITTEN_AT_ONCE
from ..base.types import (
    DEFAULT_IMPORTANCE,
    Draft,
    Embed,
    Event,
    Eviction,
    Hit,
    Item,
    Node,
    TimeframeLike,
    TokenCounter,
    Window,
)
from ..db import jobs, tenants
from ..db.database import Connection, Database, Row
from ..db.errors import RowsMissing, retry_transaction
from ..db.owner_claims import EVERYBODY, claim_of
from ..db.records import Entry, WrittenEntry
from ..db.transactions import First, in_one_message
from ..models.embedders import CheckedEmbedder, as_option
from ..text.redaction.redactor import Redactor
from ..working.memory import Plan, WorkingMemory
from ..working.store import SetChange
from ..working.working_sets import WorkingSet, open_sets
from ..writing.calendar import timezone_of, windows_at
from ..writing.entries import Preparer
from ..writing.write import FEW, Begun, Outcome, begin_write, last_said, write
from .fresh_nodes import FreshNodes
from .write_behind import WriteBehind

if TYPE_CHECKING:
    from ..models.expanders import CheckedExpander
    from ..models.rerankers import CheckedReranker

Clock = Callable[[], datetime]
utc_now: Clock = partial(datetime.now, UTC)
T = TypeVar("T")
STEP = timedelta(microseconds=1)  # between the accesses to two hits of one recall
# What an operation adds to the transaction of a write: before the drafts are written, and after.
Before = Callable[[Connection], None]
After = Callable[[Connection, list[WrittenEntry]], None]

_log = logging.getLogger("htm.engine")


def new_id() -> UUID:
    """A new id; ids sort by the time at which they were made."""
    return moment_id(time.time(), secrets.token_bytes(10))


class Engine:
    """The state that the operations of one memory share: its owner, database, models, working set
    and clock.

    `lanes` are the kinds of jobs, with their models, that every new node gets.
    """

    def __init__(
        self,
        *,
        database: Database,
        tenant: str,
        user: str | None,
        robot: str,
        session: str | None,
        embedder: CheckedEmbedder,
        embed: Embed,
        tokens: TokenCounter,
        working: WorkingSet,
        write_behind: WriteBehind,
        fresh_nodes: FreshNodes,
        settings: Settings,
        clock: Clock,
        on_evict: Callable[[Eviction], None] | None,
        on_event: Callable[[Event], None] | None,
        wake: Callable[[], None],
        start_worker: Callable[[], None],
        compare: Callable[[str, Sequence[UUID]], None],
        lanes: Sequence[jobs.Lane] = (),
        reranker: CheckedReranker | None = None,
        reader: bool | None = None,
        expander: CheckedExpander | None = None,
        redactor: Redactor | None = None,
        group: str | None = None,
    ) -> None:
        self.database = database
        self.tenant = tenant
        self.user = user
        self.owner = user or ""
        self.robot = robot
        self.session = session
        self.embedder = embedder
        self.reranker = reranker
        self.reader = reader
        self.expander = expander
        self.redactor = redactor
        self.tokens = tokens
        self.working = working
        self.group = group
        self.write_behind = write_behind
        self.fresh_nodes = fresh_nodes
        self.settings = settings
        self.wake = wake
        self.start_worker = start_worker
        self._compare_now = compare
        self.telemetry = telemetry(on=settings.telemetry)
        self._clock = clock
        self._lanes = lanes
        self._embed_now = embed == "now"
        self._on_evict = on_evict
        self._on_event = on_event
        # Whose memories are written, by whom, and the model of their vectors.
        self._writer = {"owner": self.owner, "robot": robot, "model": embedder.name}
        self._preparer = Preparer(
            owner=self.owner,
            session=session or "",
            settings=settings,
            count=tokens,
            new_id=new_id,
            redactor=redactor,
        )

    # -- owners and time ---------------------------------------------------------------------------

    @property
    def owners(self) -> list[str]:
        """The owners whose memories are visible: the user, and "", which is what everyone in the
        tenant shares.
        """
        return [self.owner, ""] if self.owner else [""]

    def owners_of(self, session: str) -> list[str]:
        """The owners that a named session may have: the user; without one, "" and the session's
        anonymous user.
        """
        return [self.owner] if self.owner else ["", anonymous(session)]

    def clock(self) -> datetime:
        """The present time by this memory's clock; raises `InvalidInput` when it has
        no time zone.
        """
        return validation.check_time(self._clock(), what="what clock() answers")

    @property
    def timezone(self) -> tzinfo:
        """The time zone of words such as "yesterday": the settings', else the machine's."""
        return timezone_of(self.settings)

    def time_windows(self, timeframe: TimeframeLike) -> tuple[Window, ...]:
        """The windows of a timeframe, by this memory's clock and calendar; none for None."""
        return (
            () if timeframe is None else windows_at(timeframe, self.clock(), settings=self.settings)
        )

    # -- transactions ------------------------------------------------------------------------------

    @contextmanager
    def transaction(
        self,
        *,
        patient: bool = False,
        everybody: bool = False,
        also: Sequence[str] = (),
        now: datetime | None = None,
        first: First | None = None,
        alone: bool = False,
    ) -> Iterator[Connection]:
        """A transaction that sees this tenant only, and in which the rows of tenant, robot and
        model exist.

        Where there is a wall between users, it lets this memory's owners through, and those of
        `also`, or `everybody`. One that is `patient` may take any time, such as a backup's; each
        answer of the server has its limit. What had expired by `now`, by default the present, is
        hidden. `first` queues what travels with the beginning where that is possible; `alone` says
        that this is all, and may be done twice.

        Raises `DimensionMismatch` when the tenant's vectors are of another model.
        """
        name = self.embedder.name
        key = (self.tenant, self.robot, name)
        is_settled = key in self.database.settled
        begun = self.database.transaction(
            self.tenant,
            claim=EVERYBODY if everybody else claim_of(self.owner, *also),
            patient=patient,
            now=now or self.clock(),
            first=first if is_settled else None,
            alone=alone and is_settled,
        )
        try:
            with begun as connection:
                if not is_settled:
                    language = self.settings.language
                    state = tenants.ensure_rows(
                        connection, robot=self.robot, model=name, language=language
                    )
                    if state.model not in (None, name):
                        raise DimensionMismatch(
                            f"expected the model {state.model}, with which the memories of tenant "
                            f"{self.tenant!r} are embedded, "
                            f"got {name}; open the memory with that one, or change over: htm "
                            f"reembed --embedder {as_option(name)}"
                        )
                    if first is not None:
                        first(connection)
                yield connection
        # another process has erased the tenant: the next transaction makes its rows again
        except RowsMissing:
            self.unsettle()
            raise
        self.database.settled.add(key)

    def in_one_message(self, queue: Callable[[Connection], T], *, everybody: bool = False) -> T:
        """The answer of `queue`, which queues all statements of a transaction: where that is
        possible it is one message, and may be done twice. The rest is as in `transaction`.
        """
        return in_one_message(
            lambda first: self.transaction(everybody=everybody, first=first, alone=True), queue
        )

    def unsettle(self) -> None:
        """Forget that the rows of this tenant, its robots and its model are there."""
        self.database.settled.difference_update(
            [key for key in list(self.database.settled) if key[0] == self.tenant]
        )

    @contextmanager
    def looking(self, *, everybody: bool) -> Iterator[Connection]:
        """A transaction that sees what `transaction` does and makes no rows of tenant, robot or
        model, which may be erased.
        """
        claim = EVERYBODY if everybody else claim_of(self.owner)
        with self.database.transaction(self.tenant, claim=claim, now=self.clock()) as connection:
            yield connection

    @property
    def _is_settled(self) -> bool:
        """True if the rows of tenant, robot and model are known to exist."""
        return (self.tenant, self.robot, self.embedder.name) in self.database.settled

    def reading(
        self,
        work: Callable[[Connection], T],
        *,
        patient: bool = False,
        everybody: bool = False,
        now: datetime | None = None,
    ) -> T:
        """The answer of `work`, which only reads, in a transaction: on a replica where one may
        answer (`Settings.read_url`).

        Where a replica fails, `work` is called again on the primary. What it may see is as in
        `transaction`, and so are the errors.
        """
        if not self._is_settled:
            with self.transaction(patient=patient, everybody=everybody, now=now) as connection:
                return work(connection)
        claim = EVERYBODY if everybody else claim_of(self.owner)
        return self.database.reading(
            self.tenant, work, claim=claim, patient=patient, now=now or self.clock()
        )

    def read(
        self,
        statement: LiteralString,
        parameters: Mapping[str, Any],
        *,
        everybody: bool = False,
        primary: bool = False,
    ) -> list[Row]:
        """The rows of one statement that only reads, as a transaction of its own: in one message
        there and back.

        What it may see is as in `transaction`, and so are the errors. With `primary` no replica is
        asked.
        """
        claim = EVERYBODY if everybody else claim_of(self.owner)
        if not self._is_settled:
            with self.transaction(everybody=everybody) as connection:
                return connection.execute(statement, parameters).fetchall()
        return self.database.read(
            self.tenant, statement, parameters, claim=claim, now=self.clock(), primary=primary
        )

    def model_changed(self) -> bool:
        """True if the tenant's vectors were made anew with another model since this memory was
        opened.
        """
        with self.transaction() as connection:
            return tenants.active_model(connection) not in (None, self.embedder.name)

    # -- writing -----------------------------------------------------------------------------------

    def write(
        self,
        drafts: Sequence[Draft | Mapping[str, Any]],
        *,
        before: Before | None = None,
        after: After | None = None,
        wordless: bool = False,
        hold: bool = True,
        retold: int = 0,
        asked: bool = False,
    ) -> list[Node | None]:
        """Write drafts in one transaction: plan, commit, apply. Answers with their nodes, in order.

        Planning reserves tokens of working memory and picks who leaves; the commit runs without its
        lock; then the plan is applied, or released on an error. With `wordless` a message may have
        nothing to search in it, and gets no node. Without `hold` nothing new comes into working
        memory. What is attached to drafts is written after them all; it is not in the answer, and
        does not come into working memory. So many of the first as `retold` says were said elsewhere
        before. `asked` says that the last is a question, for which recall is asked next: it has the
        vector at once which both need, where the model is in this process. `before` and `after` run
        in the same transaction, once more when it is tried again; an exception of theirs undoes
        everything.
        """
        now = self.clock()
        seconds = now.timestamp()
        time_limit.grow(len(drafts), batch_size=WRITTEN_AT_ONCE)
        entries = self._preparer.entries(drafts, now=now, wordless=wordless)
        entries[:retold] = [replace(each, is_retold=True) for each in entries[:retold]]
        answered = len(drafts)
        if self._embed_now:
            entries = self._with_vectors(entries)
        elif asked and self.embedder.is_at_hand:
            entries[-1:] = self._with_vectors(entries[-1:])
        working = self.working  # the same to the end, even if the robot joins a group meanwhile
        memory = working.load(now=seconds)
        held = (
            [entry for entry in last_said(entries[:answered]) if entry.node is not None]
            if hold
            else []
        )
        plan = memory.plan(
            [
                _item_of_entry(memory, entry, seconds, place=place)
                for place, entry in enumerate(held)
            ],
            now=seconds,
        )
        outcome, change = self._commit(entries, working, plan, before=before, after=after)
        self._take_over(outcome, working, working.apply(plan, change, now=seconds), now=now)
        if self._embed_now and self.settings.supersession is not None and len(entries) <= FEW:
            self._compare_now(
                self.tenant, [each.node for each in outcome.written if each.node is not None]
            )
        self.emit("remember", count=len(entries), new=sum(each.is_new for each in outcome.written))
        return [
            replace(outcome.nodes[each.node], is_new=each.is_new)
            if each.node in outcome.nodes
            else None
            for each in outcome.written[:answered]
        ]

    def _commit(
        self,
        entries: list[Entry],
        working: WorkingSet,
        plan: Plan,
        *,
        before: Before | None,
        after: After | None,
    ) -> tuple[Outcome, SetChange | None]:
        """Write entries and a plan of working memory in one transaction; the plan is released where
        that fails.
        """
        memory = working.memory
        # Of an import that comes again all would be sent in vain.
        at_once = before is None and (
            len(entries) <= FEW or all(entry.external_id is None for entry in entries)
        )

        def transaction() -> tuple[Outcome, SetChange | None]:
            working.await_writing(plan)
            begun: list[Begun] = []

            def begin(connection: Connection) -> None:
                """Write what is new with the beginning of the transaction, which may begin once
                more on another connection.
                """
                known = {
                    each.node
                    for each in entries
                    if each.node is not None and str(each.node) in memory
                }
                begun[:] = [begin_write(connection, entries, **self._writer, seem_known=known)]

            with self.transaction(first=begin if at_once else None) as connection:
                if before is not None:
                    before(connection)
                outcome = write(
                    connection, entries, **self._writer, begun=begun[0] if begun else None
                )
                change = working.write(
                    connection, plan, live=outcome.live, dead=sorted(outcome.dead)
                )
                self._queue_jobs(connection, entries, outcome.written)
                if after is not None:
                    after(connection, outcome.written)
            return outcome, change()

        try:
            # With an id it is the same mention: said twice, nothing changes.
            return retry_transaction(
                transaction, repeatable=all(entry.external_id is not None for entry in entries)
            )
        except BaseException:
            memory.release(plan)
            raise

    def _queue_jobs(
        self, connection: Connection, entries: Sequence[Entry], written: Sequence[WrittenEntry]
    ) -> None:
        """Queue the jobs of new nodes, and go with the commit.

        What has its vectors already is compared with what was said before; all others are when they
        get theirs.
        """
        made = [each.node for each in written if each.is_new and each.node is not None]
        for kind, model in self._lanes:
            jobs.enqueue(
                connection, sorted(set(made)), kind=kind, model=model, bulk=len(made) > FEW
            )
        if self.settings.supersession is not None and len(entries) <= FEW:
            embedded = {
                entry.node for entry in entries if entry.pieces and None not in entry.vectors
            }
            ready = [
                each.node
                for each in written
                if each.node and (each.said_again or each.node in embedded)
            ]
            if ready:
                jobs.enqueue_supersede(connection, ready)
        if self.database.growth.grew(self.tenant, len(made)):
            jobs.enqueue_count(connection)

    def _take_over(
        self, outcome: Outcome, working: WorkingSet, evictions: Sequence[Eviction], *, now: datetime
    ) -> None:
        """Bring what this process knows up to date with what was written, and wake those that work
        on it.
        """
        seconds, memory = now.timestamp(), working.memory
        for node in outcome.nodes.values():
            item = memory.get(node.id)
            if item is None:
                continue
            known = replace(
                item,
                importance=node.importance,
                tags=node.tags,
                keys=node.keys,
                expires_at=None if node.expires_at is None else node.expires_at.timestamp(),
            )
            if known != item:
                memory.update(known, now=seconds)
        said_again = sorted({str(each.node) for each in outcome.written if each.said_again})
        if said_again:  # a use of each node that was known before
            memory.touch(said_again, now=seconds)
            self.write_behind.accesses.add(working.key, said_again, at=now)
        if outcome.dead:
            self.drop(sorted(outcome.dead))
        if evictions:
            self.report(evictions)
        self.write_behind.accesses.seen(self.tenant, self.robot, at=now)
        self.fresh_nodes.add(self.tenant, self.owner, outcome.waiting, model=self.embedder.name)
        self.wake()

    def _with_vectors(self, entries: list[Entry]) -> list[Entry]:
        """Entries with the vectors of their passages. Where the model fails they stay without, and
        get a job instead.
        """
        missing = [
            (place, entry.content[piece.starts : piece.stops])
            for place, entry in enumerate(entries)
            for piece, vector in zip(entry.pieces, entry.vectors, strict=True)
            if vector is None
        ]
        time_limit.grow(len(missing), batch_size=EMBEDDED_AT_ONCE)
        answers: list[list[float]] = []
        with suppress(ModelError):
            # So that a model that hangs is noticed after one of them.
            for at in range(0, len(missing), EMBEDDED_AT_ONCE):
                answers += self.embedder.documents(
                    [text for _, text in missing[at : at + EMBEDDED_AT_ONCE]]
                )
        for (place, _), answer in zip(missing, answers, strict=False):
            vectors = list(entries[place].vectors)
            vectors[vectors.index(None)] = answer
            entries[place] = replace(entries[place], vectors=tuple(vectors))
        return entries

    # -- working memory ----------------------------------------------------------------------------

    def working_memory(self) -> WorkingMemory:
        """The robot's working memory, brought up to date with its table."""
        now = self.clock().timestamp()
        self.report(self.working.catch_up(now=now))
        memory = self.working.memory
        for item in memory.items:
            if item.expires_at is not None and item.expires_at <= now:
                memory.remove(item.id)
        return memory

    def hold(self, hits: Sequence[Hit]) -> None:
        """Put recalled nodes into working memory, and count the access.

        The caller waits for no commit: the table has it a moment later. It has it at once where
        others go by the table, in a group, and where this process may stop when it has replied,
        with `embed="now"`. When not all hits fit, rank decides which of them are held, whichever
        were held before. The best hit has the latest access, each worse one a microsecond before
        it: so the most recent item is the best hit.
        """
        now = self.clock()
        seconds = now.timestamp()
        working = self.working
        memory = working.load(now=seconds)
        held_at = [(hit, now - rank * STEP) for rank, hit in enumerate(hits)]
        items = [_item_of_hit(hit, at.timestamp()) for hit, at in held_at]
        is_held = all(item.id in memory for item in items)
        if not is_held and (working.key.shared or self._embed_now):
            self.report(working.hold(items, now=seconds))
        elif not is_held:
            self.report(working.hold_unwritten(items, now=seconds, report=self.report))
        for hit, at in held_at[::-1]:
            memory.touch([hit.node.id], now=at.timestamp())
            self.write_behind.accesses.add(working.key, [hit.node.id], at=at)
        self.write_behind.accesses.seen(self.tenant, self.robot, at=now)

    def use_working_set(self, working: WorkingSet, *, group: str | None) -> None:
        """Use another working set from now on: a group's, or again the robot's own."""
        self.working, self.group = working, group

    def drop(self, ids: Sequence[UUID]) -> None:
        """Take nodes that were hidden or erased out of every working memory that this process holds
        of the tenant.
        """
        if ids:
            self.forgot()
        for open_set in open_sets(self.database, self.tenant):
            open_set.drop([str(id) for id in ids])

    def forgot(self) -> None:
        """Note that something of the tenant was hidden or erased: what this process has read of it
        is read again.
        """
        self.database.forgettings[self.tenant] += 1

    def empty(self, *, owner: str | None, session: str | None) -> None:
        """Empty this process's working memories of an owner, or of one of its sessions, after their
        rows were erased.

        None for both is everybody's in the tenant.
        """
        self.forgot()
        for open_set in open_sets(self.database, self.tenant):
            if owner in (None, open_set.key.owner) and session in (None, open_set.key.session):
                open_set.drop([item.id for item in open_set.memory.items])

    def catch_up_everywhere(self) -> None:
        """Bring every working memory that this process holds of the tenant up to date with its
        table.
        """
        now = self.clock().timestamp()
        for open_set in open_sets(self.database, self.tenant):
            open_set.catch_up(now=now)

    # -- observers ---------------------------------------------------------------------------------

    def report(self, evictions: Sequence[Eviction]) -> None:
        """Give the receipts of evictions to `on_evict`, and emit an event for them."""
        if not evictions:
            return
        for eviction in evictions:
            self._call(self._on_evict, eviction)
        self.emit("evict", count=len(evictions), tokens=sum(each.item.tokens for each in evictions))

    def emit(self, name: str, **data: float | int | str | None) -> None:
        """Give an event to telemetry and to `on_event`; its data are numbers, never content."""
        if self.telemetry is not SILENCE:
            self.telemetry.count(name, data)
        if self._on_event is not None:
            self._call(self._on_event, Event(name=name, at=self.clock(), data=data))

    @staticmethod
    def _call(observer: Callable[[Any], None] | None, what: Eviction | Event) -> None:
        """Call an observer. An error of its own is logged only, since what it observes has happened
        already.
        """
        try:
            if observer is not None:
                observer(what)
        except Exception:
            _log.warning("an observer of %s failed", type(what).__name__, exc_info=True)


def _item_of_hit(hit: Hit, now: float) -> Item:
    """The item of a recalled node, with who said it when and where."""
    node, mention = hit.node, hit.mention
    item = Item(
        id=node.id,
        content=node.content,
        tokens=node.tokens,
        importance=node.importance,
        access_count=node.access_count,
        added_at=now,
        accessed_at=now,
        tags=node.tags,
        keys=node.keys,
        expires_at=None if node.expires_at is None else node.expires_at.timestamp(),
    )
    if mention is None:
        return item
    return replace(
        item,
        name=mention.name,
        role=mention.role,
        session=mention.session,
        said_at=mention.at.timestamp(),
        seq=mention.seq,
        source=mention.source,
    )


def _item_of_entry(memory: WorkingMemory, entry: Entry, now: float, *, place: int) -> Item:
    """The item of an entry; without an importance of its own it keeps the one that working memory
    has.
    """
    importance = entry.importance
    if importance is None:
        item = memory.get(str(entry.node))
        importance = DEFAULT_IMPORTANCE if item is None else item.importance
    return Item(
        id=str(entry.node),
        content=entry.content,
        tokens=entry.tokens,
        importance=importance,
        added_at=now,
        accessed_at=now,
        name=entry.name,
        role=entry.role,
        session=entry.session or None,
        said_at=entry.at.timestamp(),
        seq=place,
        source=entry.source,
        tags=tuple(sorted(entry.tags)),
        keys=() if entry.key is None else (entry.key,),
        expires_at=None if entry.expires_at is None else entry.expires_at.timestamp(),
    )
