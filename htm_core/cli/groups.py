"""Commands for robots and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..groups.group import list_groups
from ..types import GroupStatus, Member, Robot
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import local_time, printable, stderr_console

Name = Annotated[str | None, typer.Argument(help="Only this group.", show_default="all")]


def _named(status: GroupStatus, role: str) -> str:
    return ", ".join(_member_text(member) for member in status.members if member.role == role)


def _member_text(member: Member) -> str:
    return member.robot if member.live else f"{member.robot} (lost at {local_time(member.heartbeat_at)})"


ROBOTS: Sequence[Column[Robot]] = (
    Column(name="robot", value=lambda each: each.name, shown=lambda each: printable(each.name, longest=20)),
    Column(name="last active", value=lambda each: each.active_at, shown=lambda each: local_time(each.active_at)),
    Column(name="memories", value=lambda each: each.nodes, shown=lambda each: f"{each.nodes:,}", right=True),
    Column(name="mentions", value=lambda each: each.mentions, shown=lambda each: f"{each.mentions:,}", right=True),
    Column(
        name="in mind", value=lambda each: each.working_items, shown=lambda each: f"{each.working_items:,}", right=True
    ),
    Column(name="groups", value=lambda each: each.groups, shown=lambda each: ", ".join(each.groups)),
)
GROUPS: Sequence[Column[GroupStatus]] = (
    Column(name="group", value=lambda each: each.name, shown=lambda each: printable(each.name, longest=20)),
    Column(
        name="in mind", value=lambda each: each.working_tokens, right=True,
        shown=lambda each: f"{each.working_tokens:,} of {each.budget:,}",
    ),
    Column(name="budget", value=lambda each: each.budget, exact=True),
    Column(name="lease", value=lambda each: each.lease, shown=lambda each: f"{each.lease:g} s", right=True),
    Column(name="active", value=lambda each: _named(each, "active"), exact=True),
    Column(name="standing_by", value=lambda each: _named(each, "passive"), exact=True),
    Column(
        name="active, and standing by",
        shown=lambda each: "\n".join(part for role in ("active", "passive") if (part := _named(each, role))),
    ),
)  # fmt: skip


def robots(common: CommonOptions) -> None:
    """List the robots of the tenant: when each was last active, its memories, and its working memory."""
    with common.memory() as memory:
        found = memory.robots()
    show_rows(common, found, ROBOTS)


def groups(common: CommonOptions, name: Name = None) -> None:
    """List the groups of the tenant: active, standby and lost members, and the tokens in working memory."""
    with common.memory() as memory:
        found = list_groups(memory._engine, name=name, session=common.session)
    show_rows(common, found, GROUPS)
    if not found and not common.json:
        stderr_console().print("There are no groups; memory.group(NAME) makes one.")
