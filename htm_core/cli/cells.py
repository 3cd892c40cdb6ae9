"""`htm cells`: the schemas in which tenants live, and moving tenants between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from ..memory.cells import Cell, Cells, MoveProgress, TenantMove, TenantRows
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import (
    key_value_table,
    local_time,
    print_json,
    printable,
    progress_bar,
    stderr_console,
    stdout_console,
)

SWITCHING = "switching: its calls wait"
# What a step of a move says while the next one runs.
STEPS = {
    "began": "copying", "copied": "copying what has changed", "fenced": SWITCHING,
    "verified": SWITCHING, "kept": SWITCHING, "switched": "telling the directory",
    "told": "deleting the rows that it left",
}  # fmt: skip


class CellAction(StrEnum):
    """The subcommands."""

    LIST = "list"
    TENANTS = "tenants"
    CREATE = "create"
    PLACE = "place"
    MOVE = "move"
    SPLIT = "split"
    DROP = "drop"


def cells(
    common: CommonOptions,
    act: Annotated[
        CellAction,
        typer.Argument(
            metavar="list|tenants|create|place|move|split|drop",
            help="What to do; by default all cells are shown.",
        ),
    ] = CellAction.LIST,
    name: Annotated[
        str | None,
        typer.Argument(metavar="CELL|TENANT", help="The cell, or for place and move the tenant."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Argument(
            metavar="INTO", help="For place, move and split: the cell that tenants go to."
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema", show_default="htm_CELL", help="With create: its PostgreSQL schema."
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="DSN",
            help="With create: another server, as a DSN without a password.",
        ),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="HOST:PORT",
            help="With create: the node of a Citus cluster that gets its tables.",
        ),
    ] = None,
    takes_new: Annotated[
        bool,
        typer.Option(
            "--takes-new", help="With create: tenants that nobody has placed begin there."
        ),
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="With place, move and split: make the cell INTO first.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With split: show which tenants would move.")
    ] = False,
) -> None:
    """Show the cells of an installation, make and drop them, and move tenants between them while
    they read and write.

    A move that was interrupted goes on when the same command is run again; `list` shows it. Needs
    the owner's rights.
    """
    api = Cells(url=common.url, settings=common.settings())
    if act is CellAction.LIST:
        _list(common, api)
        return
    cell_or_tenant = _required(
        act, "TENANT" if act in (CellAction.PLACE, CellAction.MOVE) else "CELL", name
    )
    if act is CellAction.TENANTS:
        show_rows(common, api.tenants(cell_or_tenant), TENANTS)
    elif act is CellAction.CREATE:
        made = api.create(cell_or_tenant, schema=schema, url=server, node=node, takes_new=takes_new)
        _say(common, made, f"The cell {made.name} is the schema {made.schema}.")
    elif act is CellAction.DROP:
        api.drop(cell_or_tenant)
        _say(
            common, {"dropped": cell_or_tenant}, f"The cell {printable(cell_or_tenant)} is dropped."
        )
    else:
        target = _required(act, "INTO", into)
        if new and all(each.name != target for each in api.list()):
            api.create(target, schema=schema, url=server, node=node)
        if act is CellAction.SPLIT:
            _split(common, api, cell_or_tenant, target, dry_run=dry_run)
        elif act is CellAction.PLACE:
            _show_move(common, api.place(cell_or_tenant, target))
        else:
            with _shown_steps(cell_or_tenant) as step:
                done = api.move(cell_or_tenant, target, progress=step)
            _show_move(common, done)


def _required(act: CellAction, what: str, value: str | None) -> str:
    if value is None:
        raise typer.BadParameter(
            f"expected {what}; htm cells --help shows what htm cells {act} takes"
        )
    return value


def _list(common: CommonOptions, api: Cells) -> None:
    rows, pending = api.list(), api.pending_moves()
    show_rows(common, rows, CELLS, document={"cells": rows, "moves": pending})
    for move in pending:
        if not common.json:
            stderr_console().print(
                f"The move of {printable(move.tenant)} from {move.source} to {move.target}, begun "
                f"{local_time(move.started_at)}, "
                f"is not done ({move.state}); if nobody runs it, run: htm cells move "
                f"{printable(move.tenant)} {move.target}"
            )


def _split(common: CommonOptions, api: Cells, source: str, target: str, *, dry_run: bool) -> None:
    if dry_run:
        moved = api.split(source, target, dry_run=True)
    else:
        with _shown_steps(source) as step:
            moved = api.split(source, target, progress=step)
    show_rows(
        common,
        moved,
        TENANTS,
        document={"source": source, "target": target, "dry_run": dry_run, "tenants": moved},
    )
    if not common.json and not common.csv:
        would = "would move" if dry_run else "moved"
        stderr_console().print(f"{len(moved):,} tenants {would} from {source} to {target}.")


@contextmanager
def _shown_steps(what: str) -> Iterator[MoveProgress]:
    with progress_bar() as progress:
        task = progress.add_task(f"{what}: beginning", total=None)

        def step(name: str, rows: int) -> None:
            """Say what begins now."""
            progress.update(task, description=f"{what}: {STEPS.get(name, name)}", completed=rows)

        yield step


def _show_move(common: CommonOptions, done: TenantMove) -> None:
    if common.json:
        print_json(done)
        return
    stdout_console().print(
        key_value_table(
            [
                ("tenant", done.tenant),
                ("cell", f"{done.target} (before: {done.source})"),
                (
                    "rows",
                    f"{sum(done.rows.values()):,} in {len(done.rows)} tables, the same by "
                    "count and digest",
                ),
                ("calls waited", f"{done.waited:.2f} s, after {done.passes} passes"),
            ]
        )
    )


def _say(common: CommonOptions, document: object, text: str) -> None:
    if common.json:
        print_json(document)
    else:
        stdout_console().print(text)


CELLS: Sequence[Column[Cell]] = (
    Column(name="cell", value=lambda row: row.name),
    Column(name="schema", value=lambda row: row.schema),
    Column(
        name="server",
        value=lambda row: row.node or row.url,
        shown=lambda row: printable(row.node or row.url or "(home's)", longest=40),
    ),
    Column(
        name="tenants",
        value=lambda row: row.tenants,
        shown=lambda row: f"{row.tenants:,}",
        right=True,
    ),
    Column(name="rows", value=lambda row: row.rows, shown=lambda row: f"{row.rows:,}", right=True),
    Column(
        name="bytes",
        value=lambda row: row.bytes,
        shown=lambda row: f"{row.bytes / 1e6:,.1f} MB",
        right=True,
    ),
    Column(
        name="takes new",
        value=lambda row: row.takes_new,
        shown=lambda row: "yes" if row.takes_new else "",
    ),
    Column(name="state", value=lambda row: row.error or row.state),
)
TENANTS: Sequence[Column[TenantRows]] = (
    Column(
        name="tenant",
        value=lambda row: row.tenant,
        shown=lambda row: printable(row.tenant, longest=40),
    ),
    Column(name="rows", value=lambda row: row.rows, shown=lambda row: f"{row.rows:,}", right=True),
)
