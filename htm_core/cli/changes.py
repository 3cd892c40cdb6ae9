"""`htm changes`: what newer sayings replaced or contradicted, and undoing or confirming one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..types import Supersession
from .ids import change_id, memory_id, short
from .json_output import print_json
from .options import CommonOptions
from .rendering import local_time, make_table, printable, stderr_console, stdout_console


class ChangeAction(StrEnum):
    """The subcommands."""

    list = "list"
    undo = "undo"
    confirm = "confirm"
    audit = "audit"


def changes(
    common: CommonOptions,
    act: Annotated[
        ChangeAction,
        typer.Argument(
            metavar="list|undo|confirm|audit", help="Show changes, take one back, confirm one, or show its audit."
        ),
    ] = ChangeAction.list,
    id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A change; for list: a memory, by its id or key.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the audit.")] = "",
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Only from this confidence on.")
    ] = 0.0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 100,
) -> None:
    """List what newer sayings replaced or contradicted, take one back, or confirm one."""
    if act is not ChangeAction.list and id is None:
        raise typer.BadParameter(f"expected the id of a change: htm changes {act.value} ID")
    with common.memory() as memory:
        if act is ChangeAction.list:
            about = None if id is None else memory_id(memory, id)
            _show(common, memory.changes.list(about, min_confidence=min_confidence, limit=limit))
        elif act is ChangeAction.audit:
            rows = memory.changes.audit(change_id(memory, id or ""))
            if common.json:
                print_json(rows)
            else:
                made = make_table("when", "what", "by", "why")
                for row in rows:
                    made.add_row(local_time(row.at), row.action, printable(row.by), printable(row.reason))
                stdout_console().print(made)
        else:
            verb = memory.changes.undo if act is ChangeAction.undo else memory.changes.confirm
            _show(common, [verb(change_id(memory, id or ""), reason=reason)])


def _show(common: CommonOptions, found: list[Supersession]) -> None:
    if common.json:
        print_json(found)
        return
    if not found:
        stderr_console().print("Nothing was replaced or contradicted.")
        return
    made = make_table("id", "now", "formerly", "what", "sure", "state", "why", right=("sure",))
    for each in found:
        made.add_row(
            short(each.id),
            printable(each.newer.content),
            printable(each.older.content),
            each.relation,
            f"{each.confidence:.2f}",
            each.state,
            printable(each.reason),
        )
    stdout_console().print(made)
