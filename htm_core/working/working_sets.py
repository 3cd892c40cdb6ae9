"""Working sets in this process: one instance for each row, kept equal to the table."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Container, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from pydantic import SecretStr

from ..base import time_limit
from ..base.errors import DatabaseUnavailable, InvalidInput, StorageError
from ..base.fork import renewed_after_fork
from ..base.types import Eviction, Item
from ..db.database import Connection, Database
from ..db.errors import retry_transaction
from ..db.owner_claims import claim_of
from ..db.verbs import bounded
from . import store
from .eviction_policies import Policy
from .memory import Plan, WorkingMemory
from .store import CountedAccesses, SetChange, SetChanges, SetKey, SetVersion, Written
from .unwritten import Unwritten

LetGo = Callable[[tuple[Item, ...]], tuple[Item, ...]]
Report = Callable[[Sequence[Eviction]], None]
Place = tuple[str | SecretStr, str]

_log = logging.getLogger("htm.working_sets")

TRIES = 6  # readings before one that met other threads' changes each time is left to the next use
PAUSE = 0.002  # seconds before the second, doubled each time: as long as those commits take


class WorkingSet:
    """The working memory of a robot or a group in a session, kept equal to its rows, which are the
    truth.

    A change of this process is planned, committed and applied. Each commit has a version, and
    versions are committed in order. When one does not follow the version seen last, other processes
    have changed the set, and `catch_up` reads their changes. When a change is applied after a later
    version was read, memory may be out of date: then the whole set is read again.

    What recall holds is applied first and written a moment later, so that nobody waits for it
    (`hold_unwritten`). Until then memory is right about these items, and the table about all
    others.
    """

    def __init__(
        self, database: Database, key: SetKey, *, budget: int, policy: str | Policy
    ) -> None:
        self.key = key
        self.policy = policy
        self._database = database
        # Weakly, so that the set goes with the last memory that has it, and not when the garbage is
        # next collected.
        let_go: weakref.WeakMethod[LetGo] = weakref.WeakMethod(self._let_go)
        self.memory = WorkingMemory(
            budget=budget, policy=policy, on_remove=lambda items: _call(let_go, items)
        )
        self._begin()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child: empty until the next use reads the table."""
        self.memory.renew()
        self._begin()

    def _begin(self) -> None:
        self._reading = threading.Lock()  # one thread reads the table at a time
        self._writing = threading.Lock()  # one thread writes what is unwritten at a time
        # what is held, how far was seen and what is unwritten change together
        self._order = threading.Lock()
        self._unwritten = Unwritten()
        self._seen: SetVersion | None = None
        # memory is what the table was when it was `_seen`, and what was carried out since
        self._loaded = False
        # how often this process's threads have carried something out: what was read before is older
        self._turns = 0
        self.behind = False  # something that was read is still to be taken over

    @property
    def place(self) -> Place:
        """The database that has the set's rows."""
        return self._database.place

    @property
    def id(self) -> UUID | None:
        """The id of the set's row; None until something of it was written or read."""
        seen = self._seen
        return seen.id if seen is not None else None

    def load(self, *, now: float) -> WorkingMemory:
        """The working memory; the first call fills it from the table."""
        if not self._loaded:
            self.catch_up(now=now)
        return self.memory

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self._database.transaction(
            self.key.tenant, claim=claim_of(self.key.owner), followed=False
        )

    def unload(self) -> None:
        """Hold nothing until the next use reads the table, and wait for no thread: what one is
        reading is out of date then.
        """
        with self._order:
            self.memory.drop([item.id for item in self.memory.items])
            self._unwritten = Unwritten()
            self._turns += 1
            self._seen, self._loaded = None, False

    def catch_up(self, *, now: float) -> tuple[Eviction, ...]:
        """Take over what the table holds; answers with the evictions that this caused. One short
        query when nothing is new.

        When commits of other threads interfere each time, `behind` stays true, and the next use
        tries again.
        """
        if self.memory.entered:  # a policy that reads the memory which asks it
            return ()
        evictions: tuple[Eviction, ...] = ()
        with time_limit.locked(self._reading, what="the same working memory"):
            for attempt in range(TRIES):
                turn, changes = self._look()
                self.behind, gone = (
                    (False, ()) if changes is None else self._follow(changes, turn, now=now)
                )
                evictions += gone
                if not self.behind:
                    break
                time.sleep(PAUSE * 2**attempt)
        return evictions

    def _look(self) -> tuple[int, SetChanges | None]:
        with self._order:
            turn, loaded, since = self._turns, self._loaded, self._seen if self._loaded else None
            unwritten = self._unwritten.coming()
        with self._transaction() as connection:
            changes = store.read_changes(
                connection,
                self.key,
                since=since,
                known=self.memory,
                unwritten=[UUID(id) for id in unwritten],
            )
        there_is_no_row = changes is not None and changes.at is None and not changes.dead
        # nor was there one before
        return turn, None if there_is_no_row and loaded and since is None else changes

    def _follow(
        self, changes: SetChanges, turn: int, *, now: float
    ) -> tuple[bool, tuple[Eviction, ...]]:
        """Take over what was read, except for items that a pending plan moves, and for those that
        are yet to be written.

        Answers whether something was left out, and with the evictions.
        """
        with self._order:
            if turn != self._turns:  # others carried out since what may be newer than what was read
                return True, ()
            held, memory, unwritten = changes.held, self.memory, self._unwritten
            self._forget(changes.dead)
            gone = (
                [i.id for i in memory.items if i.id not in held] if changes.whole else changes.gone
            )
            left = unwritten.contradicts(held=held, absent=frozenset(gone))
            left = not memory.leave([id for id in gone if id not in unwritten]) or left
            memory.align(
                [item for id, item in held.items() if id not in unwritten] + unwritten.met(held)
            )
            fresh = [item for id, item in held.items() if id not in memory and id not in unwritten]
            left = left or not all(
                item.content for item in fresh
            )  # it left memory after the read had counted on its content
            plan = memory.plan_load([item for item in fresh if item.content], now=now)
            left = left or any(each.reason == "moving" for each in plan.refused)
            if unwritten.must_precede(plan):
                memory.release(plan)
                return True, ()
        at = changes.at
        if plan.victims:
            written = self._evicted(plan, at)
            if written is None:
                return True, ()
            at = written.at
        with self._order:
            evictions = memory.apply(plan, now=now)
            unwritten.settle(plan)
            left = left or turn != self._turns or not self._came(plan)
            if not left and not (self._loaded and self._seen and at and self._seen.covers(at)):
                self._seen, self._loaded = at, True
        return left, evictions

    def _evicted(self, plan: Plan, at: SetVersion | None) -> SetChange | None:
        """Write the evictions that others' additions cause; None when the set has moved on and must
        be read again.
        """
        written = None
        try:
            with self._transaction() as connection:
                expected = at.version if at is not None else None
                change = store.change(
                    connection, self.key, evicted=plan.victims, expected=expected, noted=self._noted
                )
            written = change()
        finally:
            if written is None:
                self.memory.release(plan)
        return written

    # -- what this process changes -----------------------------------------------------------------

    @property
    def _noted(self) -> bool:
        return self._database.settings.working_history > timedelta(0)

    def write(
        self,
        connection: Connection,
        plan: Plan,
        *,
        live: Container[UUID] | None = None,
        dead: Sequence[UUID] = (),
        recalled: bool = False,
    ) -> Written:
        """Write a plan with the end of the caller's transaction: only `live` nodes come in, and
        `dead` ones leave every set.

        `recalled` says that what comes in was recalled, not said.
        """
        admitted = [item for item in plan.admitted if live is None or UUID(item.id) in live]
        return store.change(
            connection,
            self.key,
            admitted=admitted,
            evicted=plan.victims,
            dead=dead,
            noted=self._noted,
            recalled=recalled,
        )

    def await_writing(self, plan: Plan) -> None:
        """Before a plan's transaction, wait for one that writes what the plan undoes: theirs must
        be the order of the table.

        Nothing that the plan moves begins to be written while it is outstanding.
        """
        with self._order:
            must_wait = bool(self._unwritten.writing) and self._unwritten.must_precede(plan)
        if must_wait:
            with time_limit.locked(self._writing, what="the same working memory"):
                pass

    def apply(self, plan: Plan, written: SetChange | None, *, now: float) -> tuple[Eviction, ...]:
        """Apply a plan that was committed, and take over what others changed before it."""
        with self._order:
            if written is not None and written.refused:
                self._forget(written.refused)
            evictions = self.memory.apply(plan, now=now)
            if self._unwritten.waiting:
                self._unwritten.settle(plan)
            if written is not None:
                self._carried_out(written.at)
                self._loaded = self._loaded and self._came(plan, besides=written.refused)
            behind = (
                None
                if written is None or (self._loaded and self._seen == written.at)
                else written.at
            )
        return evictions if behind is None else evictions + self._caught_up(behind, now=now)

    def hold(self, items: Sequence[Item], *, now: float) -> tuple[Eviction, ...]:
        """Hold recalled items, the best first, in a transaction of its own."""
        plan = self.load(now=now).plan_by_rank(items, now=now)

        def write() -> SetChange | None:
            self.await_writing(plan)
            with self._transaction() as connection:
                change = self.write(connection, plan, recalled=True)
            return change()

        try:
            written = retry_transaction(write)
        except BaseException:
            self.memory.release(plan)
            raise
        if written is None:  # there was nothing to hold, or it was all erased meanwhile
            self.memory.release(plan)
            return ()
        return self.apply(plan, written, now=now)

    def hold_unwritten(
        self, items: Sequence[Item], *, now: float, report: Report
    ) -> tuple[Eviction, ...]:
        """Hold recalled items at once, the best first, and leave it to `write_unwritten` to say so
        in the table.

        Until then this process keeps the set, even when nobody else has it. `report` is given the
        evictions that writing causes.
        """
        memory = self.load(now=now)
        plan = memory.plan_by_rank(items, now=now)
        with self._order:
            evictions = memory.apply(plan, now=now)
            self._unwritten.add(plan)
        with _lock:
            _unwritten_sets[self] = report
        return evictions

    @property
    def is_written(self) -> bool:
        """True if the table has all that this process has done to the set."""
        with self._order:
            return not (self._unwritten.waiting or self._unwritten.writing)

    def write_unwritten(self, *, now: float) -> tuple[Eviction, ...]:
        """Write what was held without writing it; answers with the evictions that this causes.

        What a plan of another thread is moving waits for the next time, and so does everything when
        it cannot be written: then the error is raised.
        """
        with time_limit.locked(self._writing, what="the same working memory"):
            with self._order:
                moves = self._unwritten.begin(
                    besides=self.memory.moving(self._unwritten.waiting)
                ).values()
            evicted = [move.evicted for move in moves if move.evicted is not None]
            admitted = [move.admitted for move in moves if move.admitted is not None]

            def write() -> SetChange | None:
                with self._transaction() as connection:
                    change = store.change(
                        connection,
                        self.key,
                        admitted=admitted,
                        evicted=evicted,
                        noted=self._noted,
                        recalled=True,
                    )
                return change()

            try:
                written = retry_transaction(write, repeatable=True) if moves else None
            except BaseException:
                with self._order:
                    self._unwritten.put_back()
                raise
            with self._order:
                self._unwritten.end()
                if written is None:  # there was nothing to write, or it was all erased meanwhile
                    self._forget([item.id for item in admitted])
                    return ()
                self._forget(written.refused)
                self._turns += 1  # what was read before does not have it
                if self._loaded and written.at.follows(self._seen):
                    self._seen = written.at
        return self._caught_up(written.at, now=now) if self._loaded else ()

    def _forget(self, ids: Collection[str]) -> None:
        """Remove items whose nodes were forgotten. The caller holds `_order`."""
        self.memory.drop(ids)
        self._unwritten.remove(ids)

    def drop(self, ids: Sequence[str]) -> None:
        """Remove items that the table no longer has, since they were forgotten or erased."""
        with self._order:
            self._unwritten.remove(ids)
            if self.memory.concerns(ids):
                self.memory.drop(ids)
                # As which version is not known here, and another thread may have brought one of
                # them back by now.
                self._turns += 1
                self._loaded = False

    def _came(self, plan: Plan, *, besides: Container[str] = ()) -> bool:
        """True if all that a plan adds is held. What was removed after the plan was made is not,
        but may be in the table.
        """
        return all(item.id in self.memory or item.id in besides for item in plan.admitted)

    def _carried_out(self, at: SetVersion) -> None:
        """Note that a change of this process, committed as version `at`, is in memory. The caller
        holds `_order`.
        """
        self._turns += 1
        if self._loaded and at.follows(self._seen):
            self._seen = at
        elif self._seen is not None and self._seen.covers(at):
            self._loaded = False  # what was read since has been overwritten

    def count(self, written: CountedAccesses) -> None:
        """Take over access counts that this or another process has written."""
        with self._order:
            known = [item for item in self.memory.items if item.id in written.counts]
            self.memory.align(
                replace(
                    item,
                    access_count=written.counts[item.id][0],
                    accessed_at=written.counts[item.id][1],
                )
                for item in known
            )
            if self._loaded and written.at.follows(self._seen):
                self._seen = written.at

    def _caught_up(self, at: SetVersion, *, now: float) -> tuple[Eviction, ...]:
        seen = self._seen
        if self._loaded and seen is not None and seen.covers(at):
            return ()
        try:
            return self.catch_up(now=now)
        except (
            StorageError,
            time_limit.OutOfTime,
        ) as error:  # the change is committed; the next use reads what others did
            _log.warning("a working set will be read later: %s", type(error).__name__)
            return ()

    def go_with(self, database: Database) -> None:
        """Work through the database of whoever gives a verb the least time: no memory that has the
        set open waits for longer.

        One that was given the key of the wall between users comes before one that was not, which
        may be refused.
        """
        if _rank(database) < _rank(self._database):
            self._database = database

    def _let_go(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        ids = [item.id for item in items]

        def write() -> SetChange | None:
            with self._transaction() as connection:
                change = store.remove(
                    connection, self.key, ids, at=datetime.now(UTC), noted=self._noted
                )
            return change()

        with (
            bounded(self._database.settings),
            time_limit.locked(self._writing, what="the same working memory"),
        ):
            written = retry_transaction(write)
            with self._order:
                gone = self.memory.drop(ids)
                self._unwritten.remove(ids)
                if written is not None:
                    self._carried_out(written.at)
        return gone


def _rank(database: Database) -> tuple[bool, float]:
    return database.settings.user_walls_key is None, database.settings.verb_timeout


def _call(method: weakref.WeakMethod[LetGo], items: tuple[Item, ...]) -> tuple[Item, ...]:
    known = method()
    return known(items) if known is not None else ()


_sets: weakref.WeakValueDictionary[tuple[Place, SetKey], WorkingSet] = weakref.WeakValueDictionary()
# kept until they are written, even when no memory has them any more
_unwritten_sets: dict[WorkingSet, Report] = {}
_lock = threading.Lock()


def working_set(
    database: Database, key: SetKey, *, budget: int, policy: str | Policy
) -> WorkingSet:
    """The process's one working set for a key; opening it with another budget or policy raises
    `InvalidInput`.
    """
    opened = _opened(database, key, budget=budget, policy=policy)
    if (opened.memory.budget, opened.policy) == (budget, policy):
        return opened
    with _lock:
        report = _unwritten_sets.get(opened)
    if report is not None:  # perhaps nobody has it any more, and it stays only until it is written
        with contextlib.suppress(StorageError):
            _write(opened, report)
    is_open_with = f"budget={opened.memory.budget} and policy={opened.policy!r}"
    del opened, report  # which keeps the engine, and the engine the set
    opened = _opened(database, key, budget=budget, policy=policy)
    if (opened.memory.budget, opened.policy) == (budget, policy):
        return opened
    raise InvalidInput(
        f"expected {is_open_with}, with which this working memory is open in this process, got "
        f"{budget!r} and {policy!r}; "
        "use the same, or another robot or session"
    )


def _opened(database: Database, key: SetKey, *, budget: int, policy: str | Policy) -> WorkingSet:
    """The set of a key as it is open in this process, or else a new one."""
    with _lock:
        known = _sets.get((database.place, key))
        if known is None:
            known = _sets[database.place, key] = WorkingSet(
                database, key, budget=budget, policy=policy
            )
        elif (known.memory.budget, known.policy) == (budget, policy):
            known.go_with(database)
        return known


def _write(unwritten: WorkingSet, report: Report) -> None:
    """Write what a set held without writing it; then only memories keep the set."""
    report(unwritten.write_unwritten(now=time.time()))
    with _lock:
        if unwritten.is_written:
            _unwritten_sets.pop(unwritten, None)


def write_unwritten_sets(database: Database) -> None:
    """Write what was held without writing it, set by set. What cannot be written is kept, and the
    first error raised at the end.

    When the database is away, the first set shows it, and the others are not tried.
    """
    with _lock:
        due = [
            (each, report)
            for each, report in _unwritten_sets.items()
            if each.place == database.place
        ]
    failure: StorageError | None = None
    for unwritten, report in due:
        try:
            _write(unwritten, report)
        except DatabaseUnavailable:
            raise
        except StorageError as error:
            failure = failure or error
    if failure is not None:
        raise failure


def open_sets(database: Database, tenant: str | None = None) -> list[WorkingSet]:
    """The working sets that this process has open in a database, of one tenant or of all."""
    with _lock:
        return [
            each
            for (at, key), each in _sets.items()
            if at == database.place and tenant in (None, key.tenant)
        ]


def counted(database: Database, key: SetKey, written: CountedAccesses) -> None:
    """Pass written access counts to the working set of a key, if this process has it open."""
    with _lock:
        known = _sets.get((database.place, key))
    if known is not None:
        known.count(written)


def forget_sets() -> None:
    """Unload every working set, so that its next use reads the table; what could not be written is
    lost.
    """
    with _lock:
        known = list(_sets.values())
        if _unwritten_sets:
            _log.warning(
                "what %d working memories held last could not be written", len(_unwritten_sets)
            )
        _unwritten_sets.clear()
    for open_set in known:
        open_set.unload()


def _renew_lock() -> None:
    # Another thread of the parent may have held it, and is not here to let it go. The parent writes
    # what it has held.
    global _lock
    _lock = threading.Lock()
    _unwritten_sets.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
