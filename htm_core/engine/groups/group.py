"""Groups: robots that share one working memory; when an active robot is lost, a passive one becomes
active.
"""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import Self, cast
from uuid import UUID

from ...base import validation
from ...base.errors import InvalidInput, NotFound
from ...base.types import GroupStatus, Member
from ...base.validation import LONGEST_LEASE, SHORTEST_LEASE, lease_seconds
from ...db.database import Connection, Database
from ...db.errors import attempts, retry_transaction
from ...db.verbs import verbs
from ...working.store import SetKey
from ...working.working_sets import WorkingSet, working_set
from ..engine import Engine
from . import store
from .heartbeat import Heartbeat, LocalMember
from .listener import Listener
from .store import GroupRules, Role

ROLES = ("active", "passive")
LEASE = 10.0  # seconds; the default of a group's first member


@verbs("htm.group")
class Group:
    """A robot's membership in a group. It leaves the group at the end of a `with`, and has its own
    working memory again.
    """

    def __init__(
        self, name: str, *, engine: Engine, heartbeat: Heartbeat, listener: Listener
    ) -> None:
        self.name = name
        self._engine = engine
        self._heartbeat = heartbeat
        self._listener = listener

    def __repr__(self) -> str:
        return f"Group({self.name!r}, robot={self._engine.robot!r}, role={self.role!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    @property
    def role(self) -> str | None:
        """This robot's role as of its last heartbeat: "active" or "passive", None once
        it has left.
        """
        return self._heartbeat.role(self._key)

    def leave(self, robot: str | None = None) -> None:
        """Leave the group, or remove another robot from it.

        When no live active member would be left, the live passive member that joined first becomes
        active.
        """
        leaving = robot or self._engine.robot
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                _remove_member(connection, self.name, robot=leaving)
        if leaving == self._engine.robot:
            for engine in {*self._heartbeat.remove(self._key), self._engine}:
                engine.use_working_set(_working_set_of(engine, None), group=None)
        self._heartbeat.refresh()

    def promote(self, robot: str | None = None) -> None:
        """Make a passive member active; this robot, unless another is named. Other active members
        stay active.
        """
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                member = self._member(_locked_members(connection, self.name), robot)
                if member.role == "active":
                    raise InvalidInput(
                        f"expected a passive member to promote, got {member.robot!r}, which is "
                        "active already"
                    )
                if not member.live:
                    raise InvalidInput(
                        f"expected a live member to promote, got {member.robot!r}, whose "
                        "heartbeat is late"
                    )
                store.set_roles(connection, self.name, {member.robot: "active"})
        self._heartbeat.refresh()

    def demote(self, robot: str | None = None) -> None:
        """Make an active member passive; this robot, unless another is named. For the last active
        one use `failover`.
        """
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                members = _locked_members(connection, self.name)
                member = self._member(members, robot)
                if member.role == "passive":
                    raise InvalidInput(
                        f"expected an active member to demote, got {member.robot!r}, which is "
                        "passive already"
                    )
                if not any(
                    m.role == "active" and m.live and m.robot != member.robot
                    for m in members.values()
                ):
                    raise InvalidInput(
                        f"expected another active member beside {member.robot!r}, got none: "
                        "promote one first, or use failover()"
                    )
                store.set_roles(connection, self.name, {member.robot: "passive"})
        self._heartbeat.refresh()

    def failover(self) -> str:
        """Make an active member passive and a passive one active; give the name of the new active
        one.

        The new active member is the live passive one that joined first. Of several active members
        one with a late heartbeat becomes passive, else this robot, else the first. Raises
        `InvalidInput` when there is no live passive member.
        """
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                members = _locked_members(connection, self.name)
                successor = _successor(members)
                if successor is None:
                    raise InvalidInput(
                        "expected a live passive member to take over, got none; let a robot join "
                        "as passive"
                    )
                active = [m for m in members.values() if m.role == "active"]
                active.sort(key=lambda m: (m.live, m.robot != self._engine.robot))
                roles: dict[str, Role] = {active[0].robot: "passive"} if active else {}
                store.set_roles(connection, self.name, {**roles, successor: "active"})
        self._heartbeat.refresh()
        assert successor is not None  # without one it was refused
        return successor

    def status(self) -> GroupStatus:
        """Give the members with their roles, who of them is live, and what the group holds of this
        owner and session.
        """
        with self._engine.transaction() as connection:
            return group_status(
                connection,
                self.name,
                owner=self._engine.owner,
                session=self._engine.session or "",
                listening=self._listener.listening,
            )

    @property
    def _key(self) -> tuple[str, str, str]:
        return (self._engine.tenant, self.name, self._engine.robot)

    def _member(self, members: dict[str, Member], robot: str | None) -> Member:
        name = robot or self._engine.robot
        if name not in members:
            raise InvalidInput(
                f"expected a member of the group {self.name!r}, got {name!r}; there are: "
                f"{', '.join(members) or 'none'}"
            )
        return members[name]


