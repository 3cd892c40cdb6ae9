"""`htm audit` lists what was erased, and `htm audit verify` checks that no entry was changed or
taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..base.types import AuditEntry, AuditReport
from . import completion
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import local_time, print_json, printable, stderr_console, stdout_console


class AuditAction(StrEnum):
    """The subcommands."""

    list = "list"
    verify = "verify"


ENTRIES: Sequence[Column[AuditEntry]] = (
    Column(name="at", value=lambda row: row.at, shown=lambda row: local_time(row.at)),
    Column(name="kind", value=lambda row: row.kind),
    Column(name="robot", value=lambda row: row.robot, shown=lambda row: printable(row.robot, longest=16)),
    Column(
        name="rows", value=lambda row: sum(row.counts.values()),
        shown=lambda row: f"{sum(row.counts.values()):,}", right=True,
    ),
    Column(name="digest", value=lambda row: row.digest, shown=lambda row: row.digest[:16]),
    Column(
        name="about", value=lambda row: row.about,
        shown=lambda row: ", ".join(f"{what} {digest[:12]}" for what, digest in row.about.items()),
    ),
)  # fmt: skip


def audit(
    common: CommonOptions,
    act: Annotated[
        AuditAction,
        typer.Argument(
            metavar="list|verify", help="Show entries, or check that all are as they were written."
        ),
    ] = AuditAction.list,
    digests: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DIGEST", help="Digests of receipts that must still be there; for verify."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only entries of this kind, such as erase or purge."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Only entries about this key.", autocompletion=completion.keys),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")
    ] = 100,
) -> None:
    """Show what was erased in the tenant, when and by whom, or verify that no entry was changed or
    taken away.

    With --user, --session or --key only the entries about that one.
    """
    if digests and act is AuditAction.list:
        raise typer.BadParameter("digests are for verify: htm audit verify DIGEST")
    with common.memory() as memory:
        if act is AuditAction.verify:
            report = memory.verify_audit(digests or ())
        else:
            entries = memory.audit(
                kind=kind,
                user=common.user,
                session=common.session,
                key=key,
                scope="tenant",
                limit=limit,
            )
    if act is AuditAction.verify:
        _tell(common, report)
    else:
        _show(common, entries)


def _tell(common: CommonOptions, report: AuditReport) -> None:
    if common.json:
        print_json({"entries": report.entries, "ok": report.ok, "problems": report.problems})
    elif report.ok:
        stdout_console().print(
            f"All {report.entries:,} entries are as they were written, and none is missing."
        )
    for problem in () if common.json else report.problems:
        stderr_console().print(printable(problem))
    if not report.ok:
        raise typer.Exit(1)


def _show(common: CommonOptions, entries: list[AuditEntry]) -> None:
    show_rows(common, entries, ENTRIES)
    if not entries and not common.json:
        stderr_console().print("There are no such entries.")
