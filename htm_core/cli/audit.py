"""`htm audit` lists what was erased, and `htm audit verify` checks that no entry was changed or taken away."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..types import AuditEntry, AuditReport
from . import completion
from .json_output import print_json
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import local_time, printable, stderr_console, stdout_console


class AuditAction(StrEnum):
    """The subcommands."""

    list = "list"
    verify = "verify"


ENTRIES: Sequence[Column[AuditEntry]] = (
    Column(name="at", value=lambda each: each.at, shown=lambda each: local_time(each.at)),
    Column(name="kind", value=lambda each: each.kind),
    Column(name="robot", value=lambda each: each.robot, shown=lambda each: printable(each.robot, longest=16)),
    Column(
        name="rows", value=lambda each: sum(each.counts.values()),
        shown=lambda each: f"{sum(each.counts.values()):,}", right=True,
    ),
    Column(name="digest", value=lambda each: each.digest, shown=lambda each: each.digest[:16]),
    Column(
        name="about", value=lambda each: each.about,
        shown=lambda each: ", ".join(f"{what} {digest[:12]}" for what, digest in each.about.items()),
    ),
)  # fmt: skip


def audit(
    common: CommonOptions,
    act: Annotated[
        AuditAction,
        typer.Argument(metavar="list|verify", help="Show entries, or check that all are as they were written."),
    ] = AuditAction.list,
    digests: Annotated[
        list[str] | None,
        typer.Argument(metavar="DIGEST", help="Digests of receipts that must still be there; for verify."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Only entries of this kind, such as erase or purge.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Only entries about this key.", autocompletion=completion.keys)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 100,
) -> None:
    """Show what was erased in the tenant, when and by whom, or verify that no entry was changed or taken away.

    With --user, --session or --key only the entries about that one.
    """
    if digests and act is AuditAction.list:
        raise typer.BadParameter("digests are for verify: htm audit verify DIGEST")
    with common.memory() as memory:
        if act is AuditAction.verify:
            report = memory.verify_audit(digests or ())
        else:
            found = memory.audit(
                kind=kind, user=common.user, session=common.session, key=key, scope="tenant", limit=limit
            )
    if act is AuditAction.verify:
        _tell(common, report)
    else:
        _show(common, found)


def _tell(common: CommonOptions, report: AuditReport) -> None:
    if common.json:
        print_json({"entries": report.entries, "ok": report.ok, "problems": report.problems})
    elif report.ok:
        stdout_console().print(f"All {report.entries:,} entries are as they were written, and none is missing.")
    for problem in () if common.json else report.problems:
        stderr_console().print(printable(problem))
    if not report.ok:
        raise typer.Exit(1)


def _show(common: CommonOptions, found: list[AuditEntry]) -> None:
    show_rows(common, found, ENTRIES)
    if not found and not common.json:
        stderr_console().print("There are no such entries.")