def join_group(
    engine: Engine,
    heartbeat: Heartbeat,
    listener: Listener,
    name: str,
    *,
    role: str,
    lease: float | None,
) -> Group:
    """Join a group: from now on the robot has the group's working memory. Raises `InvalidInput`."""
    name = validation.normal_name(name, what="group")
    if role not in ROLES:
        raise InvalidInput(f"expected role to be one of {', '.join(ROLES)}, got {role!r}")
    if engine.group not in (None, name):
        raise InvalidInput(
            f"expected a robot in no other group, got one in {engine.group!r}; leave it first"
        )
    seconds = None if lease is None else lease_seconds(lease)
    if lease is not None and seconds is None:
        raise InvalidInput(
            f"expected lease to be seconds from {SHORTEST_LEASE} to "
            f"{LONGEST_LEASE:,.0f}, got {lease!r}"
        )
    working = _working_set_of(engine, name)
    key = (engine.tenant, name, engine.robot)
    # another memory of this robot is a member: nothing changes for the group
    if heartbeat.role(key) is not None:
        engine.use_working_set(working, group=name)
        heartbeat.add_engine(engine)
        return Group(name, engine=engine, heartbeat=heartbeat, listener=listener)
    for attempt in attempts():
        with attempt, engine.transaction() as connection:
            rules = _agree_on_rules(connection, engine, name, working, seconds)
            joined = store.join(
                connection,
                name,
                robot=engine.robot,
                role=cast(Role, role),
                instance=heartbeat.instance,
            )
    member = LocalMember(
        role=joined, term=rules.term, lease=rules.lease, group_id=rules.id, working=working
    )
    engine.use_working_set(working, group=name)
    heartbeat.add(key, member, engine)
    listener.start()
    engine.working_memory()
    return Group(name, engine=engine, heartbeat=heartbeat, listener=listener)


def leave_all(heartbeat: Heartbeat, database: Database) -> None:
    """Leave every group of a process's robots, so that passive members need not wait until the
    lease is over.
    """
    for tenant, name, robot in heartbeat.member_keys():
        retry_transaction(partial(_leave, database, tenant, name, robot, heartbeat.instance))
        heartbeat.remove((tenant, name, robot))


def _leave(database: Database, tenant: str, name: str, robot: str, instance: UUID) -> None:
    """End a robot's membership, unless another process has taken it over."""
    with database.transaction(tenant) as connection:
        instances = {member.robot: instance for member, instance in store.members(connection, name)}
        if instances.get(robot) == instance:
            _remove_member(connection, name, robot=robot)


def group_status(
    connection: Connection, name: str, *, owner: str, session: str | None, listening: bool
) -> GroupStatus:
    """Give the status of a group; its items and tokens are those of one session, or of all. Raises
    `NotFound`.
    """
    rules = store.rules(connection, name, lock=False)
    if rules is None:
        raise NotFound(f"expected a group of this tenant, got {name!r}", advice="groups")
    items, tokens = store.count_items(connection, name, owner=owner, session=session)
    return GroupStatus(
        name=name,
        lease=rules.lease,
        term=rules.term,
        members=tuple(member for member, _ in store.members(connection, name)),
        working_items=items,
        working_tokens=tokens,
        budget=rules.budget,
        listening=listening,
    )


def list_groups(engine: Engine, *, name: str | None, session: str | None) -> list[GroupStatus]:
    """Give the status of all groups of a tenant, or of the named one, as this owner sees them;
    `listening` is False.
    """
    with engine.transaction() as connection:
        names = (
            store.list_names(connection)
            if name is None
            else [validation.normal_name(name, what="group")]
        )
        return [
            group_status(connection, each, owner=engine.owner, session=session, listening=False)
            for each in names
        ]


def _locked_members(connection: Connection, name: str) -> dict[str, Member]:
    """Give the members by name; no other process changes them until the transaction ends."""
    store.rules(connection, name, lock=True)
    return {member.robot: member for member, _ in store.members(connection, name)}


def _remove_member(connection: Connection, name: str, *, robot: str) -> None:
    """Delete a membership; when no live active member would be left, the live passive one that
    joined first becomes active.
    """
    members = _locked_members(connection, name)
    if robot not in members:
        return
    rest = {other: member for other, member in members.items() if other != robot}
    successor = _successor(rest)
    last = not any(member.role == "active" and member.live for member in rest.values())
    if members[robot].role == "active" and successor is not None and last:
        store.set_roles(connection, name, {successor: "active"})
    store.leave(connection, name, robot=robot)


def _agree_on_rules(
    connection: Connection, engine: Engine, name: str, working: WorkingSet, lease: float | None
) -> GroupRules:
    """Lock the group and give its rules. The only live member sets them; who joins live members
    must have the same.
    """
    mine = (working.memory.budget, working.memory.policy)
    store.create(connection, name, budget=mine[0], policy=mine[1], lease=lease or LEASE)
    rules = store.rules(connection, name, lock=True)
    assert rules is not None  # the group exists, maybe since the line above
    theirs = (rules.budget, rules.policy)
    if theirs == mine and lease in (None, rules.lease):
        return rules
    if any(
        member.live and member.robot != engine.robot
        for member, _ in store.members(connection, name)
    ):
        raise InvalidInput(
            f"expected budget={rules.budget}, policy={rules.policy!r} and lease={rules.lease:g}, "
            "which the members of the group "
            f"{name!r} have, got {mine[0]}, {mine[1]!r} and "
            f"{'none' if lease is None else format(lease, 'g')}; use the same"
        )
    store.change_rules(connection, name, budget=mine[0], policy=mine[1], lease=lease or rules.lease)
    changed = store.rules(connection, name, lock=True)
    assert changed is not None  # its row is locked
    return changed


def _working_set_of(engine: Engine, group: str | None) -> WorkingSet:
    """Give the working set of the robot, or of a group, with the robot's own budget and policy."""
    key = SetKey(
        tenant=engine.tenant,
        owner=engine.owner,
        holder=group or engine.robot,
        session=engine.session or "",
        shared=group is not None,
    )
    return working_set(
        engine.database, key, budget=engine.working.memory.budget, policy=engine.working.policy
    )


def _successor(members: dict[str, Member]) -> str | None:
    """Give the live passive member that joined first."""
    return next(
        (member.robot for member in members.values() if member.role == "passive" and member.live),
        None,
    )
