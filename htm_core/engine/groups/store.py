"""Groups: their rules, members and roles. Every change is made under a lock of the group's row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from ...base.types import Member
from ...db.database import Connection
from ...db.queries import load

Role = Literal["active", "passive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """Rules that all members of a group share: the budget in tokens, the eviction policy, and the
    lease in seconds.
    """

    id: UUID
    name: str
    budget: int
    policy: str
    lease: float
    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembership:
    """A membership of this process; `due` is in how many seconds another active member would be
    late.
    """

    group: str
    robot: str
    role: Role
    id: UUID
    lease: float
    term: int
    due: float | None


def create(connection: Connection, group: str, *, budget: int, policy: str, lease: float) -> None:
    """Create a group with these rules, unless the name exists."""
    values = {"group": group, "budget": budget, "policy": policy, "lease": lease}
    connection.execute(load("engine/groups/store")["create"], values)


def rules(connection: Connection, group: str, *, lock: bool) -> GroupRules | None:
    """A group's rules; with `lock` its members cannot change until the transaction ends."""
    row = connection.execute(
        load("engine/groups/store")["lock" if lock else "read"], {"group": group}
    ).fetchone()
    return None if row is None else GroupRules(**row)


def list_names(connection: Connection) -> list[str]:
    """Every group of the tenant."""
    return [row["name"] for row in connection.execute(load("engine/groups/store")["list_names"])]


def change_rules(
    connection: Connection, group: str, *, budget: int, policy: str, lease: float
) -> None:
    """Give a group other rules."""
    values = {"group": group, "budget": budget, "policy": policy, "lease": lease}
    connection.execute(load("engine/groups/store")["change_rules"], values)


def members(connection: Connection, group: str) -> list[tuple[Member, UUID | None]]:
    """The members of a group in the order of joining, each with the instance of its process, if it
    has one.
    """
    rows = connection.execute(load("engine/groups/store")["members"], {"group": group}).fetchall()
    return [
        (Member(**{k: v for k, v in row.items() if k != "instance"}), row["instance"])
        for row in rows
    ]


def join(connection: Connection, group: str, *, robot: str, role: Role, instance: UUID) -> Role:
    """Add or renew a membership and return its role; a robot that is a member through this process
    keeps its role.
    """
    values = {"group": group, "robot": robot, "role": role, "instance": instance}
    row = connection.execute(load("engine/groups/store")["join"], values).fetchone()
    assert row is not None  # an upsert returns its row
    connection.execute(load("engine/groups/store")["next_term"], {"group": group})
    joined: Role = row["role"]
    return joined


def leave(connection: Connection, group: str, *, robot: str) -> None:
    """End a membership."""
    connection.execute(load("engine/groups/store")["leave"], {"group": group, "robot": robot})
    connection.execute(load("engine/groups/store")["next_term"], {"group": group})


def set_roles(connection: Connection, group: str, roles: dict[str, Role]) -> None:
    """Give members their roles and begin the next term."""
    for robot, role in roles.items():
        connection.execute(
            load("engine/groups/store")["set_role"], {"group": group, "robot": robot, "role": role}
        )
    connection.execute(load("engine/groups/store")["next_term"], {"group": group})


def heartbeat(connection: Connection, *, instance: UUID) -> list[GroupMembership]:
    """Record that a process is alive, and return its memberships."""
    connection.execute(load("engine/groups/store")["heartbeat"], {"instance": instance})
    return [
        GroupMembership(**row)
        for row in connection.execute(
            load("engine/groups/store")["memberships"], {"instance": instance}
        )
    ]


def elect(connection: Connection, group: str) -> list[str]:
    """Replace late active members by live passive ones and return those; empty if another process
    has done it.
    """
    return [
        row["robot"]
        for row in connection.execute(load("engine/groups/store")["elect"], {"group": group})
    ]


def count_items(
    connection: Connection, group: str, *, owner: str, session: str | None
) -> tuple[int, int]:
    """Count the items and tokens of an owner that a group has in working memory, in one session or
    in all.
    """
    values = {"group": group, "owner": owner, "session": session}
    row = connection.execute(load("engine/groups/store")["count_items"], values).fetchone()
    assert row is not None  # a count has one row
    return row["items"], row["tokens"]
