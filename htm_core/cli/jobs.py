"""`htm jobs` lists pending work, `htm jobs retry` tries failed jobs again."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..types import Job
from .ids import job_ids, short
from .json_output import print_json
from .options import CommonOptions
from .rendering import local_time, make_table, printable, stderr_console, stdout_console


class JobAction(StrEnum):
    """The subcommands."""

    list = "list"
    retry = "retry"


class Kind(StrEnum):
    """What a job makes."""

    embed = "embed"
    tag = "tag"
    propose = "propose"
    relate = "relate"
    supersede = "supersede"
    judge = "judge"
    profile = "profile"
    merge = "merge"
    summarize = "summarize"
    words = "count"  # the name `count` is taken by str.count


def jobs(
    common: CommonOptions,
    act: Annotated[
        JobAction, typer.Argument(metavar="list|retry", help="Show jobs, or retry those that were given up.")
    ] = JobAction.list,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Only these; for retry.")] = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only jobs of this kind.")] = None,
    parked: Annotated[
        bool | None, typer.Option("--parked/--waiting", help="Only jobs that were given up, or only the others.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 100,
) -> None:
    """List the pending jobs of these memories, or retry those that were given up."""
    if ids and act is JobAction.list:
        raise typer.BadParameter("ids are for retry: htm jobs retry ID")
    with common.memory() as memory:
        if act is JobAction.retry:
            retried = memory.jobs.retry(
                job_ids(memory, ids) if ids else None, kind=None if kind is None else kind.value
            )
            found = None
        else:
            retried, found = 0, memory.jobs.list(kind=None if kind is None else kind.value, parked=parked, limit=limit)
    if found is not None:
        _show(common, found)
    elif common.json:
        print_json({"retried": retried})
    else:
        stdout_console().print(
            f"{retried:,} jobs are due again; htm worker --once does them." if retried else "No job was given up."
        )


def _show(common: CommonOptions, found: list[Job]) -> None:
    if common.json:
        print_json(found)
        return
    if not found:
        stderr_console().print("No jobs are pending.")
        return
    made = make_table("id", "kind", "state", "tries", "since", "what went wrong", right=("tries",))
    for job in found:
        what = f"{job.kind} {job.model}".strip()
        made.add_row(
            short(job.id), what, job.state, str(job.attempts), local_time(job.created_at), printable(job.error or "")
        )
    stdout_console().print(made)
