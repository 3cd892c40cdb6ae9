"""The heart of a process: says that its robots live, and sees to it that a lost one has a successor."""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from ..engine.engine import Engine
from ..engine.working_sets import WorkingSet
from ..errors import HTMError
from ..fork import renewed_after_fork
from ..store import groups
from ..store.database import Database
from ..store.groups import GroupMembership, Role

_log = logging.getLogger("htm.hive")

BEATS = 4  # in each lease; who has missed three is late, which the migration of groups knows as well
SOONEST = 0.02  # seconds between two beats at least

Name = tuple[str, str, str]  # tenant, group, robot


@dataclass(slots=True)
class Membership:
    """A robot in a group, as this process speaks for it; the working set is held, so that who takes over has it in mind."""

    role: Role | None  # None: put out, or spoken for by another process
    term: int
    lease: float
    group_id: UUID
    working: WorkingSet
    minds: weakref.WeakSet[Engine] = field(default_factory=weakref.WeakSet)


class Heartbeat:
    """Beats four times in a lease for every robot of this process that is in a group, in one thread for all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Begin again in a forked child: the memberships are the parent's, and it is the parent who speaks for them."""
        self.instance = uuid4()
        self._lock = threading.Lock()
        self._memberships: dict[Name, Membership] = {}
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, name: Name, membership: Membership, engine: Engine) -> None:
        """Speak for a member from now on; for one that is known already the first membership stays."""
        with self._lock:
            self._memberships.setdefault(name, membership).minds.add(engine)
            if self._thread is None or not self._thread.is_alive():
                self._stopping.clear()
                self._thread = threading.Thread(target=self._run, name="htm-heart", daemon=True)
                self._thread.start()
        self._wanted.set()

    def tell(self, engine: Engine) -> None:
        """Tell a memory of a member's, too, what happens to the member."""
        with self._lock:
            known = self._memberships.get((engine.tenant, engine.group or "", engine.robot))
            if known is not None:
                known.minds.add(engine)

    def drop(self, name: Name) -> list[Engine]:
        """Speak for a member no more, and give the memories that were told of it."""
        with self._lock:
            gone = self._memberships.pop(name, None)
        return [] if gone is None else list(gone.minds)

    def names(self) -> list[Name]:
        """The members that this process speaks for."""
        with self._lock:
            return list(self._memberships)

    def role(self, name: Name) -> Role | None:
        """A member's role when its heart last beat; None for one that this process does not speak for."""
        with self._lock:
            known = self._memberships.get(name)
        return None if known is None else known.role

    def observer(self, working: WorkingSet) -> Engine | None:
        """A memory of this process that is told of what happens to a working set."""
        with self._lock:
            minds = [engine for each in self._memberships.values() for engine in each.minds]
        return next((engine for engine in minds if engine.working is working), None)

    def hint(self, ids: set[str]) -> None:
        """Beat at once when one of these is a group of ours: who is active may have changed."""
        with self._lock:
            ours = any(str(each.group_id) in ids for each in self._memberships.values())
        if ours:
            self.wake()

    def wake(self) -> None:
        """Beat at once, if this process speaks for anybody."""
        if self.names():
            self._wanted.set()

    def stop(self, timeout: float = 10.0) -> None:
        """End the thread; what it spoke for is late when its lease is over, unless it has left before."""
        self._stopping.set()
        self._wanted.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(timeout)

    def look(self) -> None:
        """Read the roles now, since one was changed; where the database is away meanwhile, the next beat reads them."""
        with contextlib.suppress(HTMError):
            self.beat()

    def beat(self) -> float:
        """Beat for all, elect where somebody is late, and give the seconds until the next time."""
        standings = [each for tenant in sorted({name[0] for name in self.names()}) for each in self._beat(tenant)]
        waits = [min(each.lease / BEATS, _late(each)) for each in standings]
        return max(SOONEST, min(waits, default=60.0))

    def _beat(self, tenant: str) -> list[GroupMembership]:
        standings = self._read(tenant)
        due = sorted({each.group for each in standings if _late(each) <= 0})
        for group in due:
            with self._database.transaction(tenant) as connection:
                elected = groups.elect(connection, group)
            _log.info("%d lost members of a group have a successor", len(elected))
        return self._read(tenant) if due else standings

    def _read(self, tenant: str) -> list[GroupMembership]:
        asked = [name for name in self.names() if name[0] == tenant]
        with self._database.transaction(tenant) as connection:
            standings = groups.heartbeat(connection, instance=self.instance)
        self._compare(asked, {(tenant, each.group, each.robot): each for each in standings})
        return standings

    def _compare(self, asked: list[Name], standings: dict[Name, GroupMembership]) -> None:
        """Take over the roles that were read, and tell whoever observes; who was put out, or spoken for elsewhere, has none."""
        changed: list[Membership] = []
        with self._lock:
            for name in asked:
                membership, standing = self._memberships.get(name), standings.get(name)
                if membership is None or (standing is not None and standing.term < membership.term):
                    continue  # left meanwhile, or read before what another thread has read
                role = None if standing is None else standing.role
                if role != membership.role:
                    membership.role = role
                    changed.append(membership)
                if standing is None:
                    del self._memberships[name]
                else:
                    membership.term = standing.term
        for membership in changed:
            for engine in list(membership.minds):
                engine.emit("role", active=int(membership.role == "active"))

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
                # The database is away: everybody's heart is silent, and after its start all have their time anew.
                _log.warning("the heart could not beat: %s", type(error).__name__)
                pause = self._soon()

    def _soon(self) -> float:
        with self._lock:
            leases = [each.lease for each in self._memberships.values()]
        return max(SOONEST, min(leases, default=1.0) / (2 * BEATS))


def _late(standing: GroupMembership) -> float:
    """In how many seconds a passive member is called for; for an active one that is never."""
    if standing.role == "active" or standing.due is None:
        return float("inf")
    return standing.due
