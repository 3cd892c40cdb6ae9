"""`htm changes`: what newer sayings replaced or contradicted, and undoing or confirming one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from ..base.types import Supersession, SupersessionChange
from . import completion
from .ids import change_id, memory_id, short
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import local_time, printable, stderr_console


class ChangeAction(StrEnum):
    """The subcommands."""

    list = "list"
    undo = "undo"
    confirm = "confirm"
    audit = "audit"


def _both(change: Supersession) -> Text:
    """Return what holds now, what held before, and why."""
    return Text.assemble(
        printable(change.newer.content),
        ("\nformerly: ", "dim"),
        printable(change.older.content),
        (f"\n{printable(change.reason)}", "dim"),
    )


CHANGES: Sequence[Column[Supersession]] = (
    Column(name="id", value=lambda row: row.id, shown=lambda row: short(row.id)),
    Column(name="what", value=lambda row: row.relation),
    Column(
        name="sure",
        value=lambda row: row.confidence,
        shown=lambda row: f"{row.confidence:.2f}",
        right=True,
    ),
    Column(name="state", value=lambda row: row.state),
    Column(name="at", value=lambda row: row.at, exact=True),
    Column(name="now", value=lambda row: row.newer.content, exact=True),
    Column(name="formerly", value=lambda row: row.older.content, exact=True),
    Column(name="why", value=lambda row: row.reason, exact=True),
    Column(name="now, and formerly", shown=_both),
)
AUDITED: Sequence[Column[SupersessionChange]] = (
    Column(name="when", value=lambda row: row.at, shown=lambda row: local_time(row.at)),
    Column(name="what", value=lambda row: row.action),
    Column(name="by", value=lambda row: row.by),
    Column(name="why", value=lambda row: row.reason),
)


def changes(
    common: CommonOptions,
    act: Annotated[
        ChangeAction,
        typer.Argument(
            metavar="list|undo|confirm|audit",
            help="Show changes, take one back, confirm one, or show its audit.",
        ),
    ] = ChangeAction.list,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="A change; for list: a memory, by its id or key.",
            autocompletion=completion.memories_and_changes,
        ),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the audit.")] = "",
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", min=0, max=1, help="Only from this confidence on.")
    ] = 0.0,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")
    ] = 100,
) -> None:
    """List what newer sayings replaced or contradicted, take one back, or confirm one."""
    if act is not ChangeAction.list and id is None:
        raise typer.BadParameter(f"expected the id of a change: htm changes {act.value} ID")
    with common.memory() as memory:
        if act is ChangeAction.list:
            about = None if id is None else memory_id(memory, id)
            _show(common, memory.changes.list(about, min_confidence=min_confidence, limit=limit))
        elif act is ChangeAction.audit:
            show_rows(common, memory.changes.audit(change_id(memory, id or "")), AUDITED)
        else:
            verb = memory.changes.undo if act is ChangeAction.undo else memory.changes.confirm
            _show(common, [verb(change_id(memory, id or ""), reason=reason)])


def _show(common: CommonOptions, rows: list[Supersession]) -> None:
    show_rows(common, rows, CHANGES)
    if not rows and not common.json:
        stderr_console().print("Nothing was replaced or contradicted.")
