"""`htm jobs` lists pending work, `htm jobs retry` tries failed jobs again."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ..base.types import Job
from . import completion
from .ids import job_ids, short
from .listing import Column, show_rows
from .options import CommonOptions
from .rendering import local_time, print_json, stderr_console, stdout_console


class JobAction(StrEnum):
    """The subcommands."""

    list = "list"
    retry = "retry"


class Kind(StrEnum):
    """The kinds of jobs, by what they make."""

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


JOBS: Sequence[Column[Job]] = (
    Column(name="id", value=lambda job: job.id, shown=lambda job: short(job.id)),
    Column(name="kind", value=lambda job: job.kind),
    Column(name="state", value=lambda job: job.state),
    Column(name="tries", value=lambda job: job.attempts, right=True),
    Column(name="since", value=lambda job: job.created_at, shown=lambda job: local_time(job.created_at)),
    Column(name="model", value=lambda job: job.model, exact=True),
    Column(name="node", value=lambda job: job.node_id, exact=True),
    Column(name="error", value=lambda job: job.error, exact=True),
    Column(
        name="by, and what went wrong",
        shown=lambda job: "\n".join(part for part in (job.model, job.error) if part),
    ),
)  # fmt: skip


def jobs(
    common: CommonOptions,
    act: Annotated[
        JobAction,
        typer.Argument(metavar="list|retry", help="Show jobs, or retry those that were given up."),
    ] = JobAction.list,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Only these; for retry.", autocompletion=completion.jobs),
    ] = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only jobs of this kind.")] = None,
    parked: Annotated[
        bool | None,
        typer.Option(
            "--parked/--waiting", help="Only jobs that were given up, or only the others."
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")
    ] = 100,
) -> None:
    """List the pending jobs of these memories, or retry those that were given up."""
    if ids and act is JobAction.list:
        raise typer.BadParameter("ids are for retry: htm jobs retry ID")
    with common.memory() as memory:
        if act is JobAction.retry:
            retried = memory.jobs.retry(
                job_ids(memory, ids) if ids else None, kind=None if kind is None else kind.value
            )
            rows = None
        else:
            retried, rows = (
                0,
                memory.jobs.list(
                    kind=None if kind is None else kind.value, parked=parked, limit=limit
                ),
            )
    if rows is not None:
        _show(common, rows)
    elif common.json:
        print_json({"retried": retried})
    else:
        stdout_console().print(
            f"{retried:,} jobs are due again; htm worker --once does them."
            if retried
            else "No job was given up."
        )


def _show(common: CommonOptions, rows: list[Job]) -> None:
    show_rows(common, rows, JOBS)
    if not rows and not common.json:
        stderr_console().print("No jobs are pending.")
