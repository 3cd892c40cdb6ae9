"""The work that is owed: `htm jobs` shows it, `htm jobs retry` tries again what was given up."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..types import Job
from .json_output import answer
from .options import Whose
from .rendering import aside, console, local, shown, table


class Act(StrEnum):
    """What to do with jobs."""

    list = "list"
    retry = "retry"


class Kind(StrEnum):
    """What a job makes."""

    embed = "embed"
    tag = "tag"
    propose = "propose"
    relate = "relate"
    words = "count"  # `count` is a method that every text has


def jobs(
    whose: Whose,
    act: Annotated[
        Act, typer.Argument(metavar="list|retry", help="Show them, or try again what was given up.")
    ] = Act.list,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Only these; for retry.")] = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only jobs of this kind.")] = None,
    parked: Annotated[
        bool | None, typer.Option("--parked/--waiting", help="Only what was given up, or only the rest.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 100,
) -> None:
    """Show the work that is owed for somebody's memories, or try again what was given up."""
    if ids and act is Act.list:
        raise typer.BadParameter("ids are for retry: htm jobs retry ID")
    with whose.memory() as memory:
        if act is Act.retry:
            again = memory.jobs.retry(ids or None, kind=None if kind is None else kind.value)
            found = None
        else:
            again, found = 0, memory.jobs.list(kind=None if kind is None else kind.value, parked=parked, limit=limit)
    if found is not None:
        _show(whose, found)
    elif whose.json:
        answer({"retried": again})
    else:
        console().print(
            f"{again:,} jobs are due again; htm worker --once does them." if again else "None was given up."
        )


def _show(whose: Whose, found: list[Job]) -> None:
    if whose.json:
        answer(found)
        return
    if not found:
        aside().print("No work is owed.")
        return
    made = table("id", "kind", "state", "tries", "since", "what went wrong", right=("tries",))
    for job in found:
        what = f"{job.kind} {job.model}".strip()
        made.add_row(job.id, what, job.state, str(job.attempts), local(job.created_at), shown(job.error or ""))
    console().print(made)
