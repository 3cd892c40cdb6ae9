"""Commands for robots and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..base.types import GroupStatus, Member, Robot
from ..engine.groups.group import list_groups
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import local_time, printable, stderr_console

Name = Annotated[str | None, typer.Argument(help="Only this group.", show_default="all")]


def _named(status: GroupStatus, role: str) -> str:
    return ", ".join(_member_text(member) for member in status.members if member.role == role)


def _member_text(member: Member) -> str:
    return (
        member.robot
        if member.live
        else f"{member.robot} (lost at {local_time(member.heartbeat_at)})"
    )


ROBOTS: Sequence[Column[Robot]] = (
    Column(
        name="robot", value=lambda row: row.name, shown=lambda row: printable(row.name, longest=20)
    ),
    Column(
        name="last active",
        value=lambda row: row.active_at,
        shown=lambda row: local_time(row.active_at),
    ),
    Column(
        name="memories", value=lambda row: row.nodes, shown=lambda row: f"{row.nodes:,}", right=True
    ),
    Column(
        name="mentions",
        value=lambda row: row.mentions,
        shown=lambda row: f"{row.mentions:,}",
        right=True,
    ),
    Column(
        name="in mind",
        value=lambda row: row.working_items,
        shown=lambda row: f"{row.working_items:,}",
        right=True,
    ),
    Column(name="groups", value=lambda row: row.groups, shown=lambda row: ", ".join(row.groups)),
)
GROUPS: Sequence[Column[GroupStatus]] = (
    Column(name="group", value=lambda row: row.name, shown=lambda row: printable(row.name, longest=20)),
    Column(
        name="in mind", value=lambda row: row.working_tokens, right=True,
        shown=lambda row: f"{row.working_tokens:,} of {row.budget:,}",
    ),
    Column(name="budget", value=lambda row: row.budget, exact=True),
    Column(name="lease", value=lambda row: row.lease, shown=lambda row: f"{row.lease:g} s", right=True),
    Column(name="active", value=lambda row: _named(row, "active"), exact=True),
    Column(name="standing_by", value=lambda row: _named(row, "passive"), exact=True),
    Column(
        name="active, and standing by",
        shown=lambda row: "\n".join(part for role in ("active", "passive") if (part := _named(row, role))),
    ),
)  # fmt: skip


def robots(common: CommonOptions) -> None:
    """List the robots of the tenant: when each was last active, its memories, and its working
    memory.
    """
    with common.memory() as memory:
        rows = memory.robots()
    show_rows(common, rows, ROBOTS)


def groups(common: CommonOptions, name: Name = None) -> None:
    """List the groups of the tenant: active, standby and lost members, and the tokens in working
    memory.
    """
    with common.memory() as memory:
        rows = list_groups(memory._engine, name=name, session=common.session)
    show_rows(common, rows, GROUPS)
    if not rows and not common.json:
        stderr_console().print("There are no groups; memory.group(NAME) makes one.")
