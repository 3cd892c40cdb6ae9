"""The hive: which robots there are, and how groups of them stand."""

from __future__ import annotations

from typing import Annotated

import typer

from ..groups.group import every
from ..types import GroupStatus, Member
from .json_output import answer
from .options import Whose
from .rendering import aside, console, local, shown, table

Name = Annotated[str | None, typer.Argument(help="Only this group.", show_default="all")]


def robots(whose: Whose) -> None:
    """List the robots of the tenant: when each was last active, what it has said and holds."""
    with whose.memory() as memory:
        found = memory.robots()
    if whose.json:
        answer(found)
        return
    made = table(
        "robot", "last active", "memories", "mentions", "in mind", "groups", right=("memories", "mentions", "in mind")
    )
    for each in found:
        made.add_row(
            shown(each.name, longest=40), local(each.active_at), f"{each.nodes:,}", f"{each.mentions:,}",
            f"{each.working_items:,}", shown(", ".join(each.groups)),
        )  # fmt: skip
    console().print(made)


def groups(whose: Whose, name: Name = None) -> None:
    """List the groups of the tenant: who is active, who stands by, who is lost, and what each holds in mind."""
    with whose.memory() as memory:
        found = every(memory._engine, name=name, session=whose.session)
    if whose.json:
        answer(found)
    elif found:
        made = table("group", "active", "standing by", "in mind", "lease", right=("in mind", "lease"))
        for each in found:
            made.add_row(
                shown(each.name, longest=40), shown(_named(each, "active")), shown(_named(each, "passive")),
                f"{each.working_tokens:,} of {each.budget:,}", f"{each.lease:g} s",
            )  # fmt: skip
        console().print(made)
    else:
        aside().print("There are no groups; memory.group(NAME) makes one.")


def _named(status: GroupStatus, role: str) -> str:
    return ", ".join(_told(member) for member in status.members if member.role == role)


def _told(member: Member) -> str:
    return member.robot if member.live else f"{member.robot} (lost at {local(member.heartbeat_at)})"
