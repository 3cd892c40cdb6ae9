"""The heartbeat of a process: it says that the process's robots are alive, and replaces active
robots that are late.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from ...base.errors import HTMError
from ...base.fork import renewed_after_fork
from ...db.database import Database
from ...working.working_sets import WorkingSet
from ..engine import Engine
from . import store
from .store import GroupMembership, Role

_log = logging.getLogger("htm.groups")

# in each lease; a robot that missed three is late, as in the SQL function seconds_until_late
BEATS = 4
SHORTEST_PAUSE = 0.02  # seconds between two beats

MemberKey = tuple[str, str, str]  # tenant, group, robot


@dataclass(slots=True)
class LocalMember:
    """A member of a group whose robot belongs to this process.

    It keeps the group's working set loaded, so that a robot that becomes active has the content in
    memory already.
    """

    role: Role | None  # None: removed from the group, or taken over by another process
    term: int
    lease: float
    group_id: UUID
    working: WorkingSet
    engines: weakref.WeakSet[Engine] = field(default_factory=weakref.WeakSet)


class Heartbeat:
    """Writes the heartbeat of every robot of this process that is in a group, four times in a
    lease, in one thread.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Start again in a forked child: the members are the parent's, and the parent goes on with
        their heartbeat.
        """
        self.instance = uuid4()
        self._lock = threading.Lock()
        self._members: dict[MemberKey, LocalMember] = {}
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, key: MemberKey, member: LocalMember, engine: Engine) -> None:
        """Write the heartbeat of a member from now on; a member that is known already stays as it
        is.
        """
        with self._lock:
            self._members.setdefault(key, member).engines.add(engine)
            if self._thread is None or not self._thread.is_alive():
                self._stopping.clear()
                self._thread = threading.Thread(target=self._run, name="htm-heartbeat", daemon=True)
                self._thread.start()
        self._wanted.set()

    def add_engine(self, engine: Engine) -> None:
        """Send the events of a member to this memory as well, if it is a memory of a member."""
        with self._lock:
            known = self._members.get((engine.tenant, engine.group or "", engine.robot))
            if known is not None:
                known.engines.add(engine)

    def remove(self, key: MemberKey) -> list[Engine]:
        """End the heartbeat of a member, and give the memories that received its events."""
        with self._lock:
            gone = self._members.pop(key, None)
        return [] if gone is None else list(gone.engines)

    def member_keys(self) -> list[MemberKey]:
        """Give the members of this process."""
        with self._lock:
            return list(self._members)

    def role(self, key: MemberKey) -> Role | None:
        """Give a member's role as of the last heartbeat; None for one that is no member of this
        process.
        """
        with self._lock:
            known = self._members.get(key)
        return None if known is None else known.role

    def engine_of(self, working: WorkingSet) -> Engine | None:
        """Give a memory of this process that receives the events of a working set."""
        with self._lock:
            engines = [engine for each in self._members.values() for engine in each.engines]
        return next((engine for engine in engines if engine.working is working), None)

    def group_ids(self) -> set[str]:
        """The ids of the groups that members of this process are in."""
        with self._lock:
            return {str(each.group_id) for each in self._members.values()}

    def wake_for(self, ids: set[str]) -> None:
        """Beat at once when one of these ids is a group of this process: its roles may have
        changed.
        """
        if not ids.isdisjoint(self.group_ids()):
            self.wake()

    def wake(self) -> None:
        """Beat at once, if this process has members."""
        if self.member_keys():
            self._wanted.set()

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread; members that have not left are late when their lease is over."""
        self._stopping.set()
        self._wanted.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(timeout)

    def refresh(self) -> None:
        """Read the roles now, after a change; when the database is away, the next beat
        reads them.
        """
        with contextlib.suppress(HTMError):
            self.beat()

    def beat(self) -> float:
        """Write the heartbeat of all members, replace robots that are late, and give the seconds
        until the next beat.
        """
        memberships: list[GroupMembership] = []
        for tenant in sorted({key[0] for key in self.member_keys()}):
            current = self._beat(tenant)
            late = sorted({each.group for each in current if _seconds_until_late(each) <= 0})
            for group in late:
                with self._database.transaction(tenant) as connection:
                    elected = store.elect(connection, group)
                _log.info("%d late members of a group were replaced", len(elected))
            memberships += self._beat(tenant) if late else current
        waits = [min(each.lease / BEATS, _seconds_until_late(each)) for each in memberships]
        return max(SHORTEST_PAUSE, min(waits, default=60.0))

    def _beat(self, tenant: str) -> list[GroupMembership]:
        """Write the heartbeat of a tenant's members, and take over the roles that the table has
        now.

        Memories are notified of a changed role. A member that the table does not have any more has
        no role: it was removed, or another process has taken it over.
        """
        keys = [key for key in self.member_keys() if key[0] == tenant]
        with self._database.transaction(tenant) as connection:
            memberships = store.heartbeat(connection, instance=self.instance)
        stored = {(tenant, each.group, each.robot): each for each in memberships}
        changed: list[LocalMember] = []
        with self._lock:
            for key in keys:
                member, now = self._members.get(key), stored.get(key)
                if member is None or (now is not None and now.term < member.term):
                    continue  # it has left meanwhile, or another thread has read a newer term
                role = None if now is None else now.role
                if role != member.role:
                    member.role = role
                    changed.append(member)
                if now is None:
                    del self._members[key]
                else:
                    member.term = now.term
        for member in changed:
            for engine in list(member.engines):
                engine.emit("role", active=int(member.role == "active"))
        return memberships

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            self._wanted.wait(pause)
            self._wanted.clear()
            if self._stopping.is_set():
                break
            try:
                pause = self.beat()
            except HTMError as error:
                # The database is away, so no heartbeat is written at all; when it starts again,
                # every lease begins again.
                _log.warning("the heartbeat could not be written: %s", type(error).__name__)
                with self._lock:
                    leases = [each.lease for each in self._members.values()]
                pause = max(SHORTEST_PAUSE, min(leases, default=1.0) / (2 * BEATS))


def _seconds_until_late(membership: GroupMembership) -> float:
    """Give the seconds until another member, an active one, is late and this passive one may
    replace it; else infinity.
    """
    if membership.role == "active" or membership.due is None:
        return float("inf")
    return membership.due
