"""Groups: robots that hold one working memory together, of which another takes over when an active one is gone."""

from __future__ import annotations

from types import TracebackType
from typing import Self, cast

from ..engine.engine import Engine
from ..engine.working_sets import WorkingSet, working_set
from ..errors import InvalidInput, NotFound
from ..rules import validation
from ..rules.validation import LONGEST_LEASE, SHORTEST_LEASE, lease_seconds
from ..store import groups
from ..store.database import Connection, Database
from ..store.groups import GroupRules, Role
from ..store.working import SetKey
from ..types import GroupStatus, Member
from .heartbeat import Heartbeat, Membership
from .listener import Listener

ROLES = ("active", "passive")
LEASE = 10.0  # seconds, of a group whose first member names none


class Group:
    """A robot's membership in a group. Leaving it, as at the end of a `with`, gives the robot its own working memory back."""

    def __init__(self, name: str, *, engine: Engine, heartbeat: Heartbeat, listener: Listener) -> None:
        self.name = name
        self._engine = engine
        self._heartbeat = heartbeat
        self._listener = listener

    def __repr__(self) -> str:
        return f"Group({self.name!r}, robot={self._engine.robot!r}, role={self.role!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def role(self) -> str | None:
        """This robot's role when its heart last beat: "active" or "passive", None once it has left."""
        return self._heartbeat.role(self._key)

    def leave(self, robot: str | None = None) -> None:
        """Be a member no more, or take a lost robot out. The last active one hands over to who has stood by longest."""
        leaving = robot or self._engine.robot
        with self._engine.transaction() as connection:
            _take_out(connection, self.name, robot=leaving)
        if leaving == self._engine.robot:
            for engine in {*self._heartbeat.drop(self._key), self._engine}:
                engine.use_working_set(_working(engine, None), group=None)
        self._heartbeat.look()

    def promote(self, robot: str | None = None) -> None:
        """Make a passive member active beside those who are; this robot, unless another is named."""
        with self._engine.transaction() as connection:
            member = self._member(self._members(connection), robot)
            if member.role == "active":
                raise InvalidInput(
                    f"expected a passive member to promote, got {member.robot!r}, which is active already"
                )
            if not member.live:
                raise InvalidInput(f"expected a member that lives, got {member.robot!r}, whose heartbeat is late")
            groups.set_roles(connection, self.name, {member.robot: "active"})
        self._heartbeat.look()

    def demote(self, robot: str | None = None) -> None:
        """Make an active member passive; this robot, unless another is named. The last active one cannot be: `failover`."""
        with self._engine.transaction() as connection:
            members = self._members(connection)
            member = self._member(members, robot)
            if member.role == "passive":
                raise InvalidInput(
                    f"expected an active member to demote, got {member.robot!r}, which is passive already"
                )
            if not any(m.role == "active" and m.live and m.robot != member.robot for m in members.values()):
                raise InvalidInput(
                    f"expected another active member beside {member.robot!r}, got none: promote one first, or use failover()"
                )
            groups.set_roles(connection, self.name, {member.robot: "passive"})
        self._heartbeat.look()

    def failover(self) -> str:
        """Hand over now: an active member becomes passive, whoever has stood by longest active; say who that is.

        Of several active ones it is one whose heartbeat is late, else this robot, else the first. Raises `InvalidInput`
        when nobody who lives stands by.
        """
        with self._engine.transaction() as connection:
            members = self._members(connection)
            successor = _successor(members)
            if successor is None:
                raise InvalidInput(
                    "expected a passive member that lives to take over, got none; let a robot join as passive"
                )
            active = [m for m in members.values() if m.role == "active"]
            active.sort(key=lambda m: (m.live, m.robot != self._engine.robot))
            roles: dict[str, Role] = {active[0].robot: "passive"} if active else {}
            groups.set_roles(connection, self.name, {**roles, successor: "active"})
        self._heartbeat.look()
        return successor

    def status(self) -> GroupStatus:
        """Who is in the group, who is active and lives, and what it holds of this owner and session."""
        with self._engine.transaction() as connection:
            return status(
                connection, self.name, owner=self._engine.owner, session=self._engine.session or "",
                listening=self._listener.listening,
            )  # fmt: skip

    @property
    def _key(self) -> tuple[str, str, str]:
        return (self._engine.tenant, self.name, self._engine.robot)

    def _members(self, connection: Connection) -> dict[str, Member]:
        """The members by name; nobody else changes them until the transaction ends."""
        return _locked(connection, self.name)

    def _member(self, members: dict[str, Member], robot: str | None) -> Member:
        name = robot or self._engine.robot
        if name not in members:
            raise InvalidInput(
                f"expected a member of the group {self.name!r}, got {name!r}; there are: {', '.join(members) or 'none'}"
            )
        return members[name]


