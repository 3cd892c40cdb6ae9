"""Commands for robots and groups."""

from __future__ import annotations

from typing import Annotated

import typer

from ..groups.group import list_groups
from ..types import GroupStatus, Member
from .json_output import print_json
from .options import CommonOptions
from .rendering import local_time, make_table, printable, stderr_console, stdout_console

Name = Annotated[str | None, typer.Argument(help="Only this group.", show_default="all")]


def robots(common: CommonOptions) -> None:
    """List the robots of the tenant: when each was last active, its memories, and its working memory."""
    with common.memory() as memory:
        found = memory.robots()
    if common.json:
        print_json(found)
        return
    made = make_table(
        "robot", "last active", "memories", "mentions", "in mind", "groups", right=("memories", "mentions", "in mind")
    )
    for each in found:
        made.add_row(
            printable(each.name, longest=40), local_time(each.active_at), f"{each.nodes:,}", f"{each.mentions:,}",
            f"{each.working_items:,}", printable(", ".join(each.groups)),
        )  # fmt: skip
    stdout_console().print(made)


def groups(common: CommonOptions, name: Name = None) -> None:
    """List the groups of the tenant: active, standby and lost members, and the tokens in working memory."""
    with common.memory() as memory:
        found = list_groups(memory._engine, name=name, session=common.session)
    if common.json:
        print_json(found)
    elif found:
        made = make_table("group", "active", "standing by", "in mind", "lease", right=("in mind", "lease"))
        for each in found:
            made.add_row(
                printable(each.name, longest=40), printable(_named(each, "active")), printable(_named(each, "passive")),
                f"{each.working_tokens:,} of {each.budget:,}", f"{each.lease:g} s",
            )  # fmt: skip
        stdout_console().print(made)
    else:
        stderr_console().print("There are no groups; memory.group(NAME) makes one.")


def _named(status: GroupStatus, role: str) -> str:
    return ", ".join(_member_text(member) for member in status.members if member.role == role)


def _member_text(member: Member) -> str:
    return member.robot if member.live else f"{member.robot} (lost at {local_time(member.heartbeat_at)})"