def enter(
    engine: Engine, heartbeat: Heartbeat, listener: Listener, name: str, *, role: str, lease: float | None
) -> Group:
    """Join a group: from now on the robot holds the group's working memory; raises `InvalidInput`."""
    validation.check_name(name, what="group")
    if role not in ROLES:
        raise InvalidInput(f"expected role to be one of {', '.join(ROLES)}, got {role!r}")
    if engine.group not in (None, name):
        raise InvalidInput(f"expected a robot in no other group, got one in {engine.group!r}; leave it first")
    seconds = None if lease is None else _checked(lease)
    working = _working(engine, name)
    key = (engine.tenant, name, engine.robot)
    if heartbeat.role(key) is not None:  # another memory of the robot has joined: nothing changes for the group
        engine.use_working_set(working, group=name)
        heartbeat.tell(engine)
        return Group(name, engine=engine, heartbeat=heartbeat, listener=listener)
    with engine.transaction() as connection:
        rules = _agreed(connection, engine, name, working, seconds)
        joined = groups.join(connection, name, robot=engine.robot, role=cast(Role, role), instance=heartbeat.instance)
    membership = Membership(role=joined, term=rules.term, lease=rules.lease, group_id=rules.id, working=working)
    engine.use_working_set(working, group=name)
    heartbeat.take(key, membership, engine)
    listener.start()
    engine.working_memory()
    return Group(name, engine=engine, heartbeat=heartbeat, listener=listener)


def leave_all(heartbeat: Heartbeat, database: Database) -> None:
    """Leave every group that a process's robots are in, so that successors need not wait for the lease."""
    for tenant, name, robot in heartbeat.names():
        with database.transaction(tenant) as connection:
            instances = {member.robot: instance for member, instance in groups.members(connection, name)}
            if instances.get(robot) == heartbeat.instance:
                _take_out(connection, name, robot=robot)
        heartbeat.drop((tenant, name, robot))


def status(connection: Connection, name: str, *, owner: str, session: str | None, listening: bool) -> GroupStatus:
    """How a group stands; what it holds is of one session, or of all."""
    rules = groups.rules(connection, name, lock=False)
    if rules is None:
        raise NotFound(f"expected a group of this tenant, got {name!r}; memory.group({name!r}) makes it")
    items, tokens = groups.count_items(connection, name, owner=owner, session=session)
    return GroupStatus(
        name=name,
        lease=rules.lease,
        term=rules.term,
        members=tuple(member for member, _ in groups.members(connection, name)),
        working_items=items,
        working_tokens=tokens,
        budget=rules.budget,
        listening=listening,
    )


def every(engine: Engine, *, name: str | None, session: str | None) -> list[GroupStatus]:
    """How the groups of a tenant stand, or the one that is named, as this owner sees them; nobody listens for this."""
    with engine.transaction() as connection:
        names = groups.list_names(connection) if name is None else [validation.check_name(name, what="group")]
        return [status(connection, each, owner=engine.owner, session=session, listening=False) for each in names]


def _locked(connection: Connection, name: str) -> dict[str, Member]:
    groups.rules(connection, name, lock=True)
    return {member.robot: member for member, _ in groups.members(connection, name)}


def _take_out(connection: Connection, name: str, *, robot: str) -> None:
    """Delete a membership; where nobody active who lives would be left, the longest passive one becomes active."""
    members = _locked(connection, name)
    if robot not in members:
        return
    rest = {other: member for other, member in members.items() if other != robot}
    successor = _successor(rest)
    alone = not any(member.role == "active" and member.live for member in rest.values())
    if members[robot].role == "active" and successor is not None and alone:
        groups.set_roles(connection, name, {successor: "active"})
    groups.leave(connection, name, robot=robot)


def _agreed(connection: Connection, engine: Engine, name: str, working: WorkingSet, lease: float | None) -> GroupRules:
    """The group's rules under its lock. Who comes alone makes them; who joins others must have the same."""
    mine = (working.memory.budget, working.memory.policy)
    groups.create(connection, name, budget=mine[0], policy=mine[1], lease=lease or LEASE)
    rules = groups.rules(connection, name, lock=True)
    assert rules is not None  # it was made just now, or before
    theirs = (rules.budget, rules.policy)
    if theirs == mine and lease in (None, rules.lease):
        return rules
    if any(member.live and member.robot != engine.robot for member, _ in groups.members(connection, name)):
        raise InvalidInput(
            f"expected budget={rules.budget}, policy={rules.policy!r} and lease={rules.lease:g}, which the members of the group "
            f"{name!r} have, got {mine[0]}, {mine[1]!r} and {'none' if lease is None else format(lease, 'g')}; use the same"
        )
    groups.change_rules(connection, name, budget=mine[0], policy=mine[1], lease=lease or rules.lease)
    changed = groups.rules(connection, name, lock=True)
    assert changed is not None  # its row is locked
    return changed


def _working(engine: Engine, group: str | None) -> WorkingSet:
    """The working set of the robot alone, or of a group, with the robot's own budget and policy."""
    key = SetKey(
        tenant=engine.tenant,
        owner=engine.owner,
        holder=group or engine.robot,
        session=engine.session or "",
        shared=group is not None,
    )
    return working_set(engine.database, key, budget=engine.working.memory.budget, policy=engine.working.policy)


def _successor(members: dict[str, Member]) -> str | None:
    return next((member.robot for member in members.values() if member.role == "passive" and member.live), None)


def _checked(lease: object) -> float:
    seconds = lease_seconds(lease)
    if seconds is None:
        raise InvalidInput(f"expected lease to be seconds from {SHORTEST_LEASE} to {LONGEST_LEASE:,.0f}, got {lease!r}")
    return seconds
